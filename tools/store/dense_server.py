"""The dense index on a Chroma server, held by a process of its own; asked by its HTTP interface (version 2) over the
project's own client, since Chroma's waits for ever and takes its way and its certificates from elsewhere.

The lock file orders the processes that share a data directory, and they are the only ones that write this store's
collections: whoever works elsewhere has a data directory, so a store and so a namespace of their own. Nothing on the
server has to be safe between machines but the server itself. The number of the last change is kept there, in the
metadata of a collection: a server that was emptied, or replaced, has none or another one, and is filled again.

Two things stay with the person who runs it. All processes of one data directory name the same server, or none: those
that differ would each make their index again after the other. And a copy of a data directory carries the same id, so
two copies may not use one server at once; one that was put back from a backup needs `python -m agent rebuild`.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderReplyError, SettingsError
from tools.net.http import fetch_json, is_local, open_client, without_login
from tools.store.dense import GRAPH, ChromaIndex
from tools.store.index import damaged, is_outside

_WHOLE = 6  # times the longest silence: a whole request, with thousands of vectors in it
_COLLECTIONS = "/tenants/default_tenant/databases/default_database/collections"
_NO_SUCH = (404, 405, 410)
_GRAPH_AT_FAULT = "hnsw"  # in a server's words where it cannot read the vector files of a collection
_START = "Start it (`chroma run --path FOLDER --port PORT`), or "
_AGAIN = "If it goes on, make the index again: `python -m agent rebuild`."
_DATA_SAFE = "Your documents are safe in the store; the index catches up with it by itself."


class ServerClient:
    """A Chroma server. headers: sent with every request. seconds: its longest silence; a whole request may take a few
    times that, and within a run its time.

    To be called from threads, never from an event loop's own. All methods raise ProviderDownError when the server
    cannot be reached, refuses the token or fails, and IndexDamagedError when it cannot read its vector files.
    """

    def __init__(self, address: str, headers: Mapping[str, str], seconds: float) -> None:
        self._address, self._headers, self._seconds = address, headers, seconds
        self._name = f"the Chroma server at {without_login(address)}"

    def check(self) -> None:
        """Raises ProviderDownError unless it is a Chroma server of a version that is known that answers there."""
        try:
            version = asyncio.run(self._fetch("GET", "/version"))
        except ProviderReplyError:
            version = None
        except ProviderDownError as exc:
            if exc.status not in _NO_SUCH:
                raise self._told(exc) from exc
            version = None
        if not re.fullmatch(r"\d+(\.\d+)+\S*", str(version)):
            raise ProviderDownError(
                f"what answers at {without_login(self._address)} is no Chroma server of version 1. Check CHROMA_URL, "
                "or start one: `chroma run --path FOLDER --port PORT`.",
                hint=", or start one: `chroma run --path FOLDER --port PORT`",
            )

    def get_max_batch_size(self) -> int:
        return int(self.ask("GET", "/pre-flight-checks").get("max_batch_size", -1))

    def list_collections(self, limit: int, offset: int) -> "list[ServerCollection]":
        return [ServerCollection(self, row) for row in self.ask("GET", f"{_COLLECTIONS}?{limit=}&{offset=}")]

    def find_collection(self, name: str) -> "ServerCollection | None":
        """The collection of that name; None where there is none."""
        try:
            return ServerCollection(self, self.ask("GET", f"{_COLLECTIONS}/{name}"))
        except ProviderDownError as exc:
            if exc.status != 404:
                raise
            return None

    def make_collection(self, name: str, **options: Any) -> "ServerCollection":
        """The collection of that name, made where there is none."""
        return ServerCollection(self, self.ask("POST", _COLLECTIONS, {"name": name, "get_or_create": True, **options}))

    def delete_collection(self, name: str) -> None:
        self.ask("DELETE", f"{_COLLECTIONS}/{name}")

    def close(self) -> None:
        """Nothing is held open."""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON that a request is answered with."""
        try:
            return asyncio.run(self._fetch(method, path, body))
        except (ProviderDownError, ProviderReplyError) as exc:
            raise self._told(exc) from exc

    async def _fetch(self, method: str, path: str, body: Any = None) -> Any:
        url = f"{self._address}/api/v2{path}"
        try:
            async with (
                asyncio.timeout(max(0.0, min(_WHOLE * self._seconds, current_budget().seconds_left()))),
                open_client(self._headers, self._seconds) as client,
            ):
                return await fetch_json(client, method, url, name=self._name, body=body, key="CHROMA_TOKEN")
        except TimeoutError as exc:
            raise ProviderDownError(f"{self._name} did not answer in time.") from exc

    def _told(self, exc: ProviderDownError | ProviderReplyError) -> Exception:
        """A failure as an error that says what to do next."""
        status, said = (exc.status, exc.said) if isinstance(exc, ProviderDownError) else (-1, "")
        if _GRAPH_AT_FAULT in said and not is_outside(said):
            return damaged("dense", f"on {self._name}", exc)
        if status in (401, 403, 404):
            return exc
        if status:
            return ProviderDownError(f"{exc} {_AGAIN} {_DATA_SAFE}", hint=_AGAIN)
        if "cannot be reached" not in str(exc):
            return ProviderDownError(f"{exc} {_DATA_SAFE}")
        instead = "take CHROMA_URL out of the settings to use the embedded index."
        return ProviderDownError(f"{exc} {_START}{instead} {_DATA_SAFE}", hint=_START)


class ServerCollection:
    """A collection of the server, with the names that Chroma's own client has for it."""

    def __init__(self, client: ServerClient, row: Mapping[str, Any]) -> None:
        self.name: str = row["name"]
        self.metadata: Mapping[str, Any] = row.get("metadata") or {}
        self._client = client
        self._path = f"{_COLLECTIONS}/{row['id']}"

    def upsert(self, ids: Sequence[str], embeddings: NDArray[np.float32]) -> None:
        self._client.ask("POST", f"{self._path}/upsert", {"ids": ids, "embeddings": embeddings.tolist()})

    def query(self, query_embeddings: NDArray[np.float32], n_results: int, include: Sequence[str]) -> dict[str, Any]:
        asked = {"query_embeddings": query_embeddings.tolist(), "n_results": n_results, "include": include}
        found: dict[str, Any] = self._client.ask("POST", f"{self._path}/query", asked)
        return found

    def count(self) -> int:
        return int(self._client.ask("GET", f"{self._path}/count"))

    def delete(self, ids: Sequence[str]) -> None:
        self._client.ask("POST", f"{self._path}/delete", {"ids": ids})

    def modify(self, metadata: Mapping[str, Any]) -> None:
        self._client.ask("PUT", self._path, {"new_metadata": metadata})


class DenseServer(ChromaIndex):
    """Nearest passages by cosine, on the Chroma server (1.x) at `url`.

    namespace: what this store's collections are called by, so that several stores share a server: `Store.store_id()`.
    token: sent as `x-chroma-token` and as a bearer token; Chroma by itself asks for none, a proxy before it may.
    seconds: the longest silence of the server; a whole request may take a few times that, and within a run its time.

    All methods raise ProviderDownError when the server cannot be reached, refuses the token or fails, and
    IndexDamagedError when it cannot read its vector files.
    """

    survives = True

    def __init__(self, url: str, namespace: str, token: str = "", seconds: float = 10.0) -> None:
        super().__init__(f"steelman-{namespace}")
        self.address = _address(url)
        self._number_name = f"{self._prefix}-number"
        self._headers = {"x-chroma-token": token, "authorization": f"Bearer {token}"} if token else {}
        self._seconds = seconds

    def number(self) -> str:
        kept = self._existing(self._number_name)
        return "" if kept is None else str(kept.metadata.get("number", ""))

    def set_number(self, number: str) -> None:
        self._open().make_collection(self._number_name).modify({"number": number})

    def clear(self) -> None:
        if self._existing(self._number_name) is not None:
            self._drop(self._number_name)
        for collection in self._mine():
            self._drop(collection.name)

    def reopen(self) -> None:
        """Nothing of the index is held here; the server knows what another process wrote."""

    def _open(self) -> Any:
        if current_budget().offline and not is_local(self.address):
            shown = without_login(self.address)
            raise ProviderDownError(f"the Chroma server at {shown} is elsewhere, and this run stays offline.")
        return super()._open()

    def _connected(self) -> ServerClient:
        client = ServerClient(self.address, self._headers, self._seconds)
        client.check()
        return client

    def _existing(self, name: str) -> ServerCollection | None:
        found: ServerCollection | None = self._open().find_collection(name)
        return found

    def _made(self, collection_id: int) -> ServerCollection:
        made: ServerCollection = self._open().make_collection(self._name(collection_id), configuration=GRAPH)
        return made

    def _errors(self) -> AbstractContextManager[None]:
        return nullcontext()  # the client's own errors say what to do next


def _address(url: str) -> str:
    """Raises SettingsError when it is no address of a server."""
    full = url if "//" in url else f"http://{url}"
    try:
        split = urlsplit(full)
        usable = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"'{url}' is no address of a Chroma server. It looks like http://HOST:PORT.")
    return full.rstrip("/").removesuffix("/api/v2")
