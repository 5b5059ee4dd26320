"""The page's sessions without a browser: what a browser would send and receive over Streamlit's websocket, of which one
process can hold many."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from operator import itemgetter
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

_WAIT = 150.0  # seconds, on a machine that others work on
_WHOLE = ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY


class PageSession:
    """One visitor. What is on the page is what the last script run, and the fragments since, have sent."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._elements: dict[tuple[int, ...], tuple[str, str, Any]] = {}
        self.query = self.id = ""
        self.runs: list[str] = []
        self.kinds: set[str] = set()
        self._file_ids: list[str] | None = None
        self._repeated: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()

    # What the visitor does

    async def draw(self, fragment: str = "", widgets: Mapping[str, str | bool] | None = None) -> None:
        """Asks for the page, or a fragment of it; widgets: texts by the field's id, True for a button's."""
        wanted = BackMsg()
        wanted.rerun_script.query_string, wanted.rerun_script.fragment_id = self.query, fragment
        for id_, value in (widgets or {}).items():
            setattr(
                wanted.rerun_script.widget_states.widgets.add(id=id_),
                "string_value" if isinstance(value, str) else "trigger_value",
                value,
            )
        await self.send(wanted)

    async def send(self, message: BackMsg) -> None:
        await self._socket.send(message.SerializeToString())

    async def closed(self) -> None:
        await self._socket.wait_closed()
        await self._socket.send(b"")

    async def file_ids(self, count: int) -> list[str]:
        asked = BackMsg()
        asked.file_urls_request.request_id, self._file_ids = "1", None
        asked.file_urls_request.file_names.extend(["a.txt"] * count)
        await self.send(asked)
        await self.until(lambda: self._file_ids is not None, "ids of files")
        return self._file_ids or []

    async def go(self, query: str) -> None:
        """To an address of the page, as by the browser's own buttons."""
        self.query = query
        await self.draw()

    async def click(self, label: str, typed: str = "") -> None:
        """Presses the button once it is there; typed: what was typed into the page's first field before."""
        await self.until(lambda: label in self.buttons, f"the button '{label}'")
        pressed: dict[str, str | bool] = {self.buttons[label]: True}
        await self.draw(widgets=pressed | ({self._of("text_input")[0].text_input.id: typed} if typed else {}))

    async def until(self, there: Callable[[], object], what: str) -> None:
        began = time.monotonic()
        while not there():
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), began + _WAIT - time.monotonic())
            except TimeoutError as exc:
                raise AssertionError(f"never seen: {what}. The page says:\n{self.text[:2000]}") from exc

    # What they see

    @property
    def text(self) -> str:
        return "\n".join(e.html.body for e in self._of("html"))

    def text_since(self, runs: int) -> str:
        """What scripts have drawn after the first `runs` of them. What an earlier page left is not in it."""
        new = set(self.runs[runs:])
        return "\n".join(
            e.html.body for drawn, _, e in self._elements.values() if drawn in new and e.WhichOneof("type") == "html"
        )

    @property
    def buttons(self) -> dict[str, str]:
        return {e.button.label.replace("\\", ""): e.button.id for e in self._of("button")}

    def _of(self, kind: str) -> list[Any]:
        return [e for _, (*_, e) in sorted(self._elements.items(), key=itemgetter(0)) if e.WhichOneof("type") == kind]

    # What comes

    async def follow(self) -> None:
        with contextlib.suppress(ConnectionClosed):  # whoever waits for it says so
            async for data in self._socket:
                assert isinstance(data, bytes)
                self._take(ForwardMsg.FromString(data))
                self._news.set()

    def _take(self, message: ForwardMsg) -> None:
        kind, run = message.WhichOneof("type"), message.metadata.run
        self.kinds.add(kind or "")
        if kind == "file_urls_response":
            self._file_ids = [url.file_id for url in message.file_urls_response.file_urls]
        elif kind == "new_session":
            self.id = message.new_session.initialize.session_id
            self.runs.append(run.script_run_id)
            self._stop(() if run.fragment_ids else self._repeated)
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            shown = self.runs[-1], message.delta.fragment_id, message.delta.new_element
            self._elements[tuple(message.metadata.delta_path)] = shown
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._stop({message.auto_rerun.fragment_id} & self._repeated.keys())
            again = self._repeat(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            self._repeated[message.auto_rerun.fragment_id] = asyncio.ensure_future(again)
        elif kind == "script_finished" and message.script_finished in _WHOLE:  # what was not sent again is gone
            for path, (drawn, fragment, _) in list(self._elements.items()):
                if drawn != run.script_run_id and (not run.fragment_ids or fragment in run.fragment_ids):
                    del self._elements[path]

    async def _repeat(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self.draw(fragment)

    def _stop(self, fragments: Iterable[str]) -> None:
        for fragment in list(fragments):
            self._repeated.pop(fragment).cancel()

    async def close(self) -> None:
        self._stop(self._repeated)
        await self._socket.close()


@asynccontextmanager
async def page_session(port: int) -> AsyncIterator[PageSession]:
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    async with connect(address, subprotocols=["streamlit"], max_size=None, proxy=None) as socket:  # type: ignore[list-item]
        session = PageSession(socket)
        following = asyncio.ensure_future(session.follow())
        try:
            await session.draw()
            yield session
        finally:
            await session.close()
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
