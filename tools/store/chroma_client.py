"""Chroma's HTTP interface (version 2), as far as the dense index needs it, over the project's own client.

Chroma's own waits for ever, and takes its way and its certificates from elsewhere.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderReplyError
from tools.net.http import fetch_json, open_client, without_login
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
