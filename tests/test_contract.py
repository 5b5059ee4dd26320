"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import asyncio
import json
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, redirect_stderr, suppress
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any, cast

import model_replies
import pytest
from agent_fixtures import QUESTION as ASKED
from answering_model import QUESTION as VOTING
from api_on_loopback import api
from changing_documents import answered_while_documents_change
from chat_clients import GOOD, Script, chat_model, one_after_the_other, slow_chat
from door_clients import chat_app, links, probe, said, sided, task
from model_replies import Body, word_vector
from model_server import ModelServer, Reply
from providers import ScriptedJudge, build
from pydantic import BaseModel
from test_rendering import answer_with
from toys import ToyEncoder
from vendor_refusals import DOORS, features, refusal, says_of, word_for_word
from way_clients import (
    ALL,
    WITHOUT_RUST,
    anthropic,
    chat,
    chroma,
    ddgs,
    embeddings,
    judge,
    page,
    searxng,
    serper,
    tavily,
    trusting_page,
)
from ways import GO, PACKED, Bench, at, bad_day, over, tls
from ways import says as sends
from web_server import WebServer, open_fetcher

from agent.__main__ import build_parser
from agent.__main__ import main as agent_line
from agent.answer.files import write_answer
from agent.answer.model import Note
from agent.answer.notes import stage_notes
from agent.answer.outline import to_terminal
from agent.commands.ingest import _columns
from agent.evidence.question import check_question
from agent.models.from_settings import build_encoder, build_judge
from agent.settings import Settings, load_settings
from agent.stages.expand import ContrarySide, PlannedSides
from agent.stages.frame import FramedQuestion, frame_by_chat, frame_by_rules, frame_by_rules_then_chat
from agent.stages.requery import PlannedQueries
from agent.stages.stage import Fallback
from agent.stages.write import WrittenCase, WrittenCrux
from agent.state import RunState
from api.__main__ import main as api_line
from evals.__main__ import main as evals_line
from tools.budget import Budget, StageLog, using
from tools.documents.rows import read_rows
from tools.errors import ProviderError, QuestionError, SettingsError, SourceError, UnknownCollectionError
from tools.language.question import read_question
from tools.models.chat.model import ChatModel
from tools.models.chat.refusals import strict_schema
from tools.models.judges.batch import BatchJudge, CheckedClaims, Verdicts
from tools.models.judges.judge import ClaimCheck, Pair
from tools.shell import command
from tools.store.database import Database
from tools.store.store import Store
from tools.web.domains import DomainLists
from tools.web.sources import read_source
from ui.service import PageService

Client = Callable[[Any, Bench], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """fault: what a server, file or person does. right: texts that all stand in what comes of it; wrong: none does."""

    fault: str
    client: Client
    given: Any
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


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


# --- chat apps on the OpenAI-compatible door --------------------------------------------------------------------------

PASSAGES = (
    '<context>\n<source id="1">Generate a concise title for this chat. It is only five words.</source>\n</context>'
)
TOOLS = 'Available Tools: [{"name": "clock"}]\nChoose those that fit the query, or return { "tool_calls": [] } only.'


NO_RUN = ("streamed the same: True", "runs: []")
A_RUN = ("streamed the same: True", f"runs: ['{ASKED}', '{ASKED}']", f"# {ASKED}")
TITLE = "Should towns build bridges"
FORMS = (
    ("a title", '{ "title": "Some words" }', f'{{"title": "{TITLE}"}}'),
    ("tags", '{ "tags": ["one", "two"] }', '{"tags": ["Bridges", "Towns", "Build"]}'),
    ("queries", '{\n "queries": ["one"]\n}', f'{{"queries": ["{ASKED}"]}}'),
    ("follow-ups", '{"followUps": ["One?"]}', '{"followUps": []}'),
    ("the end of a text", '{ "text": "<your words>" }', '{"text": ""}'),
    ("a picture", '{"prompt": "A picture"}', f'{{"prompt": "{ASKED}"}}'),
)
FRAMES = (
    ("before it", said(f"### Task:\nRespond using the context.\n\n{PASSAGES}\n\n{ASKED}")),
    ("before its tag", said(f"### Task:\nRespond.\n{PASSAGES}\n<user_query>\n{ASKED}\n</user_query>")),
    ("and rules before its label", said(f"{PASSAGES}\nRules:\n- Be brief.\nQuery: {ASKED}\n\n{ASKED}")),
    ("without tags", said(f"These citations were found in the provided files:\n\n1: x\n\nUser Query:\n\n{ASKED}")),
    ("after it", said(f"## My question is:\n\n{ASKED}\n\n## Reference Materials:\n\nx\n\nAnswer in English.")),
    ("after it, and a label", said(f"{ASKED}\n\n{PASSAGES}\n\nAnswer:")),
    ("as an attachment", said(f"{ASKED}\n\n<ATTACHMENT_FILE>\n<FILE_CONTENT>x</FILE_CONTENT>\n</ATTACHMENT_FILE>")),
    ("in the system message", said(ASKED, system="Be kind.\nContext:\n[CONTEXT 0]:\nx\n[END CONTEXT 0]")),
)
QUESTIONS = (
    "Should job titles be abolished?",
    "Should chats with a machine get a short title only?",
    "Generate a fair debate on whether chat apps should show job titles, in 200 words.",
    "Give the best arguments for and against tags in the text of a message.",
    f"Write the arguments, each with a brief heading, on the following question: {ASKED}",
    f"Summarize this discussion in a balanced way: {ASKED}",
)
SYSTEM = (
    "You are a kind helper. It is 1 May. When a new conversation begins, generate a title.",
    "The user's memories:\n- likes concise summaries of each chat\nSuggest follow-up questions in this chat.",
    "You are a tutor. Provide a headline for each side. Be concise and answer only the user's question.",
    "Respond with a title, a summary and a list of sources. Keep the content brief.",
)
NEXT = '{"follow_ups": ["Strongest counter-argument to 1?"'
CHAT_APPS = (
    *(Row(f"asks for {what}", chat_app, task(form), (came, *NO_RUN)) for what, form, came in FORMS),
    Row("asks for tools", chat_app, said(f"Query: {ASKED}", system=TOOLS), ('{"tool_calls": []}', *NO_RUN)),
    Row("asks what comes next", chat_app, task('{ "follow_ups": ["?"] }', "ANSWER"), (NEXT, f"runs: ['{ASKED}']")),
    *(Row(f"puts passages {where}", chat_app, given, (*A_RUN, "was not read")) for where, given in FRAMES),
    *(Row(f"asks: {text}", chat_app, said(text), ("# ",), ("runs: []", "not read")) for text in QUESTIONS),
    *(Row("has rules of its own", chat_app, said(ASKED, system=s), A_RUN, ("not read",)) for s in SYSTEM),
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
    with ModelServer(strict=False) as server, using(Budget(), log := StageLog()):
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

# --- walls: pages that ask or refuse instead of showing a text --------------------------------------------------------


async def page_of_the_web(given: tuple[str, ...], bench: Bench) -> str:
    """What fetching and reading a page comes to; given: its title and its paragraphs."""
    title, *paragraphs = given
    html = f"<html><head><title>{title}</title></head><body>{''.join(f'<p>{p}</p>' for p in paragraphs)}</body></html>"
    with WebServer() as site:
        fetcher = open_fetcher()
        try:
            document = await read_source(await fetcher.fetch(site.page("/page", html)), DomainLists.load())
        except SourceError as exc:
            return str(exc)
        finally:
            await fetcher.aclose()
    return document.text


async def note_of_unread(given: dict[str, str], bench: Bench) -> str:
    """What the answer's notes say of pages and why they were not read."""
    return "".join(note.text for note in stage_notes(cast(RunState, {"unread_pages": given})))


WALLS = (
    Row("a consent page", page_of_the_web, (
        "Parking fees to rise | Courier",
        "With your agreement we and our 812 partners store and read information on your device to show personalised "
        "advertising and content, to measure how it performs and to learn about our audience.",
        "You can accept everything, refuse everything, or look at each purpose in turn. Some partners rely on "
        "legitimate interest, to which you may object. Your choice can be changed whenever you like.",
    ), right=("consent to cookies is asked for",)),
    Row("a page that is gone, with status 200", page_of_the_web, (
        "We couldn't find that",
        "The page you are looking for may have been moved or renamed, or the link that brought you here may be old. "
        "Check the address, use the search box above, or start again from the home page. If you think that something "
        "is broken please tell us which link you followed, so that we can put it right for the next reader.",
    ), right=("the page is not there",)),
    Row("a teaser before a wall", page_of_the_web, (
        "The school that banned homework",
        "When the bell rings at Saint Brannoc's, nobody carries a bag home.",
        "You have read all that can be had for nothing in November. Choose a plan to go on reading: 6 euros a month or "
        "11 with the printed paper; students pay half. Subscribers get the Saturday letter, the puzzle page and audio "
        "versions of long reports. You can cancel at any time.",
    ), right=("a subscription is asked for",)),
    Row("an article about walls, in their words", page_of_the_web, (
        "Are you human? The tyranny of the puzzle box",
        "My mother is eighty-three and cannot tell a traffic light from a letterbox in a grainy picture. By the "
        "reckoning of her pension provider she is not a robot only on good days. The tests were a clever idea in 2003. "
        "Today machines solve each captcha better than people do: a report found 98 per cent for software and 71 for "
        "those over seventy. What remains is a toll, paid by those least able to pay it.",
    ), right=("98 per cent",)),
    Row("more walls than are named", note_of_unread, {
        **{f"https://a.example/{n}": "consent to cookies is asked for" for n in range(4)},
        "https://b.example/": "the site refuses access",
    }, right=("5 web pages could not be read", "consent to cookies is asked for 4", "the site refuses access 1")),
)  # fmt: skip


# --- notes that people read


async def under_an_answer(given: tuple[str, bool, list[Note]], bench: Bench) -> str:
    """How an answer ends, on a terminal or in a file, for people who asked for the notes or did not."""
    form, explain, notes = given
    answer = answer_with("Bridges", notes=notes)
    if form == "terminal":
        return " ".join(to_terminal(answer, 104, bold=False, explain=explain).split())
    write_answer(answer, bench.folder / f"a.{form}", explain=explain)
    page = (bench.folder / f"a.{form}").read_text()
    return page if explain else re.sub("(?s)<details.*</details>", "", page)  # what is folded


async def told_of_a_model(given: Reply, bench: Bench) -> str:
    """What an answer tells of a chat model that gave this reply, in full and in the one line."""
    with ModelServer() as server, using(Budget(), log := StageLog()):
        server.on("", given)
        model = ChatModel("m", url=server.url)
        frame = frame_by_rules_then_chat(Fallback("frame", model), partial(frame_by_chat, model), frame_by_rules)
        await frame("And who pays?", ["Is art good?"])
        await model.aclose()
    return "\n".join([*(text for _, text in log.notes), *log.briefs.values()])


_TOLD = [
    Note(kind="scope", text="Counted for ‘For’ and not quoted: “A”."),
    *(Note(kind="degraded", text=f"x failed ({i}).", brief="The model x failed.") for i in ("frame", "write")),
    Note(kind="dropped", text="2 sentences did not pass verification and were left out."),
    Note(kind="skipped", text="The web was not searched: no search engine is set."),
]
_LINE, _BEHIND = (
    "The web was not searched: no search engine is set. The model x failed.",
    ("Counted for", "2 sentences"),
)
NOTES = (
    *(Row("twenty notes", under_an_answer, (f, False, _TOLD), (_LINE,), _BEHIND) for f in ("terminal", "md", "html")),
    *(Row("asked for all", under_an_answer, (f, True, _TOLD), (_LINE, *_BEHIND)) for f in ("terminal", "md", "html")),
    Row("nothing undone", under_an_answer, ("md", False, _TOLD[:1]), ("Check what",), ("\n> ",)),
    Row(
        "empty reply",
        told_of_a_model,
        Reply(""),
        ("is empty. The embedded", "failed, and embedded providers stood in."),
    ),
)


# --- doors: settings, proxies, probes ---------------------------------------------------------------------------------


async def settings(given: bytes | dict[str, str] | None, bench: Bench) -> str:
    """given: the bytes of `.env`, variables, or None for a folder. The key that is read, or what every door says."""
    bench.patch.chdir(bench.folder)
    if isinstance(given, dict):
        for name, value in given.items():
            bench.patch.setenv(name, value)
    elif given is None:
        Path(".env").mkdir()
    else:
        Path(".env").write_bytes(given)
    with suppress(SettingsError):
        return f"{load_settings().openai_api_key.get_secret_value()} is read"
    heard = []
    for enter, words in ((agent_line, ["runs"]), (api_line, ["keys", "list"]), (evals_line, ["model", "--live"])):
        with redirect_stderr(StringIO()) as said:
            assert enter(words)
        heard.append(said.getvalue().partition(": ")[2])
    with pytest.raises(SettingsError) as shown:
        PageService()
    assert set(heard) == {f"{shown.value}\n"}
    assert "secret" not in heard[0]
    return heard[0]


SETTINGS = (
    Row("UTF-16 of PowerShell", settings, "OPENAI_API_KEY=sk-1\r\n".encode("utf-16"), ("sk-1 is read",)),
    Row("UTF-8 with its mark", settings, b"\xef\xbb\xbfOPENAI_API_KEY=sk-1", ("sk-1 is read",)),
    Row("a mounted secret", settings, {"OPENAI_API_KEY": "sk-1\r\n"}, ("sk-1 is read",)),
    Row("Windows-1252", settings, b"A=b\nOPENAI_API_KEY=\x93secret", ("line 2 (OPENAI_API_KEY) holds what is no",)),
    Row("UTF-16 added to UTF-8", settings, b"A=b\n" + "MODEL=m".encode("utf-16-le"), ("line 2 holds a NUL",)),
    Row("UTF-8 added to UTF-16", settings, "A=b\n".encode("utf-16") + b"A_KEY=s\n", ("line 2 cannot be",)),
    Row("a folder", settings, None, (".env is a folder",)),
    Row("smart quotes", settings, "OPENAI_API_KEY=“secret”".encode(), ("OPENAI_API_KEY holds a curly quotation",)),
    Row("one of them smart", settings, 'OPENAI_API_KEY="secret”'.encode(), ("line 1 (OPENAI_API_KEY) cannot be und",)),
    Row("another shell's form", settings, b"$env:SERPER_API_KEY='secret'", ("line 1 (SERPER_API_KEY) cannot be und",)),
    Row("its name along", settings, b"CHROMA_TOKEN=CHROMA_TOKEN=secret", ("CHROMA_TOKEN holds the name",)),
    Row("its header along", settings, {"STEELMAN_JUDGE_API_KEY": "Bearer secret"}, ("JUDGE_API_KEY begins with 'B",)),
    Row("a no-break space", settings, {"ANTHROPIC_API_KEY": "secret\xa0"}, ("ANTHROPIC_API_KEY holds a no-break",)),
    Row("no width", settings, {"SEARXNG_URL": "http://\u200ba.example"}, ("SEARXNG_URL holds", "zero width space")),
    Row("a byte that is no text", settings, {"OPENAI_API_KEY": "\udc93secret"}, ("no UTF-8 text (0x93)",)),
    Row("a model", settings, "STEELMAN_MODEL=“gpt-4o”".encode(), ("STEELMAN_MODEL holds a curly quotation",)),
    Row(
        "a login", settings, {"CHROMA_URL": "http://me:secret/secret@h:1/v1"}, ("CHROMA_URL cannot be 'http://h:1/v1'",)
    ),
    Row("docker's quotes", settings, {"OPENAI_BASE_URL": '"http://a.example"'}, ("OPENAI_BASE_URL holds quotation",)),
)


PUBLIC = "https://example.org/steelman"
PROXIES = (
    Row("the setting", links, ({"public_url": f"{PUBLIC}/"}, {"Host": "example.org"}), (f"{PUBLIC} " * 5 + "200",)),
    Row("what callers send", links, ({}, {"X-Forwarded-Host": "evil.example"}), ("  HERE HERE 403",)),
)


POD = "HTTP/1.1\r\nHost: 10.1.2.3:8000"
PROBES = (
    Row("a pod's address", probe, f"/healthz {POD}", ('200 OK {"status":"ok"}',)),
    Row("IPv6", probe, "/readyz HTTP/1.1\r\nHost: [fd00::7]:8000", ('200 OK {"status":"ready"}',)),
    Row("no host", probe, "/readyz HTTP/1.0", ('200 OK {"status":"ready"}',)),
    Row("HEAD", probe, f"HEAD /readyz {POD}", ("200 OK",), ("{",)),
    Row("broken", probe, f"/readyz {POD}BROKEN", (" 503 ", ":not-ready"), ("collections", "store")),
)

# --- texts: documents that change, languages, names, tables -----------------------------------------------------------


async def run_while_documents_change(given: tuple[str, str, str], bench: Bench) -> str:
    return await answered_while_documents_change(*given, bench.folder, bench.patch)


async def what_is_said_to(question: str, _: Bench) -> str:
    try:
        return "neither" if read_question(check_question(question)).kind == "none" else "taken"
    except QuestionError as exc:
        return str(exc)


async def hints_pasted(name: str, bench: Bench) -> str:
    """The value that a shell and the command line make of it, for each command that a hint offers."""
    with pytest.raises(UnknownCollectionError) as unknown, closing(Database(bench.folder / "s.db")) as database:
        Store(database).collection(name)
    columns = _columns(build_parser().parse_args(["ingest", "x", f"--collection={name}", f"--title={name}"]))
    typed = [unknown.value.hint.split("`")[1], columns.hint, command("python -m agent delete", name, name)]
    parsed = [vars(build_parser().parse_args(shlex.split(t.removeprefix("Type: "))[3:])) for t in typed]
    came = [v for p in parsed for k, v in p.items() if k in ("collection", "title", "name", "document") and v]
    return f"{len([v for v in came if v == name])} of {len(came)}"


async def table_read(data: str, bench: Bench) -> str:
    (file := bench.folder / "rows.csv").write_text(data, encoding="utf-8")
    return "\n".join(map(str, read_rows(file, "rows.csv")))


_FOREIGN = (
    *(
        ("Chinese", "城市应该禁止汽车吗？"),
        ("Japanese", "原発は安全？"),
        ("Korean", "원전?"),
        ("Chinese", "我们应该用 AI 写作业吗？"),
    ),
    *(("Arabic", "هل الطاقة النووية آمنة؟"), ("Russian", "Нужны ли зоопарки?"), ("German", "Ist Atomkraft gut?")),
    *(("German", "Sollten Städte Autos verbieten?"), ("Spanish", "¿Es segura la energía nuclear?")),
)
_KEPT = ("answered", "[True Dunmow Press]", "Replaced or deleted while this was answered")
_LOST = ("nothing_found",)
_ROWS = ("external_id='7'", "text='Ferries leave room for ships.'")
_NO_NAMES = ("names no columns", "stands above")
OWN_TEXTS = (
    Row("deleted while judged", run_while_documents_change, ("embedded", "delete", VOTING), _KEPT, _LOST),
    Row("replaced while judged", run_while_documents_change, ("embedded", "replace", VOTING), _KEPT, _LOST),
    Row("deleted while written", run_while_documents_change, ("chat", "delete", VOTING), _KEPT, _LOST),
    Row("replaced while written", run_while_documents_change, ("chat", "replace", VOTING), _KEPT, _LOST),
    Row("asked in German", run_while_documents_change, ("chat", "", "Sollte man wählen müssen?"), ("from German",)),
    *(Row(f"asked in {k}", what_is_said_to, q, (f"but as {k}", "in English"), ("neither",)) for k, q in _FOREIGN),
    *(
        Row("English with foreign words", what_is_said_to, question, ("taken",))
        for question in (
            "Is the 君が代 a fit national anthem?",
            "is AI art realy art??",
            "Should Sinn Féin enter government?",
        )
    ),
    *(
        Row(f"a name as {name!r}", hints_pasted, name, ("5 of 5",))
        for name in ("My Notes", "it's", "-x", "Größe", "$HOME;")
    ),
    *(
        Row("cells without names at the end of rows", table_read, data, _ROWS, _NO_NAMES)
        for data in (
            "id,text\n7,Ferries leave room for ships.,\n",
            "id,text,\n7,Ferries leave room for ships.\n",
            "\ufeffid\ttext\n7\tFerries leave room for ships.\t\t\n8\tBoats leave at noon.\n",
            "id;text\n7;Ferries leave room for ships.;\n8;One, two, three, and more;\n",
        )
    ),
    Row("a title in the first cell", table_read, "Report,,\nid,text,\n7,Ferries leave room for ships.,\n", _ROWS),
)

# --- the way to a server ----------------------------------------------------------------------------------------------

OUT, INSIDE = "http://api.public.example", "http://api.inside.example:{port}"
OFF = "http://127.0.0.1:9"
_CAUSES: tuple[tuple[str, tuple[Client, ...], Any, str], ...] = (
    ("unknown authority", ALL, partial(tls, known=False), "set SSL_CERT_FILE to that authority's certificate"),
    ("its own authority", WITHOUT_RUST[:-1], partial(tls, known=False, by_itself=True), "is signed by itself"),
    ("expired", ALL, partial(tls, days=-1), "its certificate has expired"),
    ("another name", ALL, partial(tls, name="a.example"), "write the address with the name that it was made for"),
    ("https to http", ALL, partial(sends, said=b"HTTP/1.1 400 No\r\n\r\n", scheme="https"), "with http://"),
    ("http to https", (*WITHOUT_RUST, ddgs), partial(tls, scheme="http"), "with https://"),
    ("http to Go's https", WITHOUT_RUST[:-1], partial(sends, said=GO), "it speaks https, not http"),
    ("HTTP/2 only", WITHOUT_RUST, partial(sends, said=b"\0\0\x0c\4\0\0\0\0\0"), "a port for HTTP/2 alone"),
    ("HTTP/2 only, by TLS", WITHOUT_RUST, partial(tls, alpn="h2"), "it closed the connection without an answer"),
    ("no such name", WITHOUT_RUST, partial(at, url="http://no.such.example"), "the name no.such.example is unknown"),
    ("a port that refuses", (*ALL, searxng), partial(at, url=OFF), "nothing listens at 127.0.0.1:9"),
    (
        "no such file",
        (chat, judge, chroma, page),
        partial(at, url="https://127.0.0.1:9", SSL_CERT_FILE="/no"),
        "names /no",
    ),
    ("a proxy that is off", ALL, partial(at, url=OUT, ALL_PROXY=OFF), "the proxy at 127.0.0.1:9 (ALL_PROXY) cannot be"),
    ("a proxy with no name", WITHOUT_RUST, partial(over, url=OUT, login="ann:pw"), "wants a name and password"),
    (
        "a wrong password",
        ALL,
        partial(over, url="https://api.public.example", login="ann:pw", given="a:hunter2"),
        "407",
    ),
    ("a proxy's 502", WITHOUT_RUST, partial(over, url=OUT, answer="502 Bad Gateway"), "(ALL_PROXY) answered 502 Bad G"),
    ("a half proxy", (page,), partial(at, url="http://no.example", ALL_PROXY="http://a:hunter2/@h:1"), "no address of"),
    ("socks", ALL, partial(at, url=OUT, all_proxy="socks://127.0.0.1:9"), ".venv/bin/pip install socksio"),
    ("no proxy's address", ALL, partial(at, url=OUT, ALL_PROXY="http://a:hunter2#@h:1"), "holds no address of a proxy"),
)
_ANSWERS: tuple[tuple[str, tuple[Client, ...], Any], ...] = (
    ("an authority that SSL_CERT_FILE names", (chat, judge, embeddings), tls),
    ("compressed unasked", (embeddings,), partial(sends, said=PACKED)),
    ("a proxy for http", (chat, judge, embeddings), partial(over, url=OUT, variable="http_proxy")),
    ("a proxy for https", (chat, judge), partial(over, url="https://api.public.example", variable="HTTPS_PROXY")),
    ("a proxy with a login", (chat,), partial(over, url=OUT, login="ann:p@ss", given="ann:p%40ss")),
    ("this machine is no proxy's", (chat, judge, embeddings), partial(over, url=INSIDE, through=False)),
    ("nor is it by its address", (chat, embeddings), partial(over, url="http://127.0.0.1:{port}", through=False)),
    ("a search engine over a proxy", (serper,), partial(over, url="https://search.public.example")),
    ("pages over a proxy", (page,), partial(over, url="https://page.public.example")),
    ("pages over a proxy, plain", (page,), partial(over, url="http://page.public.example")),
    ("a page of this machine", (page,), partial(over, url="http://page.inside.example:{site}", through=False)),
    ("a name that only the proxy knows", (trusting_page,), partial(over, url="http://page.unknown.example")),
)
_REFUSED: tuple[tuple[str, str, bool, str], ...] = (
    ("a name unknown here", "http://page.unknown.example", False, "STEELMAN_TRUST_PROXY"),
    ("a private name", "http://page.private.example", False, "not public"),
    ("a 502 in a tunnel", "https://page.public.example/down", True, "status 502"),
    ("a redirect into the private network", "http://page.public.example/private", True, "not public"),
)
_POSTING = (chat, anthropic, judge, embeddings, serper, tavily, searxng)
_SEARCHING = (serper, tavily, searxng)
_SILENT = (embeddings, *_SEARCHING, ddgs)
_BAD_DAYS: tuple[tuple[str, tuple[Client, ...], Any, str], ...] = (
    ("it says nothing", _SILENT, partial(bad_day, status="", then="hang"), "did not answer"),
    ("it says nothing", (judge,), partial(bad_day, status="", then="hang"), "an answer: [nan]"),
    ("it says nothing", (page,), partial(bad_day, status="", then="hang"), "took too long"),
    ("it drips", (*_SILENT, chroma), partial(bad_day, body="[1", then="drip"), "did not answer"),
    ("it says too much", _SEARCHING, partial(bad_day, then="flood"), "sent more than 20 MB"),
    ("it hangs up", (*_POSTING, ddgs, chroma), partial(bad_day, status=""), "it closed the connection without an ans"),
    ("it hangs up", (page,), partial(bad_day, status=""), "the connection broke off"),
    ("it is cut off", _POSTING[3:], partial(bad_day, body='{"a', Content_Length=99, met=1), "the connection was cut"),
    (
        "it is cut off",
        (page,),
        partial(bad_day, body="<p>", Content_Type="text/html", Content_Length=99),
        "the connection broke off",
    ),
    ("a wrong key", (*_POSTING, chroma), partial(bad_day, status="401 No", met=1), "refused the key (status 401)"),
    ("a key said back", (anthropic, serper), partial(bad_day, status="403 No", body="a-key?", met=1), "status 403: …?"),
    ("a login", (page,), partial(bad_day, status="401 No", met=1), "a login is asked for"),
    ("not there", _POSTING, partial(bad_day, status="404 No", body="who?"), "does not know the address or the"),
    ("too often", _POSTING, partial(bad_day, status="429 No", met=3), "allows no more requests now (status 429"),
    ("too often", (ddgs,), partial(bad_day, status="429 No", met=1), "answers no program now (status 429)"),
    ("later", _POSTING, partial(bad_day, status="429 No", Retry_After=3600, met=1), "allows no more requests now"),
    ("it fails", _POSTING, partial(bad_day, status="500 No", body="oh dear", met=3), "failed (status 500: oh dear)"),
    ("it moved", (*_POSTING, chroma), partial(bad_day, status="302 No", Location=OFF, met=1), "at another address now"),
    *(
        ("no reply of its kind", clients, partial(bad_day, body=body), said)
        for body in ("\0\1<<<{", "", "null")
        for clients, said in (((*_SEARCHING, ddgs), "with something that is no"), ((chroma,), "is no Chroma server"))
    ),
)
WAYS = (
    *(Row(f, client, day, (said,), ("a-key",)) for f, clients, day, said in _BAD_DAYS for client in clients),
    *(Row(f, client, place, (said,), ("hunter2",)) for f, clients, place, said in _CAUSES for client in clients),
    *(Row(f, client, place, ("an answer: ",)) for f, clients, place in _ANSWERS for client in clients),
    *(
        Row(f, client, partial(over, url=url, through=through), (said,))
        for f, url, through, said in _REFUSED
        for client in ((page,) if "unknown" in url else (page, trusting_page))
    ),
)

# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (
    *CHAT_MODELS,
    *CHAT_APPS,
    *EMBEDDING,
    *JUDGING,
    *WALLS,
    *NOTES,
    *SETTINGS,
    *PROXIES,
    *PROBES,
    *OWN_TEXTS,
    *WAYS,
)

SHAPES = (FramedQuestion, PlannedSides, ContrarySide, PlannedQueries, WrittenCase, WrittenCrux, Verdicts, CheckedClaims)
"""What chat models are asked for."""


@pytest.fixture(scope="module")
def door(module_settings: Settings) -> Iterator[Callable[[], str]]:
    """The address of a server for programs, which is started for the first who asks."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(api(module_settings, build(judge=ScriptedJudge(sided)))))


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: Callable[[], str]
) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch, door))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.__name__))
def test_every_schema_has_only_what_every_vendor_documents(shape: type[BaseModel]) -> None:
    body = {"model": "m", "response_format": {"type": "json_schema", "json_schema": {"schema": strict_schema(shape)}}}
    used = {name for kind, name in features(body) if kind == "schema"}
    assert {(table, name) for table in DOORS for name in used if says_of(table, name) != "allowed"} == set()
