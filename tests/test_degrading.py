"""Whole runs on a model server's bad days: under `auto` they end in an answer that says so, else in one clear line."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answering_model import QUESTION, STAGES, answering, case_of, run
from model_replies import Body
from model_server import ModelServer, Reply

from agent.__main__ import BAD_INPUT, DEGRADED, FAILED, OK, main
from agent.answer.model import Answer
from agent.commands.ask import exit_status
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings, load_settings
from tools.net import retries

KEY = "sk-very-secret-0123456789"
SECONDS = 3.0
EMBEDDED = {"frame": "embedded", "expand": "embedded", "write": "embedded"}


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr("tools.models.chat.reply.LONGEST_CHAT_REPLY", 10_000)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(strict=False) as running:
        yield running


def settings(server: ModelServer | None, **changes: Any) -> Settings:
    chat = {"openai_base_url": server.url, "model": "test-model", "openai_api_key": KEY} if server else {}
    judge = "auto" if "judge_url" in changes else "embedded"  # else the chat model would judge as well
    return load_settings(**{**chat, "judge": judge, **changes})


def notes(answer: Answer, kind: str) -> list[str]:
    return [n.text for n in answer.notes if n.kind == kind]


def chats(server: ModelServer) -> list[Any]:
    return [r for r in server.requests if r.path.endswith("/chat/completions") and not r.body.get("logprobs")]


# --- a good day -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("library")
async def test_each_stage_asks_its_own_model_and_the_usage_adds_up() -> None:
    with ModelServer() as server:
        answering(server, again=True, usage=(100, 10))
        own = {f"model_{s}": f"m-{s}" for s in ("expand", "queries", "write")}
        answer = await run(settings(server, **own), seconds=20, max_passages=24)  # too few to read all
        asked = {next(s for s, words in STAGES.items() if words in r.text): r.body["model"] for r in chats(server)}
        assert asked.pop("check") == asked.pop("crux") == "m-write"
        assert asked == {"expand": "m-expand", "requery": "m-queries", "write": "m-write"}
        calls = len(server.requests)
    assert {s: answer.providers[s] for s in asked} == asked
    assert answer.providers["frame"] == "m-expand"
    assert answer.providers["judge"] == "quick"
    usage = answer.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (calls, 100 * calls, 10 * calls)
    assert usage.cost_usd == 0
    assert answer.outcome == "answered"
    assert notes(answer, "degraded") == []
    assert exit_status(answer) == OK


# --- bad days ---------------------------------------------------------------------------------------------------------

# What the server answers, what the note says of it, and how many requests a run makes that finds it down (None: it
# answers, and so every stage asks it).
BAD: dict[str, tuple[Reply, str, int | None]] = {
    "wrong key": (Reply(f"no such key: {KEY}", status=401), "refused the key", 1),
    "always failing": (Reply("oh dear", status=500), "failed (status 500", 3),
    "hang": (Reply(hang=True), "did not answer in time", 1),
    "chatter": (Reply("As a language model, I"), "did not give a usable answer", None),
}


@pytest.mark.parametrize(("reply", "said", "requests"), BAD.values(), ids=BAD.keys())
@pytest.mark.usefixtures("library")
async def test_with_auto_a_failing_model_is_replaced_and_the_answer_says_so(
    server: ModelServer, reply: Reply, said: str, requests: int | None
) -> None:
    server.on("", reply)
    began = time.monotonic()
    answer = await run(settings(server), SECONDS if reply.hang else 20.0)
    assert time.monotonic() - began < 15  # `hang` would take as long as the test may
    assert answer.outcome == "answered"
    told = notes(answer, "degraded")
    assert any("test-model" in t and said in t for t in told), told
    assert all(KEY not in t for t in told)
    assert {s: answer.providers[s] for s in EMBEDDED} == EMBEDDED
    assert exit_status(answer) == DEGRADED
    assert all(c.quoted for p in answer.perspectives for c in p.claims)
    if requests is not None:
        assert len(server.requests) == requests
        assert len(told) == 1


@pytest.mark.usefixtures("library")
async def test_nothing_is_asked_beyond_the_budget(server: ModelServer) -> None:
    answering(server)
    answer = await run(settings(server), seconds=20, max_calls=1, max_rounds=0)
    assert len(server.requests) == answer.usage.calls == 1
    assert answer.outcome == "answered"
    assert answer.providers["write"] == "embedded"
    assert any("budget of calls is used up" in t for t in notes(answer, "degraded"))


# --- the command line -------------------------------------------------------------------------------------------------

Cli = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def cli(library: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`python -m agent` in this process, with the server in the environment."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("STEELMAN_MODEL", "test-model")
    monkeypatch.setenv("STEELMAN_JUDGE", "embedded")
    monkeypatch.chdir(library)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return main(list(arguments)), *capsys.readouterr()

    return run


def test_a_named_provider_that_fails_is_status_one(
    cli: Cli, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on("", Reply("oh dear", status=402), times=1)
    answering(server, again=True)
    monkeypatch.setenv("STEELMAN_PROVIDER", "chat")
    status, out, err = cli("ask", QUESTION, "--deadline", "20")
    assert (status, out) == (FAILED, "")
    assert err.startswith("steelman: test-model at http://127.0.0.1")
    assert err.count("\n") == 1
    assert KEY not in err
    run_id = cli("runs")[1].split()[0]
    assert err.endswith(f"python -m agent ask --resume {run_id}\n")
    status, out, err = cli("ask", "--resume", run_id)
    assert (status, err) == (OK, "")
    assert out.startswith(QUESTION)


# --- nothing leaves this machine --------------------------------------------------------------------------------------

FAR = "https://models.example.org/v1"  # a test that asks there fails


@pytest.mark.usefixtures("library")
async def test_a_question_for_the_built_in_models_asks_no_other() -> None:
    answer = await run(settings(None, openai_base_url=FAR, model="far-model", openai_api_key=KEY), built_in=True)
    assert (answer.outcome, answer.usage.calls) == ("answered", 0)
    assert {s: answer.providers[s] for s in EMBEDDED} == EMBEDDED
    assert notes(answer, "skipped")[0] == "far-model was not asked, since the question was for the built-in models."


@pytest.mark.usefixtures("library")
async def test_without_the_web_a_distant_model_is_never_asked() -> None:
    answer = await run(settings(None, openai_base_url=FAR, model="far-model", openai_api_key=KEY), web=False)
    assert answer.outcome == "answered"
    assert {s: answer.providers[s] for s in EMBEDDED} == EMBEDDED
    assert notes(answer, "skipped") == [
        "far-model was not asked, since nothing was to leave this machine.",
        "The web was not searched: nothing was to leave this machine.",
    ]
    assert notes(answer, "degraded") == []
    assert answer.usage.calls == 0
    assert exit_status(answer) == OK


def test_no_web_refuses_a_distant_model_by_name(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", FAR.replace("//", "//ann:hunter2@"))
    monkeypatch.setenv("STEELMAN_PROVIDER", "chat")
    status, out, err = cli("ask", QUESTION, "--no-web")
    assert (status, out, err.count("\n")) == (BAD_INPUT, "", 1)
    assert "STEELMAN_PROVIDER=chat" in err
    assert "hunter2" not in err


# --- cancelling -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("library")
async def test_cancelling_in_the_middle_of_a_call_closes_the_connection(server: ModelServer) -> None:
    server.on("", Reply("x" * 60_000, drip=0.01))
    async with Runs(settings(server)) as runs:
        run_id = await runs.start(QUESTION, RunOptions.of(deadline_seconds=60))
        while not server.at_once:
            await asyncio.sleep(0.01)
        await runs.cancel(run_id)
        began = time.monotonic()
        while server.at_once and time.monotonic() - began < 20:
            await asyncio.sleep(0.02)
        assert server.at_once == 0


# --- the judge --------------------------------------------------------------------------------------------------------


class FailingJudge:
    """A judge server that says 0.7 until `when` says that a request is one too many, and fails from then on."""

    def __init__(self, server: ModelServer, when: Callable[[int, str], bool], reply: Reply) -> None:
        self.asked, self.failed, self._when, self._reply = 0, False, when, reply
        server.on(lambda body: body.get("logprobs"), self._answer)

    def _answer(self, body: Body) -> Reply:
        self.asked += 1
        self.failed = self.failed or self._when(self.asked, str(body["messages"][-1]["content"]))
        return self._reply if self.failed else Reply(top_logprobs={"Yes": -0.357, "No": -1.204})


def _of_a_claim(_: int, text: str) -> bool:
    """Whether a sentence is judged instead of a whole passage."""
    return text.split("</passage>")[0].count(".") == 1


@pytest.mark.parametrize(
    ("when", "how", "chat"),
    [(lambda n, _: n > 20, Reply("oh dear", status=500), False), (_of_a_claim, Reply(raw=b"<html>"), True)],
    ids=["after twenty pairs", "with a sentence"],
)
@pytest.mark.usefixtures("library")
async def test_everything_is_scored_again_when_the_judge_fails(
    server: ModelServer, when: Callable[[int, str], bool], how: Reply, chat: bool
) -> None:
    judge = FailingJudge(server, when, how)
    answering(server)
    server.on(STAGES["write"], case_of)  # a run that judges again writes again
    given = settings(server if chat else None, judge_url=server.url, judge_model="judge-model")
    answer = await run(given, seconds=20, max_rounds=0)
    assert judge.failed
    assert answer.outcome == "answered"
    assert answer.providers["judge"] == "quick"
    assert [t for t in notes(answer, "degraded") if "the one that is built in read everything again." in t]
    assert len(notes(answer, "degraded")) == 1
    # No number is left in which the other judge's 0.7 has a part.
    if chat:
        assert {c.strongest for c in answer.coverage if c.status == "supported"} == {0.9}
        assert {c.support for c in answer.citations} <= {0.9, 0.55, 0.95}  # the last is a model's yes to a claim
    else:
        alone = await run(settings(None), seconds=20, max_rounds=0)
        told = [[(c.status, c.passages, c.strongest) for c in a.coverage] for a in (answer, alone)]
        assert told[0] == told[1]
        assert [c.support for c in answer.citations] == [c.support for c in alone.citations] != []
    assert exit_status(answer) == DEGRADED
