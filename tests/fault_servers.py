"""Servers and networks that fail or differ, each real and on this machine: TLS, proxies, and servers on a bad day.

`says`, `serves`, `at` and `over` name a place in a row; it is opened when the row is checked.
"""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from contract_table import Bench
from loopback import Speaks, certified
from model_server import ModelServer, Reply
from web_server import article

from tools.budget import Budget, budget_scope

Place = Callable[[Bench], AbstractContextManager[str]]
_CHOICE = {"index": 0, "message": {"role": "assistant", "content": '{"queries": ["B"]}'}}
_FOUND = {"data": [{"index": 0, "score": 0.5, "embedding": [3.0, 4.0]}], "searchParameters": {}, "organic": []}
_PAGE = Reply(raw=article("The harbour", ["It was closed."]).encode(), headers={"Content-Type": "text/html"})


def sound(**how: Any) -> ModelServer:
    """Answers any request of a model, a search or a page; as a proxy it does so for every server."""
    server, found = ModelServer(strict=False, **how), Reply(raw=json.dumps({"choices": [_CHOICE], **_FOUND}).encode())
    return server.on("", lambda body: found if body else _PAGE, path="")


def place(opened: Callable[..., Iterator[str]]) -> Callable[..., Place]:
    return lambda *how, **more: lambda bench: contextmanager(opened)(bench, *how, **more)


@place
def says(
    _: Bench, said: bytes | str = b"", body: str = "", then: str = "", met: int = 0, scheme: str = "http", **head: Any
) -> Iterator[str]:
    """Sends these bytes, or answers with this status and body; where it stays silent, the run has half a second.
    then: as of `Speaks`. met: how often it has to be asked, 0 for any number. head: further headers."""
    if isinstance(said, str):
        lines = {"Content_Type": "application/json", **({} if then else {"Content_Length": len(body)}), **head}
        headers = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
        said = f"HTTP/1.1 {said}\r\n{headers}Connection: close\r\n\r\n{body}".encode()
    until = time.time() + (0.5 if then in ("hang", "drip") else 60)
    with Speaks(said, then) as server, budget_scope(Budget(deadline_at=until)):
        yield f"{scheme}://127.0.0.1:{server.port}"
    assert not met or server.met == met, f"{server.met} requests"


@place
def serves(
    bench: Bench, scheme: str = "https", known: bool = True, name: str = "127.0.0.1", **how: Any
) -> Iterator[str]:
    """A server behind TLS; known: whether SSL_CERT_FILE names its authority."""
    with sound(tls=certified(bench.folder, name, **how)) as server:
        if known:
            bench.patch.setenv("SSL_CERT_FILE", str(bench.folder / "authority.pem"))
        yield f"{scheme}://127.0.0.1:{server.port}"


@place
def at(bench: Bench, url: str, **environment: str) -> Iterator[str]:
    """An address in a company's network, with these variables set: names in public.example lead out, those in
    inside.example here, those in private.example to the private network; of later.example nobody can be asked now."""
    real, known = socket.getaddrinfo, {"public": "93.184.215.14", "inside": "127.0.0.1", "private": "10.0.0.1"}

    def answer(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if not name.endswith(".example"):
            return real(host, port, *args, **kwargs)
        if found := known.get(name.split(".")[-2]):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, int(port or 0)))]
        raise socket.gaierror("EAI_AGAIN" if "later" in name else "unknown")

    bench.patch.setattr(socket, "getaddrinfo", answer)
    for variable, value in environment.items():
        bench.patch.setenv(variable, value)
    yield url


@place
def over(
    bench: Bench, url: str, login: str = "", through: str = "example", name: str = "ALL_PROXY", **more: str
) -> Any:
    """A proxy that answers for all of the outside. through: what it has been asked then, empty for nothing; or the
    status with which it answers everything. login, name: of its variable. PORT in the address: a server here."""
    refusal = f"HTTP/1.1 {through}\r\nContent-Length: 0\r\n\r\n".encode() if through[:1].isdigit() else b""
    tls = certified(bench.folder, url.split("/")[2])
    with Speaks(refusal) if refusal else sound(tls=tls, proxy=True) as proxy, sound() as here:
        given = {"SSL_CERT_FILE": str(bench.folder / "authority.pem"), name: f"http://{login}127.0.0.1:{proxy.port}"}
        with at(url.replace("PORT", str(here.port)), **given, **more)(bench) as address:
            yield address
    if isinstance(proxy, ModelServer):
        assert through in str(proxy.requests) if through else not proxy.requests
