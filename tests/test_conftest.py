"""The fences around every test."""

import os
import socket

import pytest


def test_no_connection_leaves_this_machine() -> None:
    with socket.socket() as sock, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        sock.connect(("192.0.2.1", 80))
    with socket.socket() as sock, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        sock.connect_ex(("192.0.2.1", 80))
    with pytest.raises(RuntimeError, match=r"example\.org"):
        socket.getaddrinfo("example.org", 443)


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_the_environment_is_plain() -> None:
    assert [name for name in os.environ if name.startswith(("OPENAI_", "HF_"))] == []
    assert [name for name in os.environ if name.startswith("STEELMAN_")] == ["STEELMAN_DATA_DIR"]
