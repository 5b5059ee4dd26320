"""The dense index on a Chroma server.

The processes of one store share the index, and a lock lets one of them write at a time. With a store in Postgres they
may run on several machines, and the lock is in Postgres; with an SQLite file, the lock is a file. Other stores have
other namespaces. A collection's metadata stores the number of the last change. So an emptied or replaced server is
detected and filled again. The next process continues the work of a killed writer.

The operator must ensure two things. First, all processes of a store that use a server use the same one; otherwise each
rebuilds the index after the others. Second, copies of a store have the same id, so they must never use one server at
once. After restoring a backup, run `python -m agent rebuild`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from tools.budget import current_budget
from tools.errors import ProviderDownError, SteelmanError
from tools.limits import CHROMA_SECONDS, CONNECT_SECONDS
from tools.net.http import is_local, status_error, without_login
from tools.net.route import PROXY, cause, environment_proxy, tls_context
from tools.store.dense import DAMAGED_IDS, ChromaIndex
from tools.store.index import damaged_error

_GRAPH_AT_FAULT = ("Error loading hnsw index", *DAMAGED_IDS)
"""A server's words for unreadable vector files."""
_START = "Start it (`chroma run --path FOLDER --port PORT`), or "
_DATA_SAFE = "Your documents are safe in the store; the index catches up automatically."


class DenseServer(ChromaIndex):
    """Nearest passages by cosine, on the Chroma server (1.x) at `url`.

    namespace: prefix of this store's collections, so that stores can share a server: `Store.store_id()`. token: sent as
    `x-chroma-token` and as a bearer token, for a proxy that requires it. seconds: longest silence of the server.

    All methods raise ProviderDownError for an unreachable, refusing or failing server, and IndexDamagedError for
    unreadable vector files.
    """

    served = True

    def __init__(self, url: str, namespace: str, token: str = "", seconds: float = CHROMA_SECONDS) -> None:
        super().__init__(f"steelman-{namespace}")
        self.address = url.rstrip("/").removesuffix("/api/v2")
        self._shown = without_login(self.address)
        self._number_collection = f"{self._prefix}-number"
        self._headers = {"x-chroma-token": token, "authorization": f"Bearer {token}"} if token else {}
        self._seconds = seconds

    def number(self) -> str:
        with self._errors():
            kept = self._get(self._number_collection)
            return "" if kept is None else str((kept.metadata or {}).get("number", ""))

    def set_number(self, number: str) -> None:
        with self._errors():
            kept = self._open().get_or_create_collection(self._number_collection, embedding_function=None)
            kept.modify(metadata={"number": number})

    def clear(self) -> None:
        with self._errors():
            if self._get(self._number_collection) is not None:
                self._drop(self._number_collection)
            for collection in self._own_collections():
                self._drop(collection.name)

    def _open(self) -> Any:
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(f"the Chroma server at {self._shown} is elsewhere, and this run stays offline.")
        return super()._open()

    def _connect(self) -> Any:
        self._check()
        return server_client(self.address, self._headers, self._seconds)

    def _check(self) -> None:
        """Raises ProviderDownError unless a Chroma server of version 1 answers."""
        with httpx.Client(headers=self._headers, trust_env=False) as client:
            route_requests(client, self.address, self._seconds)
            response = client.get(f"{self.address}/api/v2/version")
        version = re.fullmatch(r'"?\d+(\.\d+)+\S*"?', response.text.strip())
        if response.status_code in (404, 405, 410) or (response.is_success and not version):
            raise ProviderDownError(
                f"no Chroma server of version 1 answers at {self._shown}. Check CHROMA_URL, or start one: "
                "`chroma run --path FOLDER --port PORT`.",
                hint=", or start one: `chroma run --path FOLDER --port PORT`",
            )
        if not response.is_success:
            raise status_error(f"the Chroma server at {self._shown}", response.status_code, response.content)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Converts Chroma's errors to errors that name the server and advise."""
        from chromadb.errors import AuthorizationError, ChromaAuthError, ChromaError, InternalError

        server = f"the Chroma server at {self._shown}"
        try:
            yield
        except SteelmanError:
            raise
        except Exception as exc:
            if isinstance(exc.__cause__, SteelmanError):  # proxy or certificate settings
                raise exc.__cause__ from None
            if isinstance(exc, ChromaAuthError | AuthorizationError):
                raise ProviderDownError(f"{server} refused the token. Check CHROMA_TOKEN.") from exc
            if isinstance(exc, httpx.TimeoutException):
                raise ProviderDownError(f"{server} did not answer in time. {_DATA_SAFE}") from exc
            if isinstance(exc, httpx.TransportError | httpx.InvalidURL):
                raise ProviderDownError(
                    f"{server} cannot be reached ({cause(exc, self._shown)}). {_START}take CHROMA_URL out of "
                    f"the settings to use the embedded index. {_DATA_SAFE}",
                    hint=_START,
                ) from exc
            if isinstance(exc, InternalError) and any(words in str(exc) for words in _GRAPH_AT_FAULT):
                raise damaged_error(ChromaIndex.name, f"on {server}", exc) from exc
            # Chroma's client raises a bare `Exception` for an unknown reply.
            if type(exc) is Exception or isinstance(exc, ChromaError | ValueError | KeyError | TypeError):
                said = " ".join(str(exc).split())[:200]
                hint = "If it goes on, make the index again: `python -m agent rebuild`."
                raise ProviderDownError(f"{server} failed ({said}). {hint} {_DATA_SAFE}", hint=hint) from exc
            raise


def server_client(address: str, headers: Mapping[str, str], seconds: float) -> Any:
    """Chroma's client for a server, with a limit on the server's silence. Without this limit Chroma's client waits for
    ever."""
    from chromadb.api.client import Client
    from chromadb.auth import UserIdentity
    from chromadb.config import Settings

    class ServerClient(Client):
        """Keeps one session and closes it. Chroma's own client leaves its connections open."""

        def get_user_identity(self) -> UserIdentity:
            """The first request that Chroma's client sends."""
            self._session: httpx.Client = self._server._session  # type: ignore[attr-defined]
            route_requests(self._session, address, seconds)
            return super().get_user_identity()

        def _validate_tenant_database(self, tenant: str, database: str) -> None:
            admin: Any = self._admin_client
            admin._server._session.close()  # opened for this call alone
            admin._server = self._server
            super()._validate_tenant_database(tenant, database)

        def close(self) -> None:
            self._session.close()
            super().close()

    settings = Settings(
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=address,
        chroma_server_http_port=8000,  # required, and used only if the address has no scheme
        chroma_server_ssl_enabled=address.startswith("https:"),
        chroma_server_ssl_verify=False,  # no effect: the transport is replaced before the first request
        chroma_server_headers=dict(headers),
    )
    return ServerClient(settings=settings)


def route_requests(client: httpx.Client, address: str, seconds: float) -> None:
    """Sends the client's requests directly or through the environment's proxy. A request fails if the server is silent
    for `seconds` or until the run's deadline."""
    proxy = environment_proxy(address)

    def limit(request: httpx.Request) -> None:
        left = max(0.1, min(seconds, current_budget().seconds_left()))
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_SECONDS))
        request.extensions.update({PROXY: proxy, "timeout": timeout.as_dict()})

    verify, way = tls_context() if address.startswith("https:") else False, proxy.to_httpx() if proxy else None
    client._transport, client._mounts = httpx.HTTPTransport(verify=verify, proxy=way, trust_env=False), {}
    client.event_hooks = {"request": [limit]}
