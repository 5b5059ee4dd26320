"""The page as a server: how it is started, where it listens, and what somebody reaches who has not logged in."""

import asyncio
import atexit
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from conftest import ROOT
from contract_table import Bench, Outcome, Row
from oidc_server import Provider
from page_server import PageServer
from page_sessions import page_session
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

_VIEWS = ("", "run=a", "view=documents", "view=settings", "view=vote")
_WITHIN = 60.0
_OPEN = """
    [server]
    address = "0.0.0.0"
    enableCORS = false
    enableXsrfProtection = false
    trustedUserHeaders = '{"X-Name": "sub"}'
    [browser]
    gatherUsageStats = true
"""


def _logins(port: int = 8501) -> str:
    return Provider({}).secrets(f"http://127.0.0.1:{port}/oauth2callback")


@cache
def _page(*, logins: bool) -> PageServer:
    """One page for all rows, until the tests end; nothing is opened in the one with logins."""
    opened = contextlib.ExitStack()
    atexit.register(opened.close)
    server = PageServer(Path(opened.enter_context(tempfile.TemporaryDirectory())))
    server.data.mkdir(mode=0o700)
    if logins:
        (server.data / "secrets.toml").write_text(_logins(server.port))
    return opened.enter_context(server)


@dataclass(frozen=True)
class Start:
    """`python -m` with these arguments in a folder of its own; secrets: the text of secrets.toml."""

    arguments: Sequence[str]
    secrets: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def start(given: Start, bench: Bench) -> Outcome:
    """status: its exit status. TAKEN is a port in use."""
    (data := bench.folder / "data").mkdir()
    if given.secrets:
        (data / "secrets.toml").write_text(given.secrets)
    told = {"PATH": os.environ["PATH"], "HOME": str(bench.folder), "STEELMAN_DATA_DIR": str(data)}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run(
            [sys.executable, "-m", *(word.replace("TAKEN", str(taken.getsockname()[1])) for word in given.arguments)],
            cwd=bench.folder,
            env=told | {"PYTHONPATH": str(ROOT)} | dict(given.variables),
            capture_output=True,
            text=True,
            timeout=_WITHIN,
            check=False,
        )
    return Outcome(done.returncode, done.stdout + done.stderr)


async def start_beside_a_configuration(given: Mapping[str, str], bench: Bench) -> Outcome:
    """`python -m ui` in a folder, and with variables, that would open it to other sites and addresses."""
    (bench.folder / ".streamlit").mkdir()
    (bench.folder / ".streamlit" / "config.toml").write_text(_OPEN)
    (bench.folder / ".streamlit" / "secrets.toml").write_text(_logins())
    with PageServer(bench.folder, **given) as server:
        for host, origin in (("127.0.0.1", "http://evil.example"), ("127.0.0.2", f"http://127.0.0.2:{server.port}")):
            with contextlib.suppress(InvalidStatus, ConnectionRefusedError):
                stream, foreign = f"ws://{host}:{server.port}/_stcore/stream", {"Origin": origin, "X-Name": "ann"}
                async with connect(stream, proxy=None, additional_headers=foreign):
                    return Outcome(f"open: {host}, {origin}", "")
        return Outcome("closed", server.said())


async def visit(given: Sequence[Mapping[str, Any]], bench: Bench) -> Outcome:
    """All views, each after the messages, by somebody who has not logged in. status: what the data folder has."""
    server = _page(logins=True)
    async with page_session(server.port) as session:
        for view in _VIEWS:
            for message in given:
                await session.send(BackMsg(**message))
            await session.go(view)
        await session.until(lambda: list(session.buttons) == ["Log in"], "the button alone")
        assert await session.file_ids(1) == []  # what came before it is answered by now
        told = "git_info and the like" if {"git_info_changed", "backend_operation_response"} & session.kinds else ""
        return Outcome(" ".join(f.name for f in server.data.iterdir()), f"{session.text} {told}")


async def send_file(given: str, bench: Bench) -> Outcome:
    server, unasked = _page(logins=given == "before the login"), given == "before the login"
    async with page_session(server.port) as session, httpx.AsyncClient(trust_env=False) as client:
        token = (await client.get(f"{server.url}/_stcore/health")).cookies["_streamlit_xsrf"]
        client.cookies.clear()
        client.headers.update({"X-Xsrftoken": token, "Cookie": f"_streamlit_xsrf={token}"})
        await session.until(lambda: session.id and session.buttons, "the page")
        if not unasked:
            await session.go("view=documents")
            await session.until(lambda: "Add" in session.buttons, "the field for files, which comes before the button")
        ids = await session.file_ids(2)
        assert len(ids) == (0 if unasked else 2)
        address = f"{server.url}/_stcore/upload_file/{session.id}/"
        first, _, unknown = (f"{address}{id_}" for id_ in [*ids, "f", "f", "f"][:3])
        sent: dict[str, Any] = {"files": {"file": bytes(60_000_000 if given == "too large" else 9)}}
        if given == "one id twice":
            assert (await client.put(first, **sent)).status_code == 204
        target = unknown if given == "an id of its own" else first
        if given == "two lengths":
            lengths = {"Content-Length": "1", "Transfer-Encoding": "chunked"}
            sent = {"content": _endless(), "headers": {"Content-Type": "multipart/form-data; boundary=a", **lengths}}
        reply = await client.put(target, **sent)
        return Outcome(reply.status_code, reply.text)


async def _endless() -> AsyncIterator[bytes]:
    for _ in range(1000):
        yield bytes(100_000)


async def open_windows(given: int, bench: Bench) -> Outcome:
    """So many sessions at once; the next visitor's view of the front page."""
    server = _page(logins=True)
    async with contextlib.AsyncExitStack() as opened:
        for _ in range(given):
            with contextlib.suppress(InvalidStatus):
                await opened.enter_async_context(connect(f"ws://127.0.0.1:{server.port}/_stcore/stream", proxy=None))
        reply = await asyncio.to_thread(lambda: httpx.get(server.url, trust_env=False))
        return Outcome(reply.status_code, reply.text)


def ask_for(given: str, bench: Bench) -> Outcome:
    reply = httpx.get(f"{_page(logins=True).url}{given}", trust_env=False)
    return Outcome(reply.status_code, f"{reply.text} {reply.headers.get('content-security-policy', '')}")


_REFUSED, _OTHERS = "on 0.0.0.0 other machines reach the page", ["ui", "--host", "0.0.0.0"]
_STREAMLIT = ["streamlit", "run", str(ROOT / "ui" / "app.py"), "--server.port", "0"]
_NOT_ASKED, _CHOOSE = "has not asked for this file", "Open Documents, log in if asked to"
_ELSEWHERE = {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "true"}
_ODD: list[Mapping[str, Any]] = [
    *({name: True} for name in ("clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime")),
    {"file_urls_request": {"request_id": "1", "file_names": ["a.txt"]}},
    {"backend_operation_request": {"request_id": "2", "install_skills": {}}},
]

ROWS = [
    Row("open to others without logins", start, Start(_OTHERS), 2, _REFUSED, "set up logins first"),
    Row("other secrets than logins", start, Start(_OTHERS, "[db]\nx = 1"), 2, _REFUSED, "docs/providers.md"),
    Row("logins that are no TOML", start, Start(_OTHERS, "[auth"), 2, "secrets.toml cannot be read", "Correct it"),
    Row("a port in use", start, Start(["ui", "--port", "TAKEN"]), 1, "Address already in use", "a port that is free"),
    Row("by Streamlit's own command", start, Start(_STREAMLIT, "", _ELSEWHERE), 1, "serves nothing", "`python -m ui`",
        ("URL", "usage statistics")),
    Row("files that open it", start_beside_a_configuration, {}, "closed", "Steelman's page is on", "Not read: "),
    Row("variables that open it", start_beside_a_configuration, _ELSEWHERE, "closed", "(Ctrl-C stops it)"),
    Row("before the login", visit, [], "secrets.toml", "Only you and the operator of this page", hidden=("vote",)),
    Row("odd messages before it", visit, _ODD, "secrets.toml", "the operator of this page", hidden=("git_info",)),
    *(Row(what, send_file, what, 403, _NOT_ASKED, _CHOOSE) for what in
      ("before the login", "an id of its own", "one id twice", "two lengths")),
    Row("too large", send_file, "too large", 413, "One upload holds 25 MB at most (STEELMAN_API_UPLOAD)", "Send fewer"),
    Row("more windows than it serves", open_windows, 130, 503, "As many windows are open", "Come back in a moment"),
    Row("framed by another site", ask_for, "/", 200, "frame-ancestors 'none'"),
    *(Row(path, ask_for, path, 404, "There is nothing here") for path in
      ("/_stcore/metrics", "/_stcore/agent/openapi.json")),
]  # fmt: skip
