"""The dense index on a Chroma server.

Only processes with the same data directory write this store's collections, and the lock file orders them; other data
directories have other namespaces. A collection's metadata stores the number of the last change, so an emptied or
replaced server is filled again.

The operator must ensure two things. All processes of a data directory use the same server, or none; otherwise each
rebuilds its index after the others. And two copies of a data directory, which have the same id, never use one server at
once; after restoring a backup run `python -m agent rebuild`.
"""

import asyncio
import re
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.budget import current_budget
from tools.errors import ProviderDownError, SettingsError, SteelmanError
from tools.limits import CHROMA_SECONDS, CONNECT_SECONDS
from tools.net.http import is_local, status_error, without_login
from tools.net.route import cause, proxy_transport
from tools.store.dense import DAMAGED_IDS, ChromaIndex
from tools.store.index import damaged_error

if TYPE_CHECKING:
    import httpx

_GRAPH_AT_FAULT = ("Error loading hnsw index", *DAMAGED_IDS)
"""A server's words for unreadable vector files."""
_START = "Start it (`chroma run --path FOLDER --port PORT`), or "
_DATA_SAFE = "Your documents are safe in the store; the index catches up automatically."


class DenseServer(ChromaIndex):
    """Nearest passages by cosine, on the Chroma server (1.x) at `url`.

    namespace: prefix of this store's collections, so that stores can share a server: `Store.store_id()`. token: sent as
    `x-chroma-token` and as a bearer token, for a proxy that requires it. seconds: longest silence of the server; a
    whole request may take six times that, within the run's time.

    All methods raise ProviderDownError for an unreachable, refusing or failing server, and IndexDamagedError for
    unreadable vector files.
    """

    survives = True

    def __init__(self, url: str, namespace: str, token: str = "", seconds: float = CHROMA_SECONDS) -> None:
        super().__init__(f"steelman-{namespace}")
        self.address = _address(url)
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
            if (kept := self._get(self._number_collection)) is not None:
                kept.modify(metadata={"number": number})
            else:
                self._open().create_collection(
                    self._number_collection, metadata={"number": number}, embedding_function=None
                )

    def clear(self) -> None:
        with self._errors():
            if self._get(self._number_collection) is not None:
                self._drop(self._number_collection)
            for collection in self._own_collections():
                self._drop(collection.name)

    def reopen(self) -> None:
        """Nothing is cached; the server knows all changes."""

    def _open(self) -> Any:
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(f"the Chroma server at {self._shown} is elsewhere, and this run stays offline.")
        return super()._open()

    def _connect(self) -> Any:
        self._check()
        return server_client(self.address, self._headers, self._seconds)

    def _check(self) -> None:
        """Raises ProviderDownError unless a Chroma server of version 1 answers."""
        import httpx

        with limit_request_time(httpx.Client(headers=self._headers, trust_env=False), self._seconds) as client:
            response = client.get(f"{self.address}/api/v2/version")
        if response.status_code in (404, 405, 410) or (response.is_success and not _is_version(response.text)):
            raise ProviderDownError(
                f"no Chroma server of version 1 answers at {self._shown}. Check CHROMA_URL, or start one: "
                "`chroma run --path FOLDER --port PORT`.",
                hint=", or start one: `chroma run --path FOLDER --port PORT`",
            )
        if not response.is_success:
            raise status_error(f"the Chroma server at {self._shown}", response.status_code, response.content)

    def _errors(self) -> AbstractContextManager[None]:
        return _ServerErrors(self._shown)


class _ServerErrors(AbstractContextManager[None]):
    """Converts Chroma's errors to errors that name the server and advise."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        if exc is None or isinstance(exc, SteelmanError):
            return
        if isinstance(exc.__cause__, SteelmanError):  # proxy or certificate settings
            raise exc.__cause__ from None
        import httpx
        from chromadb.errors import AuthorizationError, ChromaAuthError, ChromaError, InternalError

        server = f"the Chroma server at {self._address}"
        if isinstance(exc, ChromaAuthError | AuthorizationError):
            raise ProviderDownError(f"{server} refused the token. Check CHROMA_TOKEN.") from exc
        if isinstance(exc, httpx.TimeoutException):
            raise ProviderDownError(f"{server} did not answer in time. {_DATA_SAFE}") from exc
        if isinstance(exc, httpx.TransportError | httpx.InvalidURL):
            raise ProviderDownError(
                f"{server} cannot be reached ({cause(exc, self._address)}). {_START}take CHROMA_URL out of "
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


def _address(url: str) -> str:
    """Raises SettingsError for an invalid address."""
    full = url if "//" in url else f"http://{url}"
    try:
        split = urlsplit(full)
        usable = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"'{url}' is no address of a Chroma server. It looks like http://HOST:PORT.")
    return full.rstrip("/").removesuffix("/api/v2")


def _is_version(text: str) -> bool:
    return re.fullmatch(r'"?\d+(\.\d+)+\S*"?', text.strip()) is not None


_WHOLE = 6  # limit of a whole request, as a multiple of the longest silence: a request may carry thousands of vectors


def server_client(address: str, headers: Mapping[str, str], seconds: float) -> Any:
    """Chroma's client for a server. It limits the time of every request; Chroma's own client waits without limit."""
    from chromadb.config import Settings

    settings = Settings(
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=address,
        chroma_server_http_port=8000,  # required, and used only if the address has no scheme
        chroma_server_ssl_enabled=address.startswith("https:"),
        chroma_server_ssl_verify=False,  # of a transport that is replaced before the first request
        chroma_server_headers=dict(headers),
    )
    return _client_class()(settings, seconds)


@cache
def _client_class() -> Any:
    from chromadb.api.client import Client
    from chromadb.auth import UserIdentity
    from chromadb.config import Settings

    class ServerClient(Client):
        """Keeps one session with limited requests, and closes it."""

        def __init__(self, settings: Settings, seconds: float) -> None:
            self._seconds = seconds
            super().__init__(settings=settings)

        @property
        def session(self) -> "httpx.Client":
            session: httpx.Client = self._server._session  # type: ignore[attr-defined]
            return session

        def get_user_identity(self) -> UserIdentity:
            """The first request that Chroma's client sends."""
            limit_request_time(self.session, self._seconds)
            return super().get_user_identity()

        def _validate_tenant_database(self, tenant: str, database: str) -> None:
            admin: Any = self._admin_client
            admin._server._session.close()  # opened for this call alone
            admin._server = self._server
            super()._validate_tenant_database(tenant, database)

        def close(self) -> None:
            """Closes the connections too; Chroma's client leaves them open."""
            self.session.close()
            super().close()

    return ServerClient


def limit_request_time(client: "httpx.Client", seconds: float) -> "httpx.Client":
    """Ends each request of the client after 6 × `seconds`, or at the run's deadline."""
    import httpx

    client.timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
    client._transport, client._mounts = _limited_transport(_WHOLE * seconds), {}
    return client


def _limited_transport(seconds: float) -> "httpx.BaseTransport":
    """A synchronous transport over the project's asynchronous one, so that a wait can be ended."""
    import httpx

    class Limited(httpx.BaseTransport):
        def __init__(self) -> None:
            self._inner, self._loop = proxy_transport(), _loop()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            call = asyncio.run_coroutine_threadsafe(self._send(request), self._loop)
            try:
                return call.result(max(0.0, min(seconds, current_budget().seconds_left())))
            except TimeoutError as exc:
                call.cancel()
                raise httpx.ReadTimeout("the time for the whole request was used up", request=request) from exc

        async def _send(self, request: httpx.Request) -> httpx.Response:
            sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            sent.extensions = request.extensions  # shared: a mark on one request is on both
            response = await self._inner.handle_async_request(sent)
            try:
                stream: Any = response.stream  # asynchronous
                data = b"".join([part async for part in stream])
            finally:
                await response.aclose()
            return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(data))

        def close(self) -> None:
            asyncio.run_coroutine_threadsafe(self._inner.aclose(), self._loop).result()

    return Limited()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of the connections, in a daemon thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="steelman-chroma", daemon=True).start()
    return loop
