"""Several servers of one model: the pool chooses a server, queues requests, and sends keys to listed servers only."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, aclosing
from typing import Any

import numpy as np
import pytest
from answering_model import answering, run
from model_replies import Body
from model_server import ModelServer, Reply
from prometheus_client import CollectorRegistry, generate_latest

from agent.__main__ import OK
from agent.commands.ask import exit_status
from agent.commands.doctor import doctor_checks, run_check
from agent.providers.from_settings import build_encoder, build_judge
from agent.settings import Settings, load_settings
from agent.stages.requery import PlannedQueries
from api.observing import ModelServers
from tools.budget import Budget, budget_scope
from tools.errors import ProviderDownError, SettingsError
from tools.models.chat.model import ChatModel
from tools.models.encoders import EndpointEncoder
from tools.models.judges.judge import Pair
from tools.models.judges.remote import ChatJudge, ScoreJudge
from tools.net.http import is_local
from tools.net.pool import SERVERS

KEY = "sk-very-secret-0123456789"
QUERIES = {"queries": ["harbour dues"]}
FULL = Reply("busy", status=503, headers={"Retry-After": "1"})


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    SERVERS.clear()
    yield
    assert [(s.place, s.open, s.waiting) for s in SERVERS.values() if s.open or s.waiting] == []


@pytest.fixture
def two() -> Iterator[tuple[ModelServer, ModelServer]]:
    with ExitStack() as open_servers:
        first, second = (
            open_servers.enter_context(ModelServer(judge=lambda _: 0.9, strict=False, key=KEY)) for _ in range(2)
        )
        yield first, second


def listed(*servers: ModelServer) -> str:
    return ", ".join(server.url for server in servers)


def judge(*servers: ModelServer, **options: Any) -> ChatJudge:
    return ChatJudge(**{"url": listed(*servers), "model": "test-model", "key": KEY, "seconds": 5.0, **options})


def pairs(count: int) -> list[Pair]:
    return [Pair("Bridges last.", f"Bridge {i} stands.") for i in range(count)]


def settings(*servers: ModelServer, **changes: Any) -> Settings:
    chat = {"openai_base_url": listed(*servers), "model": "test-model", "openai_api_key": KEY}
    return load_settings(**{**chat, "judge": "embedded", **changes})


# --- who gets a request -----------------------------------------------------------------------------------------------


async def test_servers_of_one_speed_get_the_same_number(two: tuple[ModelServer, ModelServer]) -> None:
    for server in two:
        server.pace = 0.05
    assert (await judge(*two, requests=4).support(pairs(40))).tolist() == pytest.approx([0.9] * 40)
    counts = [len(server.requests) for server in two]
    assert sum(counts) == 40
    assert abs(counts[0] - counts[1]) <= 4
    assert [server.peak for server in two] == [4, 4]


async def test_a_slow_server_gets_fewer(two: tuple[ModelServer, ModelServer]) -> None:
    fast, slow = two
    fast.pace, slow.pace = 0.02, 0.4
    await judge(*two, requests=4).support(pairs(60))
    assert 0 < 4 * len(slow.requests) < len(fast.requests)


async def test_all_judges_of_a_process_share_one_limit(two: tuple[ModelServer, ModelServer]) -> None:
    for server in two:
        server.pace = 0.03
    shared = judge(*two, requests=3)
    await asyncio.gather(*(shared.support(pairs(15)) for _ in range(3)))  # three runs
    assert 5 <= two[0].peak + two[1].peak <= 6
    assert sum(len(server.requests) for server in two) == 45


async def test_first_come_first_served(server: ModelServer) -> None:
    server.on("", lambda _: Reply(QUERIES, delay=0.03))
    async with aclosing(ChatModel("m-1", url=server.url, requests=1)) as model:
        await model.ask("", "the first finds out how the server wants to be asked", PlannedQueries)

        async def ask(n: int) -> None:
            await asyncio.sleep(n / 200)
            await model.ask("", f"number {n}.", PlannedQueries)

        await asyncio.gather(*map(ask, range(8)))
    asked = [next(n for n in range(8) if f"number {n}." in r.text) for r in server.requests[1:]]
    assert asked == list(range(8))
    assert server.peak == 1


def test_encoders_in_several_threads_wait_for_each_other(server: ModelServer) -> None:
    server.pace = 0.02
    encoder = EndpointEncoder(server.url, "m", batch=1, requests=1)
    found: list[np.ndarray] = []
    texts = [f"text {i}" for i in range(6)]
    threads = [threading.Thread(target=lambda: found.append(encoder.encode(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [vectors.shape for vectors in found] == [(6, 64)] * 4
    assert server.peak == 1


# --- servers that are off or full -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("library")
async def test_a_server_that_is_killed_during_a_run_leaves_a_whole_answer(
    two: tuple[ModelServer, ModelServer],
) -> None:
    kept, killed = two
    dying, is_alive = threading.Thread(target=killed.kill), threading.Lock()

    def die(_: Body) -> Reply:
        if is_alive.acquire(blocking=False):
            dying.start()
        return Reply(QUERIES, delay=5)  # the connection ends before

    killed.on("one for each distinct reason", die)
    for server in two:
        answering(server)
    answer = await run(settings(*two), seconds=20, max_rounds=0)
    dying.join()
    assert len(killed.requests) >= 1
    assert answer.outcome == "answered", answer.notes
    assert [n.text for n in answer.notes if n.kind in ("degraded", "failed", "late", "unjudged")] == []
    assert exit_status(answer) == OK
    assert answer.providers["write"] == "test-model"
    assert len([r for r in kept.requests if "one for each distinct reason" in r.text]) == 3


async def test_a_reply_that_is_cut_is_asked_for_elsewhere(two: tuple[ModelServer, ModelServer]) -> None:
    two[0].on("", Reply("Yes", cut=True))
    assert (await judge(*two).support(pairs(6))).tolist() == pytest.approx([0.9] * 6)
    assert len(two[0].requests) == 1  # left out from then on
    assert SERVERS[two[0].root].ended == {"unreachable": 1}


async def test_nobody_waits_for_a_full_server_while_another_is_free(two: tuple[ModelServer, ModelServer]) -> None:
    two[0].on("", Reply(status=429, headers={"Retry-After": "30"}))
    began = time.monotonic()
    with budget_scope(Budget(deadline_at=time.time() + 60)):
        assert (await judge(*two).support(pairs(20))).tolist() == pytest.approx([0.9] * 20)
    assert time.monotonic() - began < 3
    assert len(two[0].requests) == 1
    assert SERVERS[two[0].root].ended == {"full": 1}


@pytest.mark.slow
async def test_when_all_are_full_requests_wait_and_are_answered(two: tuple[ModelServer, ModelServer]) -> None:
    for server in two:
        server.pace, server.most = 0.1, 1
    with budget_scope(Budget(deadline_at=time.time() + 30)):
        assert (await judge(*two).support(pairs(12))).tolist() == pytest.approx([0.9] * 12)
    assert all(SERVERS[server.root].ended["full"] for server in two)


async def test_no_server_gets_more_than_its_limit(two: tuple[ModelServer, ModelServer]) -> None:
    for server in two:
        server.pace = 0.02
    assert (await judge(*two, requests=2).support(pairs(40))).tolist() == pytest.approx([0.9] * 40)
    assert [server.peak for server in two] == [2, 2]


async def test_no_wait_exceeds_the_deadline(two: tuple[ModelServer, ModelServer]) -> None:
    for server in two:
        server.on("", FULL)
    async with aclosing(ChatModel("m-1", url=listed(*two), key=KEY)) as model:
        began = time.monotonic()
        with budget_scope(Budget(deadline_at=time.time() + 2.5)), pytest.raises(ProviderDownError, match="503: busy"):
            await model.ask("", "Which queries?", PlannedQueries)
    assert 1 < time.monotonic() - began < 2.6
    assert 4 <= sum(len(server.requests) for server in two) <= 6


async def test_a_turn_that_does_not_come_ends_at_the_deadline(server: ModelServer) -> None:
    server.strict = False
    server.on("", Reply(hang=True))
    until = time.time() + 1
    async with (
        aclosing(ChatModel("m-1", url=server.url, requests=1)) as model,
        aclosing(ChatModel("m-2", url=server.url, requests=1)) as other,
    ):
        with budget_scope(Budget(deadline_at=until)):
            holder = asyncio.create_task(model.ask("", "the first", PlannedQueries))
            await asyncio.sleep(0.2)
            with pytest.raises(ProviderDownError, match="did not answer in time"):
                await other.ask("", "the second", PlannedQueries)
        assert time.time() - until < 0.3
        holder.cancel()
        await asyncio.gather(holder, return_exceptions=True)
    assert len(server.requests) == 1


async def test_a_retry_after_beyond_the_deadline_fails_at_once(two: tuple[ModelServer, ModelServer]) -> None:
    for server in two:
        server.on("", Reply("later", status=429, headers={"Retry-After": "300"}))
    began = time.monotonic()
    with budget_scope(Budget(deadline_at=time.time() + 60)), pytest.raises(ProviderDownError, match="429: later"):
        await judge(*two).support(pairs(3))
    assert time.monotonic() - began < 2


async def test_a_server_that_is_back_is_asked_again(
    two: tuple[ModelServer, ModelServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.net.pool.FIRST_PAUSE", 0.05)
    two[0].on("", FULL, times=1)
    asked = judge(*two)
    await asked.support(pairs(3))
    assert len(two[0].requests) == 1
    await asyncio.sleep(1.1)
    await asked.support(pairs(10))
    assert len(two[0].requests) > 3


# --- keys and headers ---


async def test_the_key_goes_to_the_listed_servers_only(two: tuple[ModelServer, ModelServer]) -> None:
    with ModelServer(strict=False) as stranger:
        away = {"Location": f"{stranger.url}/chat/completions", "Set-Cookie": "who=first"}
        two[0].on("", Reply("moved", status=307, headers=away))
        with pytest.raises(ProviderDownError, match=f"test-model at 127.0.0.1:{two[0].port} redirects"):
            await judge(*two).support(pairs(1))
        async with judge(*two).open_client() as client:
            for _ in range(2):
                await client.post(f"{two[0].url}/chat/completions", json={"messages": []})
        assert stranger.requests == []
    for server in two:
        assert {r.headers["authorization"] for r in server.requests} == {f"Bearer {KEY}"}
        assert {r.headers["host"] for r in server.requests} == {f"127.0.0.1:{server.port}"}
        assert not any("cookie" in r.headers for r in server.requests)


@pytest.mark.parametrize("kind", ["chat", "judge"])
async def test_an_error_names_the_server_that_failed(two: tuple[ModelServer, ModelServer], kind: str) -> None:
    two[1].on("", Reply("no such key", status=401))
    async with aclosing(ChatModel("m-1", url=listed(two[1], two[0]), key=KEY)) as model:
        away = judge(two[1], two[0], model="m-1")
        asked = model.ask("", "?", PlannedQueries) if kind == "chat" else away.support(pairs(2))
        with pytest.raises(ProviderDownError, match=f"m-1 at 127.0.0.1:{two[1].port} refused the key"):
            await asked


@pytest.mark.usefixtures("cached")
def test_doctor_asks_each_address(two: tuple[ModelServer, ModelServer]) -> None:
    given = settings(*two, judge="auto", judge_url=listed(*two), judge_model="test-model", judge_api_key=KEY)

    def found() -> dict[str, str]:
        return {p.name: run_check(p).detail for p in doctor_checks(given) if p.name in ("chat model", "judge")}

    well = found()
    assert f"test-model at {two[0].url}, {two[1].url}" in well["chat model"]
    assert [{r.path for r in server.requests} for server in two] == [{"/v1/models", "/v1/chat/completions"}] * 2
    two[1].kill()
    off = found()
    assert all(f"nothing listens at 127.0.0.1:{two[1].port}" in detail for detail in off.values()), off
    assert all(KEY not in detail for detail in off.values())


async def test_an_offline_run_asks_only_lists_of_this_machine(server: ModelServer) -> None:
    away = f"{server.url}, http://203.0.113.9/v1"
    assert (is_local(f"{server.url}, http://localhost:9/v1"), is_local(away)) == (True, False)
    asked = ChatJudge(url=away, model="m", seconds=1.0)
    with budget_scope(Budget(offline=True)), pytest.raises(ProviderDownError, match="stays offline"):
        await asked.support(pairs(1))
    with budget_scope(Budget(offline=True)), pytest.raises(ProviderDownError, match="nothing is to leave"):
        await ChatModel("m-1", url=away).ask("", "Which queries?", PlannedQueries)
    assert server.requests == []


# --- the settings and the metrics -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://a:1/v1/ , https://b/v1,", "http://a:1/v1,https://b/v1"),
        ("http://a/v1,http://a/v1/", "http://a/v1"),
        ("http://ann:x,y@a/v1", "http://ann:x,y@a/v1"),
    ],
)
def test_a_list_of_addresses(given: str, kept: str) -> None:
    assert load_settings(openai_base_url=given, model="m").openai_base_url == kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("http://a/v1,b:8000/v1", "each address of a list begins with http://"),
        ("http://ann:hunter2@a/v1,http://b/v1", "share one key and hold no name or password"),
        ("http://a/v1,http://b/other/v1", "end in the same path"),
        ("http://a/v1,http://:80/v1", "an address is http://"),
    ],
)
def test_a_list_that_cannot_be_used(given: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        load_settings(openai_base_url=given, model="m")
    assert "hunter2" not in str(caught.value)


def test_the_settings_reach_the_judge_and_the_encoder(two: tuple[ModelServer, ModelServer]) -> None:
    urls = ",".join(f"{server.root}/score" for server in two)
    scorer = build_judge(load_settings(judge_url=urls, judge_model="m", model_requests=3, judge_api_key=KEY))
    assert isinstance(scorer, ScoreJudge)
    assert scorer.address == f"{two[0].root}, {two[1].root}"
    assert asyncio.run(scorer.support(pairs(100))).shape == (100,)
    given = load_settings(embeddings_url=listed(*two), embeddings_model="m", embeddings_batch=1, embeddings_api_key=KEY)
    encoder: Any = None
    for server in two:
        server.pace = 0.2  # both are busy while the others are sent, however fast the machine is
    build_encoder(given, encoder).encode([f"text {i}" for i in range(8)])
    assert [len([r for r in s.requests if r.path == "/v1/embeddings"]) for s in two] in ([4, 4], [3, 5], [5, 3])
    assert all(any(r.path == "/score" for r in s.requests) for s in two)


async def test_metrics_tell_what_each_server_does(two: tuple[ModelServer, ModelServer]) -> None:
    registry = CollectorRegistry()
    registry.register(ModelServers())
    two[0].on("", Reply("busy", status=503))
    two[1].pace = 0.5

    def metrics() -> dict[str, float]:
        lines = generate_latest(registry).decode().splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}

    reading = asyncio.create_task(judge(*two, requests=1).support(pairs(2)))
    await asyncio.sleep(0.75)
    other = asyncio.create_task(judge(*two, requests=1).support(pairs(1)))
    await asyncio.sleep(0.1)
    during = metrics()
    await asyncio.gather(reading, other)
    first, second = (f'server="127.0.0.1:{server.port}"' for server in two)
    assert during[f"steelman_model_requests_open{{{second}}}"] == 1
    assert during[f"steelman_model_requests_waiting{{{second}}}"] == 1
    after = metrics()
    assert (
        after[f"steelman_model_requests_open{{{second}}}"] == after[f"steelman_model_requests_waiting{{{first}}}"] == 0
    )
    ended = [line for line in generate_latest(registry).decode().splitlines() if "requests_total{" in line]
    assert any(second in line and 'outcome="answered"' in line and line.endswith(" 3.0") for line in ended), ended
    assert any(first in line and 'outcome="full"' in line for line in ended), ended
    assert KEY not in generate_latest(registry).decode()
