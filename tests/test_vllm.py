"""vLLM itself, on the CPU over tiny models: what its server gives, and what the judges make of it."""

import json
import math
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import pytest
from vllm_server import UP_WITHIN, VllmServer, alive, direct_scores, local_models

from prompts import load_prompt
from tools.inference.judges.chat import ChatJudge, messages
from tools.inference.judges.judge import Pair
from tools.inference.judges.score import ScoreJudge
from tools.inference.judges.windows import windows

pytest_plugins = ["vllm_server"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(UP_WITHIN + 120)]

PAIRS = [
    Pair(
        "Schools should ban phones.", "Where phones stay in the bag, the pupils of our school talk to each other again."
    ),
    Pair(
        "Schools should ban phones.",
        "A phone is how a child who feels ill reaches home, and no ban has shown better marks.",
    ),
    Pair(
        "Night buses pay for themselves.",
        "The line was closed after two winters, since nobody had counted the drivers.",
    ),
    Pair("Night buses pay for themselves.", "Bread is older than the plough."),
    Pair("Zoos teach.", "Zoos teach."),
    Pair("Zoos teach.", "Ninety visitors were asked at the gate what they had learned. " * 80),
]
SCHEMA = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "maxLength": 200},
                    "passages": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
                },
                "required": ["text", "passages"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


def post(url: str, body: dict[str, Any]) -> Any:
    response = httpx.post(url, json=body, timeout=60, trust_env=False)
    assert response.status_code == 200, response.text
    return response.json()


def chat(server: VllmServer, text: str, **options: Any) -> Any:
    body = {"model": server.model, "messages": [{"role": "user", "content": text}], "temperature": 0, **options}
    return post(f"{server.url}/chat/completions", body)["choices"][0]


@pytest.mark.parametrize("temperature", [0, 0.7])
@pytest.mark.parametrize("length", [1, 400])
def test_a_reply_follows_the_schema(vllm_chat: VllmServer, temperature: float, length: int) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "case", "strict": True, "schema": SCHEMA}}
    choice = chat(
        vllm_chat, "Why ban phones? " * length, response_format=wanted, temperature=temperature, seed=1, max_tokens=1500
    )
    assert choice["finish_reason"] == "stop"
    claims = json.loads(choice["message"]["content"])["claims"]
    assert claims
    for claim in claims:
        assert claim.keys() == {"text", "passages"}
        assert isinstance(claim["text"], str)
        assert all(isinstance(number, int) for number in claim["passages"])


def test_a_verdict_comes_with_log_probabilities(vllm_chat: VllmServer) -> None:
    choice = chat(vllm_chat, "Does it? Answer Yes or No.", max_tokens=1, logprobs=True, top_logprobs=20)
    first = choice["logprobs"]["content"][0]
    found = {entry["token"]: math.exp(entry["logprob"]) for entry in first["top_logprobs"]}
    assert len(first["top_logprobs"]) == 20
    assert found["Yes"] + found["No"] > 0.5
    assert sum(found.values()) <= 1.001


def test_a_choice_leaves_probability_to_the_beginnings_of_its_words(vllm_chat: VllmServer) -> None:
    """Whoever restricts the answer to Yes and No has to know that a token 'Y' stays possible."""
    choice = chat(
        vllm_chat,
        "Does it?",
        max_tokens=1,
        logprobs=True,
        top_logprobs=20,
        structured_outputs={"choice": ["Yes", "No"]},
    )
    found = {t["token"]: math.exp(t["logprob"]) for t in choice["logprobs"]["content"][0]["top_logprobs"]}
    assert {token for token, probability in found.items() if probability > 0} == {"Yes", "No", "Y", "N"}
    assert sum(found.values()) == pytest.approx(1, abs=0.01)


async def test_the_chat_judge_judges(vllm_chat: VllmServer) -> None:
    judge = ChatJudge(url=vllm_chat.url, model=vllm_chat.model)
    first = await judge.support(PAIRS, 60)
    again = await judge.support(PAIRS, 60)
    assert first.shape == (len(PAIRS),)
    assert first.dtype == np.float32
    assert ((first >= 0) & (first <= 1)).all()
    assert len(set(first.round(4).tolist())) > len(PAIRS) // 2
    assert np.abs(first - again).max() < 1e-3


def test_the_chat_judge_gives_what_the_server_says(vllm_chat: VllmServer) -> None:
    judge = ChatJudge(url=vllm_chat.url, model=vllm_chat.model)
    expected = []
    for pair in PAIRS[:3]:
        body = {
            "model": vllm_chat.model,
            "messages": messages(load_prompt("judge"), pair),
            "max_tokens": 1,
            "temperature": 0,
        }
        reply = post(f"{vllm_chat.url}/chat/completions", {**body, "logprobs": True, "top_logprobs": 20})
        found = {
            t["token"]: math.exp(t["logprob"]) for t in reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        }
        expected.append(found["Yes"] / (found["Yes"] + found["No"]))
    assert judge.score(PAIRS[:3]) == pytest.approx(expected, abs=0.01)


def test_scores_come_in_order(vllm_score: VllmServer) -> None:
    pairs = [(pair.statement, pair.text) for pair in PAIRS[:5]]
    body = {"model": vllm_score.model, "text_1": [p[0] for p in pairs], "text_2": [p[1] for p in pairs]}
    rows = post(f"{vllm_score.url.removesuffix('/v1')}/score", body)["data"]
    assert [row["index"] for row in rows] == list(range(5))
    scores = [row["score"] for row in rows]
    assert all(0 <= score <= 1 for score in scores)
    assert len({round(score, 3) for score in scores}) > 2
    assert scores == pytest.approx(direct_scores(vllm_score.folder, pairs), abs=0.02)


async def test_the_score_judge_gives_what_the_cross_encoder_says(vllm_score: VllmServer) -> None:
    judge = ScoreJudge(url=vllm_score.url, model=vllm_score.model)
    first = await judge.support(PAIRS, 60)
    expected = [
        max(direct_scores(vllm_score.folder, [(pair.statement, part) for part in windows(pair.text)])) for pair in PAIRS
    ]
    assert first.shape == (len(PAIRS),)
    assert first == pytest.approx(expected, abs=0.02)
    assert await judge.support(PAIRS, 60) == pytest.approx(first, abs=1e-3)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder whose name is short: vLLM's sockets lie below it, and a socket's path has at most 107 characters."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def test_the_command_serves_and_leaves_nothing_running(vllm_score: VllmServer, home: Path) -> None:
    """It prints the settings once the server answers, and an interrupt ends it with all its children."""
    with local_models("score", vllm_score.folder, home) as (settings, launcher):
        judge = ScoreJudge(url=settings["STEELMAN_JUDGE_URL"], model=settings["STEELMAN_JUDGE_MODEL"])
        assert settings["STEELMAN_JUDGE"] == "score"
        assert "OPENAI_BASE_URL" not in settings
        assert judge.score(PAIRS[:2]).shape == (2,)
        children = descendants(launcher.pid)
        assert len(children) > 1
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait(60) == 0
    time.sleep(1)
    assert [pid for pid in children if alive(pid)] == []
    assert list(home.glob("steelman-vllm-*")) == []


def descendants(pid: int) -> list[int]:
    """Children, theirs, and so on."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may have ended meanwhile
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, its in parents.items() if its == parent]
    return found[1:]
