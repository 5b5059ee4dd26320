"""The judges behind an address, against a scripted server: numbers by hand, bounds in time and number, misbehaviour."""

import asyncio
import math
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_server import ModelServer, Reply

from tools.budget import Budget, StageLog, budget_scope, deadline
from tools.errors import ProviderDownError, ProviderReplyError, SettingsError
from tools.models.judges.judge import JudgedSide, Pair
from tools.models.judges.remote import ChatJudge, ScoreJudge, from_logprobs, from_text, read_judge_prompt
from tools.passages import Passage

YES, NO = Reply(top_logprobs={"Yes": math.log(0.9), "No": math.log(0.1)}), Reply(top_logprobs={"Yes": -3.0, "No": -0.1})


def chat(server: ModelServer, **options: Any) -> ChatJudge:
    return ChatJudge(**{"url": server.url, "model": "test-model", "seconds": 5.0, **options})


def scores(server: ModelServer, **options: Any) -> ScoreJudge:
    return ScoreJudge(**{"url": server.url, "model": "test-model", "seconds": 5.0, **options})


def pairs(count: int) -> list[Pair]:
    """Pairs whose passages are numbered from 100."""
    return [Pair("Bridges last.", f"Bridge {100 + i} stands.") for i in range(count)]


def number(text: str) -> int:
    found = re.search(r"Bridge (\d+) stands", text)
    assert found is not None, text
    return int(found[1]) - 100


@pytest.mark.parametrize("kind", [chat, scores])
async def test_each_passage_is_read_for_all_sides_and_what_supports_the_contrary_opposes(kind: Any) -> None:
    def said(text: str) -> float:
        passage, statement = (re.findall(f"<{tag}>(.*?)</", text)[0] for tag in ("passage", "statement"))
        return agreeing(statement, passage)

    def agreeing(statement: str, passage: str) -> float:
        return 0.75 if statement in passage else 0.25

    sides = JudgedSide("Keep it.", "Sell it."), JudgedSide("Sell it.", "Keep it."), JudgedSide("Rent it.")
    passages = [Passage(n, f"d{n}", "c", text) for n, text in enumerate(("Keep it.", "Sell it. Rent it."))]
    with ModelServer(judge=said, score=agreeing) as server:
        found = await kind(server).read("What of it?", sides, passages)
    assert found.support == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]))
    assert found.opposition == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25], [0, 0]]))
    assert np.isnan(found.on_question).all()


# --- what a chat model's answer means ---------------------------------------------------------------------------------


async def test_the_probability_is_that_of_yes_among_yes_and_no(server: ModelServer) -> None:
    spelled = {"Yes": 0.3, " yes": 0.1, "YES": 0.1, "▁Yes": 0.05, "**Yes": 0.05, " No": 0.2, "no": 0.1, "Not": 0.1}
    server.on("", Reply(top_logprobs={token: math.log(p) for token, p in spelled.items()}))
    assert await chat(server).support(pairs(1)) == pytest.approx([0.6 / 0.9])  # in all their spellings
    body = server.requests[0].body
    assert (body["temperature"], body["logprobs"], body["top_logprobs"]) == (0, True, 20)
    assert body["model"] == "test-model"


def test_bad_alternatives_are_left_out_one_by_one() -> None:
    good = [{"token": "Yes", "logprob": math.log(0.6)}, {"token": "No", "logprob": math.log(0.2)}]
    bad: list[Any] = [{"token": None, "logprob": -1.0}, {"token": "no", "logprob": None}, {"logprob": -1.0}, None]
    found = from_logprobs({"content": [{**good[0], "top_logprobs": [*bad, *good]}]})
    assert found == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("Yes", 1), ("**No**, it", 0), ("<think>No? Yes?</think>\nYes", 1), ("so: </think> No", 0)]
    + [(text, math.nan) for text in ("", "Yesterday", "It does: yes", "<think>Yes")],
)
def test_a_verdict_in_words(text: str, verdict: float) -> None:
    assert from_text(text) == pytest.approx(verdict, nan_ok=True)


# --- how a server wants to be asked -----------------------------------------------------------------------------------


async def test_a_server_may_offer_fewer_log_probabilities(server: ModelServer) -> None:
    refused = Reply("top_logprobs is above 8", status=400)
    server.on("", lambda body: YES if 0 < body.get("top_logprobs", 0) <= 8 else refused)
    judge = chat(server)
    assert await judge.support(pairs(3)) == pytest.approx([0.9] * 3)
    asked = len(server.requests)
    assert await judge.support(pairs(1)) == pytest.approx([0.9])
    assert len(server.requests) == asked + 1, "the judge remembers what the server takes"


@pytest.mark.parametrize("refuses", [True, False], ids=["refused", "left out"])
async def test_without_log_probabilities_the_verdict_counts_and_a_note_says_so(refuses: bool) -> None:
    with ModelServer(no_logprobs=refuses) as server, budget_scope(Budget(), log := StageLog()):
        server.on("101", "No.").on("", "Yes")
        judge = chat(server)
        name = judge.name
        assert (await judge.support(pairs(3))).tolist() == [1, 0, 1]
    assert [kind for kind, _ in log.notes] == ["scope"]
    assert "gives no probabilities" in log.notes[0][1]
    assert judge.name == name  # a run goes by it from beginning to end


# --- the prompt -------------------------------------------------------------------------------------------------------


async def test_a_prompt_from_a_file_is_asked_word_for_word(server: ModelServer, tmp_path: Path) -> None:
    file = tmp_path / "theirs.txt"
    file.write_text("Text: {{passage}}\nClaim: {{ statement }}\nSupported?")
    server.on("", YES)
    judge = chat(server, prompt=read_judge_prompt(file))
    await judge.support([Pair("1 < 2.", "A & B say {{statement}}.")])
    assert server.requests[0].body["messages"] == [
        {"role": "user", "content": "Text: A & B say {{statement}}.\nClaim: 1 < 2.\nSupported?"}
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{statement}}?", r"no place for 'passage'. A judge's prompt has the variables \{\{passage\}\}"),
        ("{{passage}} {{statement}} {{question}}", "needs a value for 'question'"),
        ("  ", "has no user part"),
    ],
)
def test_a_prompt_that_cannot_ask_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "theirs.txt"
    file.write_text(text)
    with pytest.raises(SettingsError, match=said):
        read_judge_prompt(file)


# --- scores -----------------------------------------------------------------------------------------------------------


def scored_by_number(body: dict[str, Any]) -> Reply:
    """A hundredth of each passage's number, the last one first."""
    data = [{"index": i, "score": number(text) / 100} for i, text in enumerate(body["text_2"])]
    return Reply({"data": data[::-1], "usage": {"prompt_tokens": 10}})


async def test_scores_come_in_batches_and_by_their_index(server: ModelServer) -> None:
    server.on("", scored_by_number, path="/score")
    got = await scores(server, batch=4).support(pairs(10))
    assert got == pytest.approx([i / 100 for i in range(10)])
    assert got.dtype == np.float32
    assert sorted(len(r.body["text_2"]) for r in server.requests) == [2, 4, 4]
    first = server.requests[0]
    assert first.path == "/score"
    assert first.body["text_1"] == ["Bridges last."] * 4
    assert first.body["model"] == "test-model"


@pytest.mark.parametrize("score", [-3.2, 1.5])
async def test_scores_that_are_no_probabilities_are_refused_at_once(score: float) -> None:
    said = f"scores like {score:.2f}, .* one label and a sigmoid"
    with ModelServer(score=lambda _, text: score if "102" in text else 0.5) as server:
        judge = scores(server, batch=1)
        with pytest.raises(ProviderReplyError, match=said):
            await judge.support(pairs(9))


@pytest.mark.parametrize(
    "data",
    [
        [{"index": 0, "score": 0.5}],
        [{"index": i, "score": 0.5} for i in range(3)],
        [{"index": 0, "score": 0.5}, {"index": 1, "score": math.nan}],
        None,
    ],
)
async def test_a_batch_without_a_score_for_each_pair_is_left_out(server: ModelServer, data: Any) -> None:
    server.on("102", {"data": data}, path="/score").on("", scored_by_number, path="/score")
    got = await scores(server, batch=2).support(pairs(6))
    assert got == pytest.approx([0, 0.01, math.nan, math.nan, 0.04, 0.05], nan_ok=True)
    with pytest.raises(ProviderReplyError, match=r"gave scores for \d pairs of 2"):
        await scores(server, batch=2).support(pairs(4)[2:])


# --- how many at a time, and how long ---------------------------------------------------------------------------------


async def test_what_is_late_is_nan_and_the_rest_is_kept(server: ModelServer) -> None:
    server.on("103", Reply("Yes", delay=30)).on("", YES)
    began = time.monotonic()
    with deadline(time.time() + 1.5):
        got = await chat(server).support(pairs(6))
    assert time.monotonic() - began < 20
    assert got == pytest.approx([0.9, 0.9, 0.9, math.nan, 0.9, 0.9], nan_ok=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# --- what it costs ----------------------------------------------------------------------------------------------------


async def test_nothing_leaves_the_machine_when_it_may_not(server: ModelServer) -> None:
    server.on("", YES)
    with budget_scope(Budget(offline=True)):
        assert len(await chat(server).support(pairs(1))) == 1
        with pytest.raises(ProviderDownError, match=r"m at judge.example is on another machine"):
            await ChatJudge(url="https://judge.example/v1", model="m").support(pairs(1))


# --- servers that misbehave -------------------------------------------------------------------------------------------


MISBEHAVIOUR = [
    Reply(raw=b"<html>so sorry</html>"),
    Reply(raw=b'{"choices": [{"message": {"content": ["Yes"]}}]}'),
    Reply(raw=b"[" * 100_000),
    Reply(cut=True),
]


@pytest.mark.parametrize("kind", [chat, scores])
@pytest.mark.parametrize("reply", MISBEHAVIOUR, ids=lambda r: (r.raw or b"cut")[:30].decode())
async def test_an_answer_that_cannot_be_used_is_left_out(server: ModelServer, kind: Any, reply: Reply) -> None:
    bad = Reply({"data": []}, cut=True) if reply.cut and kind is scores else reply
    path = "/score" if kind is scores else "/chat/completions"
    server.on("101", bad, path=path).on("", scored_by_number if kind is scores else YES, path=path)
    judge = kind(server, batch=1) if kind is scores else kind(server)
    assert np.isnan(await judge.support(pairs(4))).tolist() == [False, True, False, False]
    with pytest.raises(ProviderReplyError, match=r"1 of 1 answers of test-model at 127.0.0.1:\d+ cannot be used"):
        await judge.support(pairs(2)[1:])


async def test_a_server_that_only_talks_nonsense_is_not_asked_everything(server: ModelServer) -> None:
    server.on("", Reply(raw=b"<html>"))
    with pytest.raises(ProviderReplyError, match="no JSON"):
        await chat(server).support(pairs(500))
    assert len(server.requests) == 3
