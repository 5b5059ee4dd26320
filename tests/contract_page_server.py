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
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from conftest import ROOT
from contract_table import Bench, Outcome, Row
from loopback import free_port
from oidc_server import Provider
from page_server import PageServer
from page_sessions import page_session
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tools.net.connections import _MOST_WAITING

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


def _ended(arguments: Sequence[str], folder: Path, **variables: str) -> Outcome:
    (folder / "data").mkdir(exist_ok=True)
    named = {"PATH": os.environ["PATH"], "HOME": str(folder), "STEELMAN_DATA_DIR": str(folder / "data")}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=named | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=_WITHIN,
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


async def start(given: Sequence[str], bench: Bench) -> Outcome:
    """`python -m ui` with options that it refuses."""
    return await asyncio.to_thread(_ended, ["ui", *given], bench.folder)


async def start_with_secrets(given: str, bench: Bench) -> Outcome:
    (bench.folder / "data").mkdir()
    (bench.folder / "data" / "secrets.toml").write_text(given)
    return await asyncio.to_thread(_ended, ["ui", "--host", "0.0.0.0"], bench.folder)


async def start_on_a_taken_port(given: None, bench: Bench) -> Outcome:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return await start(["--port", str(taken.getsockname()[1])], bench)


async def streamlit_run(given: Mapping[str, str], bench: Bench) -> Outcome:
    arguments = ["streamlit", "run", str(ROOT / "ui" / "app.py"), "--server.port", str(free_port())]
    return await asyncio.to_thread(lambda: _ended(arguments, bench.folder, **given))


async def start_beside_a_configuration(given: Mapping[str, str], bench: Bench) -> Outcome:
    """`python -m ui` in a folder, and with variables, that would open it. status: where it listens."""
    (bench.folder / ".streamlit").mkdir()
    (bench.folder / ".streamlit" / "config.toml").write_text(_OPEN)
    (bench.folder / ".streamlit" / "secrets.toml").write_text(_logins())
    with PageServer(bench.folder, **given) as server:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        rows += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
        ends = (row[1].rpartition(":") for row in rows if row[3] == "0A")
        [address] = [address for address, _, port in ends if int(port, 16) == server.port]
        foreign = {"Origin": "http://evil.example", "X-Name": "ann"}
        stream = f"ws://127.0.0.1:{server.port}/_stcore/stream"
        with contextlib.suppress(InvalidStatus):
            async with connect(stream, proxy=None, additional_headers=foreign):
                return Outcome("open to other sites", "")
        return Outcome(".".join(str(b) for b in reversed(bytes.fromhex(address))), server.said())


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


async def empty_the_cache(given: int, bench: Bench) -> Outcome:
    """Messages `clear_cache`, each with a page after it. status: how many services were opened."""
    server = _page(logins=False)
    async with page_session(server.port) as session:
        await session.until(lambda: "Documents" in session.buttons, "the page")
        before = _loops(server)
        for _ in range(given):
            await session.send(BackMsg(clear_cache=True))
            await session.go("view=documents")
            await session.until(lambda: "What you add is searched" in session.text, "the documents")
            await session.go("")
            await session.until(lambda: "sm-lead" in session.text, "the page")
        return Outcome(_loops(server) - before + 1, session.text)


def _loops(server: PageServer) -> int:
    """Threads of services, by the connections that each keeps open to its database of checkpoints."""
    held = Path(f"/proc/{server.pid}/fd").iterdir()
    return sum("checkpoints.db" in str(each.readlink()) for each in held)


async def send_file(given: str, bench: Bench) -> Outcome:
    """A file for the upload address, as `given` says."""
    server = _page(logins=given == "before the login")
    address = f"{server.url}/_stcore/upload_file"
    async with page_session(server.port) as session, httpx.AsyncClient(trust_env=False) as client:
        token = (await client.get(f"{server.url}/_stcore/health")).cookies["_streamlit_xsrf"]
        client.cookies.clear()
        client.headers.update({"X-Xsrftoken": token, "Cookie": f"_streamlit_xsrf={token}"})
        await session.until(lambda: session.id and session.buttons, "the page")
        if given not in ("before the login", "before the field"):
            await session.go("view=documents")
            await session.until(lambda: "What you add is searched" in session.text, "the documents")
        ids = await session.file_ids(2)
        if given in ("before the login", "before the field"):
            assert ids == []
        target = f"{address}/{session.id}/{ids[0] if ids and given != 'an id of its own' else 'f' * 36}"
        if given == "without a length":
            reply = await client.put(target, content=_endless())
        elif given == "one id twice":
            assert (await client.put(target, files={"file": b"a"})).status_code == 204
            reply = await client.put(target, files={"file": b"b"})
        elif given == "two that are too much together":
            assert (await client.put(target, files={"file": bytes(15_000_000)})).status_code == 204
            reply = await client.put(f"{address}/{session.id}/{ids[1]}", files={"file": bytes(15_000_000)})
        else:
            reply = await client.put(target, files={"file": bytes(60_000_000 if given == "too large" else 9)})
        return Outcome(reply.status_code, reply.text)


async def _endless() -> AsyncIterator[bytes]:
    for _ in range(1000):
        yield bytes(100_000)


async def send_too_much(given: int, bench: Bench) -> Outcome:
    """A message of so many bytes. status: the code that the connection is closed with."""
    server = _page(logins=True)
    async with page_session(server.port) as session:
        message = BackMsg()
        message.rerun_script.query_string = "x" * given
        try:
            await session.send(message)
            await session.closed()
        except ConnectionClosed as exc:
            return Outcome(exc.rcvd.code if exc.rcvd else 0, exc.rcvd.reason if exc.rcvd else "")
    return Outcome("taken", "")


async def open_windows(given: int, bench: Bench) -> Outcome:
    """So many sessions at once; the next visitor's view of the front page."""
    server = _page(logins=True)
    async with contextlib.AsyncExitStack() as opened:
        for _ in range(given):
            with contextlib.suppress(InvalidStatus):
                await opened.enter_async_context(connect(f"ws://127.0.0.1:{server.port}/_stcore/stream", proxy=None))
        reply = await asyncio.to_thread(lambda: httpx.get(server.url, trust_env=False))
        return Outcome(reply.status_code, reply.text)


async def hold_heads(given: int, bench: Bench) -> Outcome:
    """So many requests whose heads do not end. status: how many the page still waits for, some seconds later."""
    server, replies = _page(logins=True), list[asyncio.Task[bytes]]()
    async with asyncio.timeout(20), contextlib.AsyncExitStack() as opened:
        for _ in range(given):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            opened.callback(writer.close)
            writer.write(b"GET / HT")
            replies.append(asyncio.create_task(reader.read()))
        while sum(not reply.done() for reply in replies) > _MOST_WAITING:
            await asyncio.sleep(0.05)
        ended = [reply for reply in replies if reply.done()]
        return Outcome(given - len(ended), (await ended[0]).decode())


async def ask_for(given: str, bench: Bench) -> Outcome:
    reply = await asyncio.to_thread(lambda: httpx.get(f"{_page(logins=True).url}{given}", trust_env=False))
    return Outcome(reply.status_code, f"{reply.text} {reply.headers.get('content-security-policy', '')}")


_REFUSED, _USE = "on 0.0.0.0 other machines reach the page", "`python -m ui`"
_NOT_ASKED, _CHOOSE = "has not asked for this file", "Open Documents, log in if asked to"
_ELSEWHERE = {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "true"}
_ODD: list[Mapping[str, Any]] = [
    *({name: True} for name in ("clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime")),
    {"file_urls_request": {"request_id": "1", "file_names": ["a.txt"]}},
    {"backend_operation_request": {"request_id": "2", "install_skills": {}}},
]

ROWS = [
    Row("open to others without logins", start, ["--host", "0.0.0.0"], 2, _REFUSED, "set up logins first"),
    Row("open to others by IPv6", start, ["--host", "::"], 2, "on :: other machines reach", "Leave out --host"),
    Row("no such port", start, ["--port", "99999"], 1, "cannot listen on port 99999", "--port"),
    Row("logins that are no TOML", start_with_secrets, "[auth", 2, "secrets.toml cannot be read", "Correct it"),
    Row("other secrets than logins", start_with_secrets, "[db]\nx = 1", 2, _REFUSED, "docs/providers.md"),
    Row("a port in use", start_on_a_taken_port, None, 1, "Address already in use", "a port that is free with --port"),
    Row("by Streamlit's own command", streamlit_run, {}, 1, "serves nothing", _USE, ("URL", "usage statistics")),
    Row("the same, open to others", streamlit_run, _ELSEWHERE, 1, "serves nothing", _USE, ("URL",)),
    Row("files that open it", start_beside_a_configuration, {}, "127.0.0.1", "Steelman's page is on", "Not read: "),
    Row("variables that open it", start_beside_a_configuration, _ELSEWHERE, "127.0.0.1", "(Ctrl-C stops it)"),
    Row("before the login", visit, [], "secrets.toml", "by nobody else who logs in", hidden=("vote",)),
    Row("odd messages before it", visit, _ODD, "secrets.toml", "by nobody else who logs in", hidden=("git_info",)),
    Row("an emptied cache", empty_the_cache, 3, 1, "sm-lead"),
    Row("before the login", send_file, "before the login", 403, _NOT_ASKED, _CHOOSE),
    Row("before the field", send_file, "before the field", 403, _NOT_ASKED, _CHOOSE),
    Row("an id of its own", send_file, "an id of its own", 403, _NOT_ASKED, _CHOOSE),
    Row("one id twice", send_file, "one id twice", 403, _NOT_ASKED, _CHOOSE),
    Row("without a length", send_file, "without a length", 403, _NOT_ASKED, _CHOOSE),
    Row("too large", send_file, "too large", 413, "One upload holds 25 MB", "STEELMAN_API_UPLOAD"),
    Row(
        "two that are too much together",
        send_file,
        "two that are too much together",
        413,
        "One upload holds 25 MB",
        "Send fewer at once",
    ),
    Row("a large message", send_too_much, 3_000_000, 1009, "exceeds limit"),
    Row("more windows than it serves", open_windows, 130, 503, "As many windows are open", "Come back in a moment"),
    Row("heads that do not end", hold_heads, 50, _MOST_WAITING, "did not come in time", "Send it whole"),
    Row("framed by another site", ask_for, "/", 200, "frame-ancestors 'none'"),
    Row("Streamlit's figures", ask_for, "/_stcore/metrics", 404, "There is nothing here"),
    Row("Streamlit's door for programs", ask_for, "/_stcore/agent/openapi.json", 404, "There is nothing here"),
]
