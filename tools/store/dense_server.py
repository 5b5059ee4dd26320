"""The dense index on a Chroma server, held by a process of its own.

The lock file orders the processes that share a data directory, and they are the only ones that write this store's
collections: whoever works elsewhere has a data directory, so a store and so a namespace of their own. Nothing on the
server has to be safe between machines but the server itself. The number of the last change is kept there, in the
metadata of a collection: a server that was emptied, or replaced, has none or another one, and is filled again.

Two things stay with the person who runs it. All processes of one data directory name the same server, or none: those
that differ would each make their index again after the other. And a copy of a data directory carries the same id, so
two copies may not use one server at once; one that was put back from a backup needs `python -m agent rebuild`.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import urlsplit

from tools.budget import current_budget
from tools.errors import ProviderDownError, SettingsError
from tools.net.http import is_local, without_login
from tools.store.chroma_client import ServerClient, ServerCollection
from tools.store.dense import GRAPH, ChromaIndex


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
