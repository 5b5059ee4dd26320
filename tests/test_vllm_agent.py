"""The whole agent over real vLLM servers with tiny models of random weights: garbage of the right shape.

What such a model says has to be kept from the reader by the same checks that keep a good model's slips from him.
"""

import re
from pathlib import Path

import httpx
import pytest
from vllm_server import VllmServer, local_models, make_tiny

from agent.answer.model import Answer, Citation
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.samples import index_samples
from agent.settings import Settings, load_settings
from tools.language.grounding import verbatim

pytest_plugins = ["vllm_server"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
QUESTION = "Should voting be compulsory?"


async def answer_of(settings: Settings) -> tuple[Answer, dict[int, str]]:
    """The answer to the question over the samples, and the text of every passage that it cites."""
    async with Runs(settings) as runs:
        search = runs.providers.search
        index_samples(runs.store, search)
        run_id = await runs.start(QUESTION, RunOptions.of("quick", deadline_seconds=400.0))
        answer = await runs.answer(run_id)
        passages = runs.store.passages(i for c in answer.citations for i, _ in quotes(c))
        return answer, {i: p.text for i, p in passages.items()}


def quotes(citation: Citation) -> list[tuple[int, str]]:
    """The passages behind a citation with what is quoted of each."""
    return [(citation.passage_id, citation.quote), *((q.passage_id, q.quote) for q in citation.more)]


def settings_over(shared_cache: Path, data: Path, **changes: object) -> Settings:
    data.mkdir(exist_ok=True)
    (data / "cache").symlink_to(shared_cache, target_is_directory=True)
    return load_settings(data_dir=data, **changes)


async def test_a_chat_model_and_a_scorer_answer(
    vllm_chat: VllmServer, vllm_score: VllmServer, shared_cache: Path, tmp_path: Path
) -> None:
    settings = settings_over(
        shared_cache,
        tmp_path / "data",
        openai_base_url=vllm_chat.url,
        model=vllm_chat.model,
        temperature=0.0,
        judge="score",
        judge_url=vllm_score.url.removesuffix("/v1"),
        judge_model=vllm_score.model,
        judge_threshold=0.01,  # random weights find everything alike; let much through to the other checks
    )
    answer, texts = await answer_of(settings)
    assert answer.usage.calls > 3
    assert answer.usage.output_tokens > 100
    assert answer.usage.passages_judged > 10
    assert answer.usage.cost_usd == 0.0
    assert answer.providers["judge"].startswith("score-judge-")
    assert requests_by_length(vllm_chat.url.removesuffix("/v1"))["+Inf"] >= 3  # plan and cases
    for side in answer.perspectives:
        for claim in side.claims:
            cited = [q for c in answer.citations if c.number in claim.citations for q in quotes(c)]
            assert cited
            assert all(verbatim(quote, texts[i]) for i, quote in cited)
            assert not claim.quoted or any(verbatim(claim.text, texts[i]) for i, _ in cited)
    said_by_model = [c.text for s in answer.perspectives for c in s.claims if not c.quoted]
    assert said_by_model == []  # nothing that random weights write is said by a passage …
    assert {n.kind for n in answer.notes} & {"degraded", "dropped"}  # … and the answer says that they wrote or failed


async def test_one_local_model_writes_and_judges(
    shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tiny("chat", tmp_path / "tiny")
    with local_models("chat", tmp_path / "tiny", tmp_path) as printed:
        for name, value in printed.items():
            monkeypatch.setenv(name, value)
        settings = settings_over(shared_cache, tmp_path / "data", judge_threshold=0.01)
        assert settings.provider == settings.judge == "auto"
        answer, _ = await answer_of(settings)
        asked = requests_by_length(printed["OPENAI_BASE_URL"].removesuffix("/v1"))
    assert asked["5"] >= 2 * answer.usage.passages_judged > 20  # a verdict for each side has four tokens at most …
    assert asked["+Inf"] - asked["5"] >= 3  # … and what a stage writes has no such limit
    assert answer.outcome == "answered"
    assert answer.providers["judge"].startswith("chat-judge-tiny-")
    assert "tiny" in {who for stage, who in answer.providers.items() if stage != "judge"}
    told = [n for n in answer.notes if n.kind in ("failed", "degraded", "dropped")]
    assert [n for n in told if n.kind == "dropped"]  # what random weights write is said by no passage
    assert not [n for n in told if "judge" in n.text]


def requests_by_length(url: str) -> dict[str, float]:
    """How many requests vLLM has answered that asked for at most so many tokens, as its metrics say."""
    text = httpx.get(f"{url}/metrics", trust_env=False).text
    rows = re.findall(r'^vllm:request_params_max_tokens_bucket\{.*le="([^"]+)".*\} (\S+)$', text, re.MULTILINE)
    return {bound.removesuffix(".0"): float(count) for bound, count in rows}
