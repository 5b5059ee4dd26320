"""Freed memory goes back to the machine."""

import statistics
import threading
from pathlib import Path

import httpx
import pytest
from api_on_loopback import api
from server_process import resident_memory, server_process

from agent.settings import Settings


def test_a_server_gives_back_now_and_then(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    given = threading.Event()
    monkeypatch.setattr("tools.memory._SECONDS", 0.01)
    monkeypatch.setattr("tools.memory.trim_heaps", given.set)
    with api(settings):
        assert given.wait(20)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("cached")
def test_a_server_does_not_grow_over_two_hundred_questions(tmp_path: Path) -> None:
    held = []
    body = {"depth": "quick", "web": False}
    with (
        server_process(["-m", "api", "--port", "0"], str(tmp_path / "data")) as (address, process),
        httpx.Client(base_url=address, timeout=300) as client,
    ):
        for number in range(200):
            question = f"Should schools in district {number} ban smartphones?"
            client.post("/v1/ask", json=body | {"question": question}).raise_for_status()
            held.append(resident_memory(process.pid))
    first, second = statistics.median(held[80:100]), statistics.median(held[180:])
    assert first > 100
    assert second < 1.05 * first
