"""What is let through to Streamlit: requests under the page's own names, the messages that the page needs, and files
for the sessions that were shown a field for them. Everything else is refused before Streamlit keeps any of it."""

import asyncio
import contextlib
import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

from tools.net.listening import is_loopback

UPLOADS = "/_stcore/upload_file"
_FILE = re.compile(rf"{UPLOADS}/([^/]+)/([^/]+)")
_HEALTH = "/_stcore/health"  # asked for by what looks after containers, by a bare address
_CLOSED = ("/_stcore/metrics", "/_stcore/agent")  # answered by Streamlit, and asked for by no page
_MESSAGES = ("rerun_script", "stop_script", "app_heartbeat", "file_urls_request")
_MOST_SESSIONS = 250
_PAUSE = 0.02  # seconds between two messages of a session: what comes faster waits in its sender
_MOST_FILES = 1000
_SESSIONS_OF_FILES = 10  # all sessions together hold as much as so many full ones
Refusal = tuple[int, str]


class ReceivedFiles(MemoryUploadedFileManager):
    """Uploaded files until the page takes them. most: bytes that one session may have here.

    A session is given ids for files once the page has shown it a field for them, and sends one file under each.
    """

    def __init__(self, endpoint: str, most: int) -> None:
        super().__init__(endpoint)
        self._most = most
        self._given: dict[str, dict[str, int]] = {}  # session: id: bytes, 0 before any come

    def show_field(self, session_id: str) -> None:
        self._given.setdefault(session_id, {})

    def get_upload_urls(self, session_id: str, file_names: Sequence[str]) -> list[UploadFileUrlInfo]:
        given = self._given.get(session_id)
        if given is None:
            return []
        urls = super().get_upload_urls(session_id, file_names[: _MOST_FILES - len(given)])
        given.update(dict.fromkeys((url.file_id for url in urls), 0))
        return urls

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        if file.file_id in self._given.get(session_id, {}):  # else the session has ended, or its files were taken
            super().add_file(session_id, file)

    def remove_file(self, session_id: str, file_id: str) -> None:
        super().remove_file(session_id, file_id)
        self._given.get(session_id, {}).pop(file_id, None)

    def remove_session_files(self, session_id: str) -> None:
        super().remove_session_files(session_id)
        self._given.pop(session_id, None)

    @contextlib.contextmanager
    def receiving(self, session_id: str, file_id: str, size: int) -> Iterator[Refusal | None]:
        """Keeps room for a file while it comes; yields why it may not come."""
        given, megabytes = self._given.get(session_id, {}), self._most // 2**20
        if given.get(file_id) != 0 or size < 1:
            yield 403, "The page has not asked for this file. Open Documents, log in if asked to, and choose it there."
        elif sum(given.values()) + size > self._most:
            yield 413, f"One upload holds {megabytes} MB at most (STEELMAN_API_UPLOAD). Send fewer files at a time."
        elif sum(sum(each.values()) for each in list(self._given.values())) + size > _SESSIONS_OF_FILES * self._most:
            yield 503, "Others are sending files. Wait a moment, then send yours again."
        else:
            given[file_id] = size
            try:
                yield None
            finally:
                if file_id in given and not self.get_files(session_id, [file_id]):
                    given[file_id] = 0


def show_field() -> None:
    """The session that is being drawn may send files."""
    if (here := get_script_run_ctx()) and isinstance(here.uploaded_file_mgr, ReceivedFiles):
        here.uploaded_file_mgr.show_field(here.session_id)


def forget_files() -> None:
    """Frees the memory of the files of the session that is being drawn: they were taken."""
    if here := get_script_run_ctx():
        here.uploaded_file_mgr.remove_session_files(here.session_id)
    show_field()


class Guard:
    """Stands before Streamlit's application. names: hosts under which it is reached, besides those of loopback."""

    def __init__(self, app: ASGIApp, files: ReceivedFiles, names: frozenset[str]) -> None:
        self._app, self._files, self._names = app, files, names
        self._sessions = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope):
            await _refuse(refusal)(scope, receive, send)
        elif scope["type"] == "websocket":
            self._sessions += 1
            try:
                await self._app(scope, _needed(receive), send)
            finally:
                self._sessions -= 1
        elif scope["method"] == "PUT" and (sent := _FILE.fullmatch(scope["path"])):
            size = Headers(scope=scope).get("content-length", "")
            with self._files.receiving(sent[1], sent[2], int(size) if size.isdecimal() else 0) as fault:
                await (_refuse(fault) if fault else self._app)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        name = _host_of(f"//{host}")
        if not (is_loopback(name) or name in self._names or scope["path"] == _HEALTH):
            return 421, "The page is not known under this name. Whoever runs it can add it to STEELMAN_API_HOSTS."
        if origin and origin.partition("://")[2] != host:
            return 403, "This came from another site's page. Open Steelman's own."
        if scope["path"].startswith(_CLOSED):
            return 404, "There is nothing here."
        if scope["type"] == "websocket" and self._sessions >= _MOST_SESSIONS:
            return 503, "As many windows are open as the page can serve. Come back in a moment."
        return None


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _refuse(refusal: Refusal) -> PlainTextResponse:
    return PlainTextResponse(f"{refusal[1]}\n", refusal[0], {"Connection": "close"})


def _needed(receive: Receive) -> Receive:
    """The messages of a session that the page needs; others would empty caches, tell of the machine or write files."""
    ready = 0.0

    async def received() -> Message:
        nonlocal ready
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(ready - now)
            ready = max(now, ready) + _PAUSE
            if _is_needed(message.get("bytes") or b""):
                return message

    return received


def _is_needed(data: bytes) -> bool:
    back = BackMsg()
    with contextlib.suppress(Exception):  # what cannot be parsed is dropped
        back.ParseFromString(data)
    asked = back.WhichOneof("type")
    download = asked == "backend_operation_request" and back.backend_operation_request.HasField("deferred_file")
    return download or asked in _MESSAGES
