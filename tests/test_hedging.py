"""The second request for a silent one: when it is sent, which reply is taken, what is left of the other."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
from model_server import ModelServer, Reply
from pydantic import BaseModel
from silent_server import ANOTHER_CAME, NEVER, OTHERS_ENDED, SilentServer, Turn

from tools.budget import Budget, StageLog, using
from tools.inference.chat.model import ChatModel
from tools.inference.chat.prices import cost_of
from tools.inference.judges.chat import ChatJudge
from tools.inference.judges.judge import Pair
from tools.net import hedging
from tools.net.hedging import Patience
from tools.net.http import open_client

SILENT = [Turn("late", head=NEVER), Turn("late", body=NEVER)]
GIVEN = len("Be brief." + "Which items?") // 4
BODY = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which items?"}],
    "response_format": {"type": "json_schema", "json_schema": {"of": "no message"}},
}

pytestmark = pytest.mark.usefixtures("quick_retries")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 0.1)


@pytest.fixture
def patient(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 5.0)


@asynccontextmanager
async def client_with(patience: Patience | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the loop's only task, which leaves no other behind."""
    async with open_client(seconds=5.0, patience=patience or Patience("test-model")) as client:
        yield client
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def ask(server: SilentServer, client: httpx.AsyncClient) -> str:
    async with client.stream("POST", f"{server.url}/v1/chat/completions", json=BODY) as response:
        text = (await response.aread()).decode()
        return text if response.is_success else f"{response.status_code} {text}"


async def said_by(
    *turns: Turn, budget: Budget | None = None, log: StageLog | None = None, patience: Patience | None = None
) -> tuple[str, list[bool]]:
    """The reply, and of which requests the connection was closed before they were answered. No connection is open then,
    though the client is."""
    with using(budget or Budget(), log), SilentServer(*turns) as server:
        async with client_with(patience) as client:
            said = await ask(server, client)
            await server.settled()
    return said, [asked.left for asked in server.asked]


# --- which reply is taken ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("patient")
async def test_a_reply_in_time_is_all_that_is_asked_for() -> None:
    budget, log = Budget(), StageLog()
    assert await said_by(Turn("in time", head=0.1, body=0.1), budget=budget, log=log) == ("in time", [False])
    assert (budget.calls, budget.input_tokens, log.notes) == (0, 0, [])  # the caller counts its own


@pytest.mark.parametrize("silent", SILENT)
async def test_a_silent_request_gets_a_second_which_wins(silent: Turn) -> None:
    budget, log = Budget(), StageLog()
    assert await said_by(silent, Turn("second"), budget=budget, log=log) == ("second", [True, False])
    assert (budget.calls, budget.second_requests) == (1, 1)
    assert (budget.input_tokens, budget.output_tokens, budget.unpriced) == (GIVEN, 0, 1)
    said = "test-model had sent nothing for 0.1 seconds, so a second request was sent to it."
    assert log.notes == [("scope", said)]


async def test_the_second_is_the_same_request_and_waits_for_the_silence() -> None:
    with SilentServer(SILENT[0], Turn("second")) as server:
        async with client_with() as client:
            began = time.monotonic()
            await ask(server, client)
    first, second = server.asked
    assert first.body == second.body == BODY
    assert 0.1 <= second.at - began < 2


@pytest.mark.parametrize("late", [Turn("first", head=ANOTHER_CAME), Turn("first", body=ANOTHER_CAME)])
@pytest.mark.parametrize("silent", SILENT)
async def test_the_first_may_still_win(late: Turn, silent: Turn) -> None:
    budget = Budget()
    assert await said_by(late, silent, budget=budget) == ("first", [False, True])
    assert (budget.calls, budget.second_requests, budget.input_tokens) == (1, 1, GIVEN)


async def test_a_reply_without_a_body_is_a_reply() -> None:
    assert await said_by(SILENT[0], Turn("")) == ("", [True, False])


async def test_a_body_that_began_may_pause(server: ModelServer) -> None:
    server.on("", Reply("words", drip=0.15))
    patience = Patience("test-model", slowest=0.1)
    async with client_with(patience) as client:
        reply = await client.post(f"{server.url}/chat/completions", json={**BODY, "stream": True})
    assert "[DONE]" in reply.text
    assert len(server.requests) == 1


async def test_the_lost_request_has_its_price() -> None:
    budget, priced = Budget(), Patience("test-model", partial(cost_of, (2e6, 1e9)))
    await said_by(SILENT[0], Turn("second"), budget=budget, patience=priced)
    assert (budget.cost, budget.unpriced) == (GIVEN * 2.0, 0)


# --- failures ---------------------------------------------------------------------------------------------------------

FAILURES = [{"status": 0}, {"status": 503}, {"status": 400}, {"cut": True}]


@pytest.mark.parametrize("failing", FAILURES)
async def test_where_the_first_fails_the_second_goes_on(failing: dict[str, Any]) -> None:
    budget = Budget()
    turns = Turn("x", **{"head": ANOTHER_CAME, **failing}), Turn("second", body=OTHERS_ENDED)
    assert await said_by(*turns, budget=budget) == ("second", [False, False])
    assert (budget.calls, budget.input_tokens) == (1, 0)  # a failure costs no tokens


@pytest.mark.parametrize("failing", FAILURES)
async def test_where_the_second_fails_the_first_goes_on(failing: dict[str, Any]) -> None:
    assert await said_by(Turn("first", body=OTHERS_ENDED), Turn("x", **failing)) == ("first", [False, False])


@pytest.mark.parametrize("failing", FAILURES[:2])
async def test_what_both_failed_at_is_tried_again_as_one(failing: dict[str, Any]) -> None:
    budget = Budget()
    both = Turn("x", head=OTHERS_ENDED, **failing), Turn("x", **failing)
    assert (await said_by(*both, Turn("again"), budget=budget))[0] == "again"
    assert (budget.calls, budget.second_requests, budget.input_tokens) == (1, 1, 0)


async def test_the_failure_of_both_is_given_on() -> None:
    """The later of the two."""
    turns = Turn("first", head=OTHERS_ENDED, status=400), Turn("second", status=401)
    assert await said_by(*turns) == ("400 first", [False, False])
    turns = Turn("first", head=ANOTHER_CAME, status=400), Turn("second", head=OTHERS_ENDED, status=401)
    assert await said_by(*turns) == ("401 second", [False, False])


async def test_a_connection_that_both_lose_is_lost() -> None:
    lost = Turn(status=0)
    with pytest.raises(httpx.RemoteProtocolError):
        await said_by(Turn(head=OTHERS_ENDED, status=0), lost, lost, lost)  # two tries more, which are not silent


@pytest.mark.usefixtures("patient")
async def test_a_refusal_is_not_waited_for_to_its_end() -> None:
    assert await said_by(Turn("no", status=400, body=0.2)) == ("400 no", [False])


async def test_a_pause_that_the_server_asks_for_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 0.6)
    budget = Budget()
    busy = Turn("busy", status=503, headers="Retry-After: 0.8\r\n")
    assert (await said_by(busy, Turn("again"), budget=budget))[0] == "again"
    assert budget.second_requests == 0


# --- when none is sent ------------------------------------------------------------------------------------------------


async def test_a_run_sends_two_at_most() -> None:
    budget = Budget()
    for sent in (1, 2):
        await said_by(SILENT[1], Turn("second"), budget=budget)
        assert (budget.calls, budget.second_requests) == (sent, sent)
    assert await said_by(Turn("late", body=0.3), budget=budget) == ("late", [False])
    assert (budget.calls, budget.second_requests) == (2, 2)


async def test_calls_that_are_silent_at_once_share_the_two() -> None:
    late = [Turn("late", body=0.6)] * 4
    with using(Budget()), SilentServer(*late, Turn("second"), Turn("second")) as server:
        async with client_with() as client:
            said = await asyncio.gather(*(ask(server, client) for _ in late))
    assert sorted(said) == ["late", "late", "second", "second"]
    assert len(server.asked) == 6


@pytest.mark.parametrize("used_up", [{"max_calls": 1, "calls": 1}, {"max_tokens": 5, "input_tokens": 5}])
async def test_none_is_sent_where_the_budget_is_used_up(used_up: dict[str, int]) -> None:
    budget, log = Budget(**used_up), StageLog()  # type: ignore[arg-type]
    assert await said_by(Turn("late", body=0.3), budget=budget, log=log) == ("late", [False])
    assert (budget.second_requests, log.notes) == (0, [])


async def test_none_is_sent_that_would_come_after_the_deadline() -> None:
    late = Turn("late", body=0.7)
    soon = Budget(deadline_at=time.time() + 0.55)  # 0.1 s are left when 0.45 s were waited
    assert await said_by(late, budget=soon, patience=Patience("m", slowest=0.15)) == ("late", [False])
    later = Budget(deadline_at=time.time() + 5)
    said, left = await said_by(SILENT[0], Turn("second"), budget=later, patience=Patience("m", slowest=0.15))
    assert (said, left) == ("second", [True, False])


def test_what_earlier_stages_sent_counts_for_the_run() -> None:
    from agent.nodes.stage import budget_of, with_log
    from agent.options import RunOptions
    from agent.state import RunState

    def left(**state: Any) -> float:
        return budget_of(state, RunOptions(), "write").max_second_requests

    spent = with_log(RunState(), "frame", Budget(calls=3, second_requests=1), StageLog())["counts"]
    assert (left(), left(counts=spent), left(counts={"second_requests": 2.0})) == (2, 1, 0)
    assert (left(share=2), left(share=3), left(share=2, counts=spent)) == (1, 0, 0)  # two in all, not one a branch


# --- how long it waits ------------------------------------------------------------------------------------------------


def test_a_slow_model_is_waited_for_three_times_as_long_as_it_ever_took() -> None:
    assert [Patience("m", slowest=s).seconds() for s in (0.0, 0.01, 0.1, 2.0)] == pytest.approx([0.1, 0.1, 0.3, 6.0])


async def test_how_slow_a_model_is_is_learned_from_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 5.0)
    patience = Patience("test-model")
    await said_by(Turn("slow", head=0.1, body=0.1), patience=patience)
    slowest = patience.slowest
    assert 0.2 <= slowest < 1
    await said_by(Turn("quick"), patience=patience)
    assert patience.slowest == slowest
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 0.01)
    await said_by(SILENT[1], Turn("second"), patience=patience)
    assert patience.slowest < 3 * slowest  # the one that never came says nothing
    assert await said_by(Turn("slower", body=0.45), patience=patience) == ("slower", [False])
    assert patience.slowest >= 0.45


@pytest.mark.usefixtures("patient")
async def test_refusals_say_nothing_of_how_slow_a_model_is() -> None:
    patience = Patience("test-model")
    await said_by(Turn("no", status=400), patience=patience)
    assert patience.slowest == 0


# --- cancelled from outside -------------------------------------------------------------------------------------------


async def cancelled(server: SilentServer, requests: int) -> Budget:
    """What was spent by a call that is cancelled when so many requests have come. No task and no connection is left."""
    with using(Budget()) as budget:
        async with client_with() as client:
            call = asyncio.create_task(ask(server, client))
            await server.came(requests)
            await asyncio.sleep(0.05)  # what the server says at once is heard
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert asyncio.all_tasks() == {asyncio.current_task()}
            await server.settled()
    return budget


@pytest.mark.parametrize("silent", SILENT)
async def test_a_call_that_is_cancelled_ends_both(silent: Turn) -> None:
    with SilentServer(silent, silent) as server:
        assert (await cancelled(server, 2)).input_tokens == GIVEN  # the caller counts one of the two
    assert [asked.left for asked in server.asked] == [True, True]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("silent", SILENT)
async def test_a_call_that_is_cancelled_before_there_are_two_ends_one(silent: Turn) -> None:
    with SilentServer(silent) as server:
        assert (await cancelled(server, 1)).input_tokens == 0
    assert server.asked[0].left


async def test_a_call_that_is_cancelled_after_one_failed_ends_the_other() -> None:
    with SilentServer(SILENT[1], Turn("busy", status=503)) as server:
        assert (await cancelled(server, 2)).input_tokens == 0
    assert [asked.left for asked in server.asked] == [True, False]


async def test_a_reply_that_was_waited_for_is_closed_whatever_its_stream_does_itself() -> None:
    closed = []

    class Watched(httpx.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self.stream:
                yield part

        async def aclose(self) -> None:
            closed.append(self)
            await self.stream.aclose()

    class Watching(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            response.stream = Watched(response.stream)
            return response

    with SilentServer(SILENT[1], Turn("second")) as server:
        async with httpx.AsyncClient(transport=hedging.hedged(Watching(), Patience("m")), trust_env=False) as client:
            assert await ask(server, client) == "second"
    assert len(closed) == 2


@pytest.mark.parametrize("steps", range(8))
async def test_a_call_that_is_cancelled_while_the_loser_ends_leaves_nothing_open(steps: int) -> None:
    """The reply begins, and the caller is cancelled some steps of the event loop later."""
    patience = Patience("test-model")
    with SilentServer(SILENT[1], Turn("second", stays=True)) as server:
        async with client_with(patience) as client:
            call = asyncio.create_task(ask(server, client))
            while not patience.slowest:  # set as soon as a reply begins
                await asyncio.sleep(0)
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await server.settled()
    assert [asked.left for asked in server.asked] == [True, True]


# --- who asks so ------------------------------------------------------------------------------------------------------


class Shelf(BaseModel):
    items: list[str]


def elsewhere(url: str) -> str:
    """The address by a name that is not known to be this machine's."""
    return url.replace("127.0.0.1", "0.0.0.0")


async def shelf_of(model: ChatModel) -> list[str]:
    try:
        return (await model.ask("", "Which items?", Shelf)).items
    finally:
        await model.aclose()


async def test_a_chat_model_elsewhere_is_asked_twice(server: ModelServer) -> None:
    server.on("", Reply(hang=True), Reply({"items": ["a"]}, usage=(50, 7)))
    budget, log = Budget(), StageLog()
    with using(budget, log):
        assert await shelf_of(ChatModel("test-model", url=elsewhere(server.url), price=(1e6, 1e6))) == ["a"]
    prompt = sum(len(m["content"]) for m in server.requests[0].body["messages"])
    assert (budget.calls, budget.second_requests) == (2, 1)
    assert (budget.input_tokens, budget.output_tokens) == (50 + prompt // 4, 7)
    assert budget.cost == budget.input_tokens + budget.output_tokens
    assert "test-model had sent nothing" in log.notes[0][1]


async def test_a_chat_model_on_this_machine_is_waited_for(server: ModelServer) -> None:
    server.on("", Reply({"items": ["a"]}, delay=0.3))
    budget = Budget()
    with using(budget):
        assert await shelf_of(ChatModel("test-model", url=server.url)) == ["a"]
    assert (len(server.requests), budget.calls, budget.second_requests) == (1, 1, 0)


async def test_a_chat_model_remembers_how_slow_it_is_when_its_connections_are_closed(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on("", Reply({"items": ["a"]}, delay=0.3), Reply({"items": ["b"]}, delay=0.5), times=2)
    model = ChatModel("test-model", url=elsewhere(server.url))
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 5.0)
    assert await shelf_of(model) == ["a"]
    monkeypatch.setattr(hedging, "LEAST_SILENCE", 0.1)
    assert await shelf_of(model) == ["b"]
    assert len(server.requests) == 2


async def test_a_chat_judge_elsewhere_is_asked_twice(server: ModelServer) -> None:
    server.on("", Reply(hang=True), "Yes")
    judge = ChatJudge(url=elsewhere(server.url), model="m")
    with using(Budget()) as budget:
        assert (await judge.support([Pair("s", "t")])).tolist() == [1.0]
    assert (len(server.requests), budget.calls, budget.second_requests) == (2, 2, 1)


async def test_a_chat_judge_on_this_machine_is_waited_for(server: ModelServer) -> None:
    server.on("", Reply("Yes", delay=0.3))
    assert (await ChatJudge(url=server.url, model="m").support([Pair("s", "t")])).tolist() == [1.0]
    assert len(server.requests) == 1
