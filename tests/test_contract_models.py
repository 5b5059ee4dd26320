"""What servers of models do: faults × clients, as in `test_contract.py`."""

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import model_replies
import pytest
from chat_clients import GOOD, Script, chat_model, one_after_the_other, slow_chat
from contract import Row
from model_replies import Body, word_vector
from model_server import ModelServer, Reply
from pydantic import BaseModel
from toys import ToyEncoder
from vendor_refusals import DOORS, features, refusal, says_of, word_for_word
from ways import Bench

from agent.models.from_settings import build_encoder, build_judge
from agent.settings import load_settings
from agent.stages.expand import ContrarySide, PlannedSides
from agent.stages.frame import FramedQuestion
from agent.stages.requery import PlannedQueries
from agent.stages.write import WrittenCase, WrittenCrux
from tools.budget import Budget, StageLog, budget_scope
from tools.errors import ProviderError
from tools.models.chat.form import strict_schema
from tools.models.judges.batch import BatchJudge, CheckedClaims, Verdicts
from tools.models.judges.judge import ClaimCheck, Pair

# --- chat models ------------------------------------------------------------------------------------------------------

DRAFT = {"perspectives": [{"name": "Draft", "statement": "Perhaps.", "stance": "other"}]}
OTHER = json.dumps(DRAFT)
SAID = json.dumps(GOOD)


def refusing(refused: Callable[[Body], object], reply: Reply) -> Script:
    return lambda body: reply if refused(body) else None


def error(status: int, message: str, **more: Any) -> Reply:
    return Reply(raw=json.dumps({"error": {"message": message, **more}}).encode(), status=status)


def asked_as(kind: str) -> Callable[[Body], bool]:
    return lambda body: (body.get("response_format") or {}).get("type") == kind


def has_system(body: Body) -> bool:
    return bool(body["messages"][0]["role"] == "system")


def plain(content: "str | dict[str, Any]", kind: str = "application/json") -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    return Reply(raw=text.encode(), headers={"Content-Type": kind})


def completion(content: str, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    return {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}


BROKEN = Reply(raw=b"data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})
FINE = ("Aye | Aye",)
HARMONY = f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant<|channel|>final<|message|>{SAID}<|return|>"
SCHEMA_500 = error(
    500, "1 validation error: 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\""
)
NO_STREAM = word_for_word("openai", "streaming, unverified organisation")
NO_SYSTEM = word_for_word("openai", "system role")
NO_HEAT = word_for_word("openai", "temperature with a reasoning model")
CHAT_MODELS = (
    # how it is asked
    *(
        Row(
            f"{table} refuses what it does not document",
            chat_model,
            (partial(refusal, table), {"vendor": DOORS[table], "name": name}),
            (*FINE, f"{2 + (table == 'llama-cpp-python') * 3} requests"),
        )
        for table, name in zip(
            DOORS, ("gpt-4.1-mini", "q", "q", "q", "q", "claude-haiku-4-5", "gemini-2.5-flash"), strict=True
        )
    ),
    Row(
        "a schema is refused in words about context",
        chat_model,
        refusing(asked_as("json_schema"), word_for_word("openai", "unsupported keyword in a strict schema")),
        (*FINE, "3 requests, at last as json_object"),
    ),
    Row(
        "a schema is refused by a list of complaints",
        chat_model,
        refusing(
            asked_as("json_schema"),
            Reply(
                raw=b'{"detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value"}]}', status=422
            ),
        ),
        (*FINE, "3 requests, at last as json_object"),
    ),
    Row(
        "a form is refused with 500",
        chat_model,
        refusing(asked_as("json_schema"), SCHEMA_500),
        (*FINE, "at last as json_object"),
    ),
    Row(
        "it cannot stream",
        chat_model,
        refusing(lambda b: b.get("stream"), NO_STREAM),
        (*FINE, "3 requests, at last as json_schema, streamed False"),
    ),
    Row("it knows no system role", chat_model, refusing(has_system, NO_SYSTEM), (*FINE, "3 requests")),
    Row(
        "its template raises at a system turn",
        chat_model,
        refusing(has_system, error(500, "Error rendering prompt with jinja template: System role not supported")),
        FINE,
    ),
    Row(
        "it refuses the temperature",
        chat_model,
        (refusing(lambda b: "temperature" in b, NO_HEAT), {"temperature": 0.2}),
        (*FINE, "3 requests, at last as json_schema"),
    ),
    Row(
        "the account is empty",
        chat_model,
        lambda b: word_for_word("openai", "insufficient quota"),
        ("quota", "2 requests"),
        ("no answer in time",),
    ),
    # what it answers
    *(
        Row(f"thoughts: {marks[0]}", chat_model, Reply(f"{marks[0]}{OTHER}{marks[1]}{SAID}"), (*FINE, "2 requests"))
        for marks in (
            ("[THINK]", "[/THINK]"),
            ("◁think▷", "◁/think▷"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
            ("<seed:think>", "</seed:think>"),
            ("Let me see. ", "</thinking>"),
            ("<reflection>\n", "</reflection>"),
        )
    ),
    Row("thoughts in channels", chat_model, Reply(HARMONY), (*FINE, "2 requests")),
    Row("a draft before the final object", chat_model, Reply(f"A draft:\n{OTHER}\nBetter:\n{SAID}\nDone: {{}}"), FINE),
    Row(
        "the answer stands in reasoning_content",
        chat_model,
        Reply("", message={"reasoning_content": SAID}),
        (*FINE, "2 requests"),
    ),
    Row("a plain completion for a stream", chat_model, plain(completion(SAID)), (*FINE, "2 requests")),
    Row("its answer in reasoning, plain", chat_model, plain(completion("", reasoning=SAID)), (*FINE, "2 requests")),
    Row(
        "a web page for a stream",
        chat_model,
        (plain("<html><title>Sign in</title></html>", "text/html"), {"path": ""}),
        ("answered with a web page ('Sign in')", "/v1"),
    ),
    Row(
        "an error object with 200",
        chat_model,
        plain({"error": {"message": "Insufficient credits", "code": 402}}),
        ("Insufficient credits", "status 402", "2 requests"),
    ),
    Row(
        "an error in the middle of a stream",
        chat_model,
        Reply(
            raw=b'data: {"object": "error", "message": "CUDA ran dry", "code": 40303}\n\n',
            headers={"Content-Type": "text/event-stream"},
        ),
        ("CUDA ran dry",),
    ),
    Row("the address lacks /v1", chat_model, (lambda b: error(404, "Not Found"), {"path": ""}), ("ends in /v1: http",)),
    Row(
        "it answers one at a time",
        one_after_the_other,
        lambda n: Reply(GOOD) if n == 1 else BROKEN,
        ("['Aye', 'Aye', 'Aye']",),
    ),
    Row("it needs longer than usual", slow_chat, (1.0, 0.3, 20.0), ("Aye",)),
    Row(
        "a content filter",
        chat_model,
        Reply("", finish_reason="content_filter"),
        ("content filter stopped it", "2 requests"),
    ),
    Row(
        "a filter of prompts",
        chat_model,
        lambda b: error(400, "The prompt was filtered.", code="content_filter"),
        ("The prompt was filtered", "2 requests, at last as json_schema"),
    ),
    Row(
        "a refusal",
        chat_model,
        Reply("", message={"refusal": "I can't help with that."}),
        ("refused to answer: 'I can't help with that.'", "2 requests"),
    ),
    Row(
        "cut by length",
        chat_model,
        Reply(SAID[:30], finish_reason="length"),
        ("was cut off in the middle, after 30 characters (length)", "2 requests"),
    ),
    Row(
        "cut while it thought",
        chat_model,
        Reply("", finish_reason="length", message={"reasoning_content": "Hm. " * 9}),
        ("while it was still thinking", "2 requests"),
    ),
)


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
    with ModelServer(strict=False) as server, budget_scope(Budget(), log := StageLog()):
        reply = lambda body: refuses(body["input"]) or Reply(model_replies.embeddings(body, word_vector))  # noqa: E731
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

    with ModelServer(strict=False) as server, budget_scope(Budget(), log := StageLog()):
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
    taken = "ten or fewer, " if max(calls) <= 10 else ""
    all_of = f"supports {(found > 0.9).sum()}, said {(checked > 0.9).all(axis=1).sum()}"
    return f"{all_of}, {taken}by {max(calls)} {log.notes}"


def too_many(most: int, status: int, **error: object) -> Callable[[list[str], str], Reply | None]:
    return lambda labels, _: refused(status, {"error": error}) if len(labels) > most else None


def cut_at(tokens: int) -> Callable[[list[str], str], Reply | None]:
    """What Ollama's context does: a prompt that is longer loses what is beyond, its sides first."""
    lost = Reply({"verdicts": [], "claims": []}, usage=(tokens, 9))
    return lambda _, said: lost if len(said) / 4 > 4096 else None


_ALL = ("supports 50, said 20",)
_CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 6719 tokens."
JUDGING = (
    Row("OpenAI", judging, too_many(6, 400, code="context_length_exceeded", message="Too much."), (*_ALL, "by 5 []")),
    Row("vLLM", judging, too_many(6, 400, code=400, param="input_tokens", message=_CONTEXT), (*_ALL, "by 5 []")),
    Row("llama.cpp", judging, too_many(1, 400, type="exceed_context_size_error", message="No."), (*_ALL, "by 1 []")),
    Row("a gateway", judging, too_many(10, 413, message="Payload Too Large"), (*_ALL, "ten or fewer", " []")),
    Row(
        "nothing fits", judging, too_many(0, 400, message=_CONTEXT), ("PromptTooLongError", "4096 tokens", "reads more")
    ),
    Row("Ollama cuts to half of 4096", judging, cut_at(2050), (*_ALL, "read only", "OLLAMA_CONTEXT_LENGTH")),
    Row("Ollama cuts to 4096", judging, cut_at(4096), (*_ALL, "read only", "num_ctx")),
)

ROWS = (*CHAT_MODELS, *EMBEDDING, *JUDGING)

SHAPES = (FramedQuestion, PlannedSides, ContrarySide, PlannedQueries, WrittenCase, WrittenCrux, Verdicts, CheckedClaims)
"""What chat models are asked for."""


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await row.hold(Bench(tmp_path, monkeypatch, str))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.__name__))
def test_every_schema_has_only_what_every_vendor_documents(shape: type[BaseModel]) -> None:
    body = {"model": "m", "response_format": {"type": "json_schema", "json_schema": {"schema": strict_schema(shape)}}}
    used = {name for kind, name in features(body) if kind == "schema"}
    assert {(table, name) for table in DOORS for name in used if says_of(table, name) != "allowed"} == set()
