"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from model_replies import Reply, embeddings, word_vector
from model_server import ModelServer
from toys import ToyEncoder

from agent.providers.judging import build_judge
from agent.providers.retrieval import build_encoder
from agent.settings import load_settings
from tools.budget import Budget, StageLog, using
from tools.errors import ProviderError
from tools.inference.judges.batch import BatchJudge
from tools.inference.judges.judge import ClaimCheck, Pair


@dataclass(frozen=True)
class Bench:
    """What a client may use: a folder of its own, and the means to set what is set."""

    folder: Path
    patch: pytest.MonkeyPatch


Client = Callable[[Any, Bench], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """fault: what a server, file or person does. right: texts that all stand in what comes of it; wrong: none does."""

    fault: str
    client: Client
    given: Any
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


# --- how much a server takes at once ----------------------------------------------------------------------------------

Refusal = Callable[[list[str]], Reply | None]


def refused(status: int, body: object) -> Reply:
    return Reply(status=status, raw=body.encode() if isinstance(body, str) else json.dumps(body).encode())


def at_most(texts: int, *refusal: Any) -> Refusal:
    return lambda given: refused(*refusal) if len(given) > texts else None


def characters(most: int, *refusal: Any) -> Refusal:
    return lambda given: refused(*refusal) if sum(map(len, given)) > most else None


def one_of(most: int, *refusal: Any) -> Refusal:
    return lambda given: refused(*refusal) if max(map(len, given)) > most else None


async def embedding(given: tuple[Refusal, dict[str, Any]], bench: Bench) -> str:
    """A hundred texts of 500 characters and a long one are encoded, and then again."""
    refuses, settings = given
    texts = [f"{n:03}" + "word " * 99 for n in range(100)] + ["long " * 300]
    with ModelServer(strict=False) as server, using(Budget(), log := StageLog()):
        reply = lambda body: refuses(body["input"]) or Reply(embeddings(body, word_vector))  # noqa: E731
        server.on("", reply, path="/embeddings")
        set_so = load_settings(embeddings_url=server.url, embeddings_model="m", **settings)
        encoder = build_encoder(set_so, ToyEncoder())
        asked: list[int] = []
        try:
            for _ in range(2):
                vectors = await asyncio.to_thread(encoder.encode, texts)
                asked.append(len(server.requests) - sum(asked))
        except ProviderError as exc:
            return f"after {len(server.requests)} requests: {exc}"
    return f"{len(vectors)} vectors in {asked[0]} requests, then in {asked[1]} {log.notes}"


_TEI = {"error": "batch size 64 > maximum allowed batch size 32", "error_type": "Validation"}
_QWEN = "<400> InternalError: Value error, batch size is invalid, it should not be larger than 10.: input.contents"
_VOYAGE = {"detail": "The max allowed tokens per submitted batch is 120000. Your batch has 121138 tokens."}
_TEI_LONG = {"message": "Input validation error: `inputs` must have less than 512 tokens. Given: 534", "code": 413}
_LLAMA = {"error": {"code": 500, "message": "input is too large to process. increase the physical batch size"}}
_NO_MODEL = {"error": {"message": "Invalid model name passed in model=m", "param": "model", "code": "400"}}

EMBEDDING = (
    Row("TEI takes 32 texts", embedding, (at_most(32, 422, _TEI), {}), ("101 vectors in 5", "then in 4 []")),
    Row("a vendor takes 10", embedding, (at_most(10, 400, {"message": _QWEN}), {}), ("101 vectors", "then in 13 []")),
    Row("so many tokens", embedding, (characters(9000, 400, _VOYAGE), {}), ("101 vectors", "then in 7 []")),
    Row("so many bytes", embedding, (characters(9000, 413, "<h1>413</h1>"), {}), ("101 vectors", "then in 7 []")),
    Row("TEI, one text is long", embedding, (one_of(800, 413, _TEI_LONG), {}), ("101 vectors", "as too long", "half")),
    Row("llama.cpp, the same", embedding, (one_of(800, 500, _LLAMA), {}), ("101 vectors", "as too long", "half")),
    Row("too long by far", embedding, (one_of(5, 413, _TEI_LONG), {}), ("after 8 requests", "less than 512 tokens")),
    Row("no such model", embedding, (at_most(0, 400, _NO_MODEL), {}), ("after 7 requests", "Invalid model name")),
    Row("a wrong key", embedding, (at_most(0, 401, "no"), {}), ("after 1 requests", "refused the key")),
    Row("10, as set", embedding, (at_most(10, 400, _QWEN), {"embeddings_batch": 10}), ("in 11 requests, then in 11",)),
)


async def judging(given: Callable[[list[str], str], Reply | None], bench: Bench) -> str:
    """A chat model judges fifty passages of which all support the side, and then checks twenty claims."""
    texts = [f"Passage {n:02}: " + "ferries carry everybody. " * (20 + n) for n in range(50)]
    calls: list[int] = []

    def reply(body: dict[str, Any]) -> Reply:
        said = str(body["messages"][-1]["content"])
        kind = "claim" if "<claim" in said else "passage"
        labels = re.findall(rf'<{kind} label="(\w+)"', said)
        calls.append(len(labels))
        sides = re.findall(r'<side label="(\w+)">Free', said)
        verdicts = [{"passage": p, "side": sides[0], "grade": "clear"} for p in labels if sides]
        checked = [{"claim": c, "said": "yes", "serves": "yes"} for c in labels]
        content = {"claims": checked} if kind == "claim" else {"verdicts": verdicts}
        return given(labels, said) or Reply(content, usage=(len(said) // 4, 9))

    with ModelServer(strict=False) as server, using(Budget(), log := StageLog()):
        server.on("", reply)
        judge = build_judge(load_settings(openai_base_url=server.url, model="m", judge="batch"))
        assert isinstance(judge, BatchJudge)
        try:
            found = await judge.support([Pair("Free.", text, "Not.", "Free?") for text in texts])
            calls.clear()
            checked = await judge.check("Free.", [ClaimCheck(text, (text,)) for text in texts[:20]])
        except ProviderError as exc:
            return f"{type(exc).__name__} after {calls}: {exc}"
        finally:
            await judge.aclose()
    return f"supports {(found > 0.9).sum()}, said {(checked > 0.9).all(axis=1).sum()}, by {max(calls)} {log.notes}"


def too_many(most: int, status: int, **error: object) -> Callable[[list[str], str], Reply | None]:
    return lambda labels, _: refused(status, {"error": error}) if len(labels) > most else None


def cut_at(tokens: int) -> Callable[[list[str], str], Reply | None]:
    """What Ollama's context does: a prompt that is longer loses what is beyond, its sides first."""
    lost = Reply({"verdicts": [], "claims": []}, usage=(tokens, 9))
    return lambda _, said: lost if len(said) / 4 > tokens else None


_ALL = ("supports 50, said 20",)
_CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 6719 tokens."
JUDGING = (
    Row("OpenAI", judging, too_many(6, 400, code="context_length_exceeded", message="Too much."), (*_ALL, "by 5 []")),
    Row("vLLM", judging, too_many(6, 400, code=400, param="input_tokens", message=_CONTEXT), (*_ALL, "by 5 []")),
    Row("llama.cpp", judging, too_many(1, 400, type="exceed_context_size_error", message="No."), (*_ALL, "by 1 []")),
    Row("a gateway", judging, too_many(10, 413, message="Payload Too Large"), (*_ALL, "by 6 []")),
    Row(
        "nothing fits", judging, too_many(0, 400, message=_CONTEXT), ("PromptTooLongError", "4096 tokens", "reads more")
    ),
    Row("Ollama cuts to half of 4096", judging, cut_at(2050), (*_ALL, "read only", "OLLAMA_CONTEXT_LENGTH")),
    Row("Ollama cuts to 4096", judging, cut_at(4096), (*_ALL, "read only", "num_ctx")),
)

# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*EMBEDDING, *JUDGING)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came
