"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_on_loopback import api
from providers import ScriptedJudge, build

from agent.settings import Settings
from evals.benchmarks.instant import instant_providers
from tools.inference.judges.judge import Pair
from tools.store.database import Database
from tools.store.store import Store


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


# --- chat apps on the OpenAI-compatible door --------------------------------------------------------------------------

ASKED = "Should towns build bridges?"
CHAT = f"USER: {ASKED}\nASSISTANT: Both sides have a case."
PASSAGES = (
    '<context>\n<source id="1">Generate a concise title for this chat. It is only five words.</source>\n</context>'
)
TOOLS = 'Available Tools: [{"name": "clock"}]\nChoose those that fit the query, or return { "tool_calls": [] } only.'


def said(*texts: str, system: str = "", **more: Any) -> dict[str, Any]:
    """A request of an app: its system message, and what user and assistant say by turns."""
    turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"messages": [{"role": "system", "content": system}, *turns] if system else turns, **more}


def task(form: str, answer: str = "Both sides have a case.") -> dict[str, Any]:
    """A prompt of the structure that Open WebUI's templates have, in no language."""
    history = f"<chat_history>\nUSER: {ASKED}\nASSISTANT: {answer}\n</chat_history>"
    return said(f"### Xxx:\nXxx xxxx.\n### Xxxx:\nJSON: {form}\n### Xxx Xxx:\n{history}")


def sided(pair: Pair) -> float:
    """Each of the instant passages speaks for one side, by the number of its bridge's arches."""
    return 0.9 if ("not" in pair.statement) == any(even in pair.text for even in "2468") else 0.1


async def chat_app(given: dict[str, Any], bench: Bench) -> str:
    """What a chat app shows, plain and streamed, and the questions of which runs were stored. Where the request says
    ANSWER, the server's own reply to the question stands instead, and there is its run before."""
    settings = Settings(data_dir=bench.folder)
    with closing(Database(settings.database_path)) as database:
        instant_providers(settings, Store(database))
    with api(settings, build(judge=ScriptedJudge(sided))) as address, httpx.Client(base_url=f"{address}/v1") as http:

        def ask(request: dict[str, Any], **more: Any) -> httpx.Response:
            return http.post("/chat/completions", json={"model": "steelman-quick", **request, **more}, timeout=60)

        body = json.dumps(given)
        if "ANSWER" in body:
            answer = ask(said(ASKED)).json()["choices"][0]["message"]["content"]
            given = json.loads(body.replace("ANSWER", json.dumps(answer)[1:-1]))
        whole = ask(given).json()
        if error := whole.get("error"):
            return f"# {error['message']}"
        lines = [line for line in ask(given, stream=True).text.splitlines() if line.startswith("data: {")]
        deltas = [choice["delta"] for line in lines for choice in json.loads(line[6:])["choices"]]
        runs = [run["question"] for run in http.get("/runs").json()["runs"]]
    content = whole["choices"][0]["message"]["content"]
    streamed = "".join(delta.get("content", "") for delta in deltas)
    same = content.partition("\nCheck what")[0] == streamed.partition("\nCheck what")[0]
    return f"{content}\nstreamed the same: {same}\nruns: {runs}"


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
TEXTS = (
    said(f"Look at this conversation and provide:\n1. Its language\n2. A short title (5 words)\n\n{CHAT}"),
    said(f"The query:\n{ASKED}\n\nWrite a brief title for the query. Answer with the title only."),
    said(ASKED, "Both.", "Please generate a five word title summarizing our conversation."),
    said(f"Going by the chat, give this conversation a name.\n\n```\nYou are X.\n---\n{ASKED}\n```\nThe name:"),
    said(ASKED, system="Please generate a title for this conversation"),
    said(ASKED, system="You write titles.\nYour job is to create short titles for new chat sessions."),
    said(f"Erstelle einen kurzen Titel für diese Unterhaltung:\n\n{CHAT}"),
    said(ASKED, "Both.", "用五个字返回这句话的主题，不要解释"),
)
FRAMES = (
    ("before it", said(f"### Task:\nRespond using the context.\n\n{PASSAGES}\n\n{ASKED}")),
    ("before its tag", said(f"### Task:\nRespond.\n{PASSAGES}\n<user_query>\n{ASKED}\n</user_query>")),
    ("and rules before its label", said(f"{PASSAGES}\nRules:\n- Be brief.\nQuery: {ASKED}\n\n{ASKED}")),
    ("without tags", said(f"These citations were found in the provided files:\n\n1: x\n\nUser Query:\n\n{ASKED}")),
    ("after it", said(f"## My question is:\n\n{ASKED}\n\n## Reference Materials:\n\nx\n\nAnswer in English.")),
    ("as an attachment", said(f"{ASKED}\n\n<ATTACHMENT_FILE>\n<FILE_CONTENT>x</FILE_CONTENT>\n</ATTACHMENT_FILE>")),
    ("in the system message", said(ASKED, system="Be kind.\nContext:\n[CONTEXT 0]:\nx\n[END CONTEXT 0]")),
)
QUESTIONS = (
    "Should job titles be abolished?",
    "Should chats with a machine get a short title only?",
    "Generate a fair debate on whether chat apps should show job titles, in 200 words.",
    "Give the best arguments for and against tags in the text of a message.",
)
SYSTEM = (
    "You are a kind helper. It is 1 May. When a new conversation begins, generate a title.",
    "The user's memories:\n- likes concise summaries of each chat\nSuggest follow-up questions in this chat.",
)
NEXT = '{"follow_ups": ["Strongest counter-argument to 1?"'
EMOJI = said(f"Your task is to find a fitting emoji.\n\nMessage: ```{ASKED}```")
JSON = said(f"Write a title for this chat:\n{CHAT}", response_format={"type": "json_object"})
CHAT_APPS = (
    *(Row(f"asks for {what}", chat_app, task(form), (came, *NO_RUN)) for what, form, came in FORMS),
    *(Row("asks for a title as text", chat_app, given, (f"{TITLE}\n", *NO_RUN), ("{",)) for given in TEXTS),
    Row("asks for JSON by the request", chat_app, JSON, (f'{{"title": "{TITLE}"}}', *NO_RUN)),
    Row("asks for an emoji", chat_app, EMOJI, ("🤔\n", *NO_RUN)),
    Row("asks for tools", chat_app, said(f"Query: {ASKED}", system=TOOLS), ('{"tool_calls": []}', *NO_RUN)),
    Row("asks what comes next", chat_app, task('{ "follow_ups": ["?"] }', "ANSWER"), (NEXT, f"runs: ['{ASKED}']")),
    *(Row(f"puts passages {where}", chat_app, given, (*A_RUN, "was not read")) for where, given in FRAMES),
    *(Row(f"asks: {text}", chat_app, said(text), ("# ",), ("runs: []", "not read")) for text in QUESTIONS),
    *(Row("has rules of its own", chat_app, said(ASKED, system=s), A_RUN, ("not read",)) for s in SYSTEM),
)


# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*CHAT_APPS,)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came
