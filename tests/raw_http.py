"""HTTP as bytes on a socket, for requests that no client library would send."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx


@contextmanager
def connected(address: str, receive_buffer: int = 0) -> Iterator[socket.socket]:
    """A connection to the server; `receive_buffer`: bytes that this end takes without being read."""
    with socket.socket() as connection:
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(10)
        connection.connect((urlsplit(address).hostname, urlsplit(address).port))
        yield connection


def head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


def read_to_end(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def problem_in(reply: bytes) -> dict[str, Any]:
    """The problem document of a reply, whose status and type are checked."""
    top, _, body = reply.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in top.lower(), reply[:300]
    problem: dict[str, Any] = json.loads(body)
    assert problem["status"] == int(top.split()[1])
    assert problem["type"].startswith("urn:steelman:problem:")
    assert problem["title"]
    assert problem["detail"]
    return problem


def problem_of(reply: httpx.Response, status: int, name: str) -> dict[str, Any]:
    """The problem document of a reply that is of this status and kind."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    assert (problem["status"], problem["type"]) == (status, f"urn:steelman:problem:{name}")
    assert problem["title"]
    assert problem["detail"][-1] in ".?"
    assert "python -m" not in reply.text
    return problem


def wait_until(condition: Any, seconds: float = 10.0) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)
