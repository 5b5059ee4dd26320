"""Rows of the contract table: what servers of chat models, embeddings and judges do, and how they are asked then."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import model_replies
from answering_model import read_request
from contract_table import Bench, Door, Outcome, Row
from model_replies import PATHS, Body, reply_of, word_vector
from model_server import ModelServer, Reply
from toys import ToyEncoder

from agent.providers.from_settings import build_encoder, build_judge
from agent.settings import load_settings
from agent.stages.expand import PlannedQuestion
from tools.budget import Budget, StageLog, budget_scope
from tools.errors import ProviderError
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import COMPATIBLE, VENDORS
from tools.models.judges.batch import BatchJudge
from tools.models.judges.judge import Pair

Script = Callable[[Body], Reply | None]
ASKED = {"form": "open", "question": "Which sides?", "language": "English", "focus": ""}
GOOD = {**ASKED, "perspectives": [{"name": "Aye", "statement": "It is so.", "stance": "supports"}]}
DRAFT = json.dumps({**ASKED, "perspectives": [{"name": "Draft", "statement": "Perhaps.", "stance": "other"}]})
SAID = json.dumps(GOOD)


def chat_of(vendor: str = "", path: str = "/v1", **options: Any) -> Door:
    async def chat(given: Reply | Script, bench: Bench) -> Outcome:
        """Asks for sides once and then twice together. `given` answers, else GOOD."""

        def answers(body: Body) -> Reply:
            reply = given if isinstance(given, Reply) else given(body)
            return reply or (reply_of(vendor, GOOD) if vendor else Reply(GOOD))

        async def ask() -> str:
            try:
                return (await model.ask("Be brief.", "Which sides?", PlannedQuestion)).perspectives[0].name
            except ProviderError as exc:
                return str(exc)

        with ModelServer(strict=False) as server, budget_scope(Budget(deadline_at=time.time() + 20)):
            server.on(lambda _: True, answers, path=PATHS.get(vendor, "/completions"))
            url = server.root if vendor else f"{server.root}{path}"
            async with aclosing(ChatModel("m", vendor=VENDORS.get(vendor, COMPATIBLE), url=url, **options)) as model:
                came = {await ask(), *await asyncio.gather(ask(), ask())}
            last = server.requests[-1].body
        form = (last.get("response_format") or {}).get("type", "text") + ", streamed" * bool(last.get("stream"))
        asked = f"{len(server.requests)} requests, the last for {form}"
        return Outcome("answered" if came == {"Aye"} else "failed", f"{' '.join(sorted(came))} ({asked})")

    return chat


chat, bare = chat_of(), chat_of(path="")


def raw(content: Any, kind: str = "application/json", status: int = 200) -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    return Reply(raw=text.encode(), headers={"Content-Type": kind}, status=status)


def error(status: int, message: str, **more: Any) -> Reply:
    return raw({"error": {"message": message, **more}}, status=status)


def no(what: str, *how: Any, **more: Any) -> Script:
    """Refuses requests for 'schema', for 'system' turns, or with this parameter."""

    def asks(body: Body) -> bool:
        if what == "schema":
            return "'properties'" in str({k: v for k, v in body.items() if k not in ("messages", "contents")})
        return bool(body["messages"][0]["role"] == what or body.get(what))

    return lambda body: (how[0] if how[1:] == () else error(*how, **more)) if asks(body) else None


def whole(body: Body) -> Reply:
    """A completion in one piece, also where a stream was asked for."""
    message = {"role": "assistant", "content": SAID}
    return raw({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


EMPTY = raw("data: [DONE]\n\n", "text/event-stream")
LATE = raw('data: {"object": "error", "message": "Out of memory", "code": 40303}\n\n', "text/event-stream")
THINKS, MUTE = {"reasoning_content": "Hm. " * 9}, chat_of(silence=0.2)
HARMONY = f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{SAID}<|return|>"
# Each line: situation, door, what the server does, how it was asked
ADAPTS: tuple[tuple[str, Door, Reply | Script, str], ...] = (
    ("no schema", chat, no("schema", 400, "context", param="response_format"), "4 requests, the last for json_object"),
    ("no form of reply", chat, no("response_format", 400, "wrong"), "5 requests, the last for text"),
    ("no stream", chat, no("stream", 400, "", param="stream"), "4 requests, the last for json_schema)"),
    ("no system role", chat, no("system", 400, "no role 'system' here"), "4 requests, the last for json_schema"),
    *((f"no schema at {v}", chat_of(v), no("schema", 400, "schema", type="x"), "") for v in VENDORS),
    ("slower than it may be silent", MUTE, Reply(GOOD, delay=0.5), "3 requests"),
    *((f"thinks {o}", chat, Reply(f"{o}{DRAFT}{o[0]}/{o[1:]}{SAID}"), "") for o in ("<think>", "◁think▷")),
    ("thinks in channels", chat, Reply(HARMONY), "3 requests"),
    ("drafts first", chat, Reply(f"A draft:\n{DRAFT}\nBetter:\n{SAID}\nDone: {{}}"), "3 requests"),
    ("answers in its reasoning", chat, Reply("", message={"reasoning_content": SAID}), "3 requests"),
    ("answers in one piece", chat, whole, "4 requests, the last for json_schema)"),
)  # fmt: skip
# Each line: situation, door, what the server does, cause, remedy or how often it was asked
TELLS: tuple[tuple[str, Door, Reply | Script, str, str], ...] = (
    ("a web page", bare, raw("<title>Sign in</title>", "text/html"), "a web page ('Sign in')", "ends in /v1"),
    ("no /v1", bare, error(404, "Not Found"), "does not know the address or the model", "ends in /v1: http"),
    ("no money", chat, error(429, "Pay.", code="insufficient_quota"), "allows no more requests now", ""),
    ("fails in the middle", chat, LATE, "the server reported an error in its reply (Out of memory)", ""),
    ("filters its answer", chat, Reply("", finish_reason="content_filter"), "content filter stopped it", "(3 requests"),
    ("refuses in words", chat, Reply("", message={"refusal": "Never."}), "refused to answer: 'Never.'", "(3 requests"),
    ("ends too soon", chat, Reply(SAID[:30], finish_reason="length"), "cut off in the middle", "server write more"),
    ("thinks too long", chat, Reply("", finish_reason="length", message=THINKS), "still thinking", "server write more"),
    ("reads too little", chat, error(400, "too many tokens"), "is longer than it reads", "a longer context, or set"),
    ("too many a minute", chat, error(429, "Request too large"), "which is longer than it reads", "set a model"),
    ("a wrong key, 400", chat_of("google_genai"), error(400, "API key bad"), "refused the key", "GOOGLE_API_KEY"),
    *((f"nothing, from {v}", chat_of(v), EMPTY, f"{v}:m did not give a usable answer", "") for v in VENDORS),
)  # fmt: skip


async def embeddings(given: tuple[Callable[[list[int]], object], Reply, dict[str, Any]], bench: Bench) -> Outcome:
    """A hundred texts of 500 characters and one of 1,500, twice; `given`: refused sizes, how, and settings."""
    refused, refusal, settings = given
    texts, asked = [f"{n:03}" + "word " * 99 for n in range(100)] + ["long " * 300], list[int]()

    def reply(body: Body) -> Reply:
        too_much = refused([len(text) for text in body["input"]])
        return refusal if too_much else Reply(model_replies.embeddings(body, word_vector))

    with ModelServer(strict=False) as server, budget_scope(Budget(), log := StageLog()):
        server.on("", reply, path="/embeddings")
        encoder = build_encoder(
            load_settings(embeddings_url=server.url, embeddings_model="m", **settings), ToyEncoder()
        )
        try:
            for _ in range(2):
                assert len(await asyncio.to_thread(encoder.encode, texts)) == len(texts)
                asked.append(len(server.requests) - sum(asked))
        except ProviderError as exc:
            return Outcome("failed", f"after {len(server.requests)} requests: {exc}")
    return Outcome("degraded" if log.notes else "answered", f"in {asked[0]} requests, then in {asked[1]} {log.notes}")


async def judging(given: tuple[int, Reply], bench: Bench) -> Outcome:
    """A chat model judges fifty passages that all support the side, twice; `given`: from how many, or from how many
    characters, it answers otherwise, and how."""
    most, otherwise = given
    calls: list[int] = []

    def reply(body: Body) -> Reply:
        said = str(body["messages"][-1]["content"])
        sides, labels = read_request(body)
        calls.append(len(labels))
        told = {"for": [sides["Free."]], "against": [], "weak": []}
        verdicts = [{"passage": label, **told} for label in labels.values()]
        too_much = (len(labels) if most < 100 else len(said)) > most
        return otherwise if too_much else Reply({"verdicts": verdicts}, usage=(len(said) // 4, 9))

    with ModelServer(strict=False) as server, budget_scope(Budget(), log := StageLog()):
        judge = build_judge(load_settings(openai_base_url=server.on("", reply).url, model="m", judge="batch"))
        assert isinstance(judge, BatchJudge)
        async with aclosing(judge):
            try:
                for _ in range(2):
                    calls.clear()  # the second time it is known how many a call takes
                    pairs = [
                        Pair("Free.", f"Passage {n:02}: " + "all sail. " * (50 + 3 * n), "Not.") for n in range(50)
                    ]
                    assert (await judge.support(pairs)).min() > 0.9
            except ProviderError as exc:
                return Outcome("failed", str(exc))
    return Outcome("degraded" if log.notes else "answered", f"at most {max(calls)} at once {log.notes}")


SIZE, LONG = "batch size too large", error(413, "`inputs` must have less than 512 tokens")
SIZES: tuple[tuple[str, Callable[[list[int]], object], Reply, dict[str, Any], str, str, str], ...] = (
    ("32 texts", lambda n: len(n) > 32, raw({"error": SIZE}, status=422), {}, "answered", "in ", ""),
    ("so many bytes", lambda n: sum(n) > 9000, raw("<h1>413</h1>", status=413), {}, "answered", "in ", ""),
    ("one is long", lambda n: max(n) > 800, LONG, {}, "degraded", "refused some texts as too long", "first half"),
    ("10, as set", lambda n: len(n) > 10, LONG, {"embeddings_batch": 10}, "answered", "in 11 requests, then in 11", ""),
)  # fmt: skip
HALF = Reply({"verdicts": []}, usage=(2050, 9))  # the sides stand first and are lost
JUDGING: tuple[tuple[str, int, Reply, str, str, str], ...] = (
    ("its code says too long", 6, error(400, "", code="context_length_exceeded"), "answered", "at most 4 at once", ""),
    ("its status says so", 1, error(413, ""), "answered", "at most 1 at once", ""),
    ("it reads nothing", 0, error(400, "too many tokens"), "failed", "longer than it reads", "set a model that"),
    ("it cuts to half", 16384, HALF, "degraded", "truncated the prompt", "OLLAMA_CONTEXT_LENGTH=16384"),
)  # fmt: skip
ROWS = (
    *(Row(what, door, given, "answered", how) for what, door, given, how in ADAPTS),
    *(Row(what, door, given, "failed", cause, do) for what, door, given, cause, do in TELLS),
    *(Row(what, embeddings, (n, how, more), came, cause, do) for what, n, how, more, came, cause, do in SIZES),
    *(Row(what, judging, (most, how), came, cause, do) for what, most, how, came, cause, do in JUDGING),
)
