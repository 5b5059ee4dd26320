"""Passes to Streamlit only the messages that the page needs, and files from sessions that were shown an upload field.
Everything else is refused before Streamlit stores anything."""

import asyncio
import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnected
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

_UPLOADS = "/_stcore/upload_file"
_FILE = re.compile(rf"{_UPLOADS}/([^/]+)/([^/]+)")
_CLOSED = ("/_stcore/metrics", "/_stcore/agent")  # the page never requests these
_LOG_OUT = "/auth/logout"
_MESSAGES = ("rerun_script", "stop_script", "app_heartbeat", "file_urls_request")
_MOST_SESSIONS = 100  # a session needs four file descriptors, and a process usually has a thousand
_MOST_FILES = 1000
_LONGEST_NAME = 200
_FULL_SESSIONS = 10  # all sessions together hold at most the bytes of ten full ones
_PAUSE = 0.05  # seconds between two messages of a session; faster messages wait at the sender
_FRAGMENT = re.compile(r"[\w-]{0,100}", re.ASCII)  # Streamlit logs unknown ids
_UNFRAMED = {"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY"}
"""Other sites must not embed the page in a frame, where visitors could click on something that they do not see."""


@dataclass
class _File:
    """size: bytes received. left_out: the file came whole, but did not fit."""

    name: str
    size: int = 0
    left_out: bool = False


class ReceivedFiles(MemoryUploadedFileManager):
    """Holds uploaded files until the page takes them. most: bytes that one session may store here.

    A session gets ids for files after the page has shown an upload field to the session. Each id is for one file.
    For a refused file Streamlit would show only an HTTP status. So a file that does not fit beside the others is
    dropped without an error, and the page names it when it takes the others.
    """

    def __init__(self, most: int) -> None:
        super().__init__(_UPLOADS)
        self._most = most
        self._given: dict[str, dict[str, _File]] = {}  # session: file id: file

    def show_field(self, session_id: str, *, taken: bool) -> list[str]:
        """Lets the session send files. taken: drops the files that it sent before, and returns the names of those that
        did not fit."""
        left_out = [file.name for file in self._given.get(session_id, {}).values() if file.left_out and taken]
        if taken:
            self.remove_session_files(session_id)
        self._given.setdefault(session_id, {})
        return left_out

    def get_upload_urls(self, session_id: str, file_names: Sequence[str]) -> list[UploadFileUrlInfo]:
        if (given := self._given.get(session_id)) is None:
            return []
        urls = super().get_upload_urls(session_id, file_names[: _MOST_FILES - len(given)])
        given.update((url.file_id, _File(name[:_LONGEST_NAME])) for url, name in zip(urls, file_names, strict=False))
        return urls

    def refusal(self, session_id: str, file_id: str, size: int) -> Response | None:
        """Returns the reply to a file that is not stored. For another file returns None and reserves space."""
        given = self._given.get(session_id, {})
        file = given.get(file_id)
        if file is None or file.size or file.left_out or size < 1:
            told = "The page has not asked for this file. Open Documents, log in if asked to, and choose it there."
            return PlainTextResponse(told, 403)
        if size > self._most:
            most = f"{self._most >> 20} MB at most (STEELMAN_API_UPLOAD)"
            return PlainTextResponse(f"One upload holds {most}. Send fewer at once.", 413)
        if sum(file.size for file in given.values()) + size > self._most:
            file.left_out = True
            return Response(status_code=204)
        if self._held() + size > _FULL_SESSIONS * self._most:
            return PlainTextResponse("Others are sending files. Wait a moment, then send yours again.", 503)
        file.size = size
        return None

    def _held(self) -> int:
        """Returns the bytes of all open sessions, and drops the files of closed ones."""
        for session_id in list(self._given):
            if Runtime.exists() and not Runtime.instance().is_active_session(session_id):
                self.remove_session_files(session_id)
        return sum(file.size for each in list(self._given.values()) for file in list(each.values()))

    def settle(self, session_id: str, file_id: str) -> None:
        """Frees the space reserved for a file that did not arrive."""
        file = self._given.get(session_id, {}).get(file_id)
        if file and not self.get_files(session_id, [file_id]):
            file.size = 0

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        if file.file_id in self._given.get(session_id, {}):  # otherwise the session ended or the page has the files
            super().add_file(session_id, file)

    def remove_file(self, session_id: str, file_id: str) -> None:
        super().remove_file(session_id, file_id)
        self._given.get(session_id, {}).pop(file_id, None)

    def remove_session_files(self, session_id: str) -> None:
        super().remove_session_files(session_id)
        self._given.pop(session_id, None)


def show_field(*, taken: bool = False) -> list[str]:
    """Does the same for the current session."""
    here = get_script_run_ctx()
    files = here.uploaded_file_mgr if here else None
    return files.show_field(here.session_id, taken=taken) if here and isinstance(files, ReceivedFiles) else []


class Guard:
    """Filters the requests to Streamlit's application."""

    def __init__(self, app: ASGIApp, files: ReceivedFiles) -> None:
        self._app, self._files = app, files
        self._sessions = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope)
        if refusal:
            await refusal(scope, receive, send)
        elif scope["type"] == "websocket":
            self._sessions += 1
            try:
                with contextlib.suppress(WebSocketDisconnected):  # the visitor left; no log entry is needed
                    await self._app(scope, _needed(receive), send)
            finally:
                self._sessions -= 1
        else:

            async def unframed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message).update(_UNFRAMED)
                await send(message)

            try:
                await self._app(scope, receive, unframed)
            finally:
                if sent := _FILE.fullmatch(scope.get("path", "")):
                    self._files.settle(sent[1], sent[2])

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        if "origin" in headers and headers["origin"].partition("://")[2] != headers.get("host"):
            return PlainTextResponse("This came from another site's page. Open Steelman's own.", 403)
        if path == _LOG_OUT and headers.get("sec-fetch-site") == "cross-site":
            return PlainTextResponse("Another site sent you here. Log out on Steelman's own page.", 403)
        if path.startswith(_CLOSED):
            return PlainTextResponse("There is nothing here.", 404)
        if self._sessions >= _MOST_SESSIONS and (scope["type"] == "websocket" or path == "/"):
            told = "As many windows are open as the page can serve. Come back in a moment."
            return PlainTextResponse(told, 503)
        if scope.get("method") == "PUT" and (sent := _FILE.fullmatch(path)):
            size = headers.get("content-length", "")
            known = size.isdecimal() and "transfer-encoding" not in headers  # that header would override the size
            return self._files.refusal(sent[1], sent[2], int(size) if known else 0)
        return None


def _needed(receive: Receive) -> Receive:
    """Passes on only the messages that the page needs. Other messages could clear caches, write files or reveal facts
    about the machine."""

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
    try:
        back = BackMsg.FromString(data)
    except Exception:  # noqa: BLE001  # protobuf's exception has no types
        return False
    if not _FRAGMENT.fullmatch(back.rerun_script.fragment_id):
        return False
    return back.WhichOneof("type") in _MESSAGES or back.backend_operation_request.HasField("deferred_file")
