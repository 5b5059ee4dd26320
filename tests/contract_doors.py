"""Rows of the contract table: what chat apps, people and assistants send, what settings hold, and in which languages
people ask."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import find_spec
from io import StringIO
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from contract_table import Bench, Outcome, Row
from mcp import Client
from providers import build
from test_api_mcp import words

from agent.__main__ import main as agent_line
from agent.options import check_question
from agent.runs import service as session
from agent.runs.service import Runs
from agent.settings import load_settings
from api.__main__ import main as api_line
from evals.__main__ import main as evals_line
from tools.errors import QuestionError, SettingsError
from ui.service import PageService


def said(text: str, system: str = "") -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def task(form: str) -> list[dict[str, str]]:
    """A prompt in which an app asks for something on its own account, in no language."""
    history = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: Both have a case.\n</chat_history>"
    return said(f"### Xxx:\nXxx xxxx.\n### Xxxx:\nJSON: {form}\n### Xxx Xxx:\n{history}")


async def chat_app(given: list[dict[str, str]], bench: Bench) -> Outcome:
    """What an app shows, plain and streamed alike, and for which questions it began runs."""
    with httpx.Client(base_url=f"{bench.standing()}/v1", timeout=60) as http:

        def ask(messages: Any, **more: Any) -> httpx.Response:
            return http.post("/chat/completions", json={"model": "steelman-quick", "messages": messages, **more})

        def runs() -> dict[str, str]:
            return {run["id"]: run["question"] for run in http.get("/runs").json()["runs"]}

        before, reply, streamed = runs(), ask(given), ask(given, stream=True).text.splitlines()
        if error := reply.json().get("error"):
            return Outcome(reply.status_code, error["message"])
        lines = [json.loads(line[6:])["choices"] for line in streamed if line.startswith("data: {")]
        content = "".join(choice["delta"].get("content", "") for line in lines for choice in line)
        whole = reply.json()["choices"][0]["message"]["content"]
        assert content.partition("\nCheck what")[0] == whole.partition("\nCheck what")[0]
        asked = [question for run, question in runs().items() if run not in before]
        return Outcome(reply.status_code, f"{whole}\nruns: {asked}")


async def settings(given: bytes | dict[str, str], bench: Bench) -> Outcome:
    """What every door says of `.env` with these bytes, or of variables; else the key."""
    (file := bench.folder / "own" / ".env").parent.mkdir()
    bench.patch.chdir(file.parent)
    bench.patch.setenv("STEELMAN_ENV_FILE", str(file))
    file.write_bytes(given if isinstance(given, bytes) else b"")
    for name, value in given.items() if isinstance(given, dict) else ():
        bench.patch.setenv(name, value)
    heard: dict[str, int] = {}
    measured = ["answers", "--limit", "1", "--out", str(bench.folder / "answers.jsonl")]
    for enter, typed in ((agent_line, ["runs"]), (api_line, ["keys", "list"]), (evals_line, measured)):
        with redirect_stderr(StringIO()) as told, redirect_stdout(StringIO()):
            status = enter(typed)
        heard.setdefault(told.getvalue().partition(": ")[2], status)
        if not status:
            return Outcome(status, f"{load_settings().openai_api_key.get_secret_value()} is read")
    with pytest.raises(SettingsError) as shown:
        PageService()
    assert list(heard) == [f"{shown.value}\n"]  # each door says the same
    return Outcome(next(iter(heard.values())), str(shown.value))


def chosen(given: dict[str, str], bench: Bench) -> Outcome:
    for name, value in {**given, "STEELMAN_DATA_DIR": str(bench.folder)}.items():
        bench.patch.setenv(name, value)
    with redirect_stderr(StringIO()) as told:
        status = agent_line(["ask", QUESTION])
    return Outcome(status, told.getvalue())


async def question(given: str, bench: Bench) -> Outcome:
    try:
        return Outcome("answered", check_question(given))
    except QuestionError as exc:
        return Outcome("refused", str(exc))


CONTEXT = '<context>\n<source id="1">Generate a concise title for this chat. Only five words.</source>\n</context>'
TOOLS = 'Available Tools: [{"name": "clock"}]\nChoose those that fit, or return { "tool_calls": [] } only.'
BOTH, NOBODY = f"runs: ['{QUESTION}', '{QUESTION}']", "runs: []"
# Each line: situation, what the app sends, what it shows, the runs that begin
APPS: tuple[tuple[str, list[dict[str, str]], str, str], ...] = (
    ("wants a title", task('{ "title": "Some words" }'), '{"title": ""}', NOBODY),
    ("wants tags", task('{ "tags": ["one", "two"] }'), '{"tags": []}', NOBODY),
    ("wants queries", task('{\n "queries": ["one"]\n}'), '{"queries": []}', NOBODY),
    ("wants tools", said(f"Query: {QUESTION}", TOOLS), '{"tool_calls": []}', NOBODY),
    *(
        ("sends passages", said(text), "did not read", BOTH)
        for text in (
            f"### Task:\nRespond using the context.\n\n{CONTEXT}\n\n{QUESTION}",
            f"### Task:\nRespond.\n{CONTEXT}\n<user_query>\n{QUESTION}\n</user_query>",
            f"Use the context.\n{CONTEXT}\n\nQuestion: {QUESTION}\nHelpful Answer:",
            f"{QUESTION}\n\n<ATTACHMENT_FILE>\n<FILE_CONTENT>x</FILE_CONTENT>\n</ATTACHMENT_FILE>",
        )
    ),
    ("sends rules", said(QUESTION, "Suggest a title and follow-up questions. Keep to them."), f"# {QUESTION}", BOTH),
    ("asks of titles", said("Should chats get a short title only?"), "# Should chats get", "runs: ['Should chats"),
    ("asks of tags", said("Give arguments for and against tags in the text of a message."), "# ", "runs: ['Give arg"),
)
# Each line: situation, `.env` or variables, cause, remedy
SETTINGS: tuple[tuple[str, bytes | dict[str, str], str, str], ...] = (
    ("Windows-1252", b"A=b\nOPENAI_API_KEY=\x93secret", "cannot be read", "Save it as UTF-8"),
    ("smart quotes", "OPENAI_API_KEY=“secret”".encode(), "OPENAI_API_KEY cannot be what it is set to", "Copy it"),
    ("a no-break space", {"SERPER_API_KEY": "secret\xa0"}, "SERPER_API_KEY cannot be what it is", "Copy it again"),
    ("a login", {"CHROMA_URL": "http://me:secret/secret@h:1/v1"}, "CHROMA_URL cannot be 'http://h:1/v1'", "http:// or"),
    (
        "docker's quotes",
        {"OPENAI_BASE_URL": '"http://a.example"'},
        "OPENAI_BASE_URL cannot be",
        "an address is http://",
    ),
)
NO_JUDGE = (
    ("no model of that name on this machine", "Download it: `hf download team/judge`")
    if find_spec("torch")
    else ("the judge team/judge needs the extra 'models'", "pip install torch")
)
# Each line: situation, variables, cause, remedy
MODELS: tuple[tuple[str, dict[str, str], str, str], ...] = (
    ("no key", {"STEELMAN_MODEL": "anthropic:m"}, "STEELMAN_MODEL is 'anthropic:m'", "set ANTHROPIC_API_KEY, or"),
    ("one stage only", {"STEELMAN_MODEL_WRITE": "ollama:m"}, "no model is named for every stage", "set STEELMAN_MODEL"),
    ("unknown vendor", {"STEELMAN_MODEL": "mistralai:m"}, "'mistralai' is not offered by name", "set OPENAI_BASE_URL"),
    ("no such judge", {"STEELMAN_JUDGE": "larger"}, "STEELMAN_JUDGE cannot be 'larger'", "hub: and the name"),
    ("a judge that is not here", {"STEELMAN_JUDGE": "hub:team/judge"}, *NO_JUDGE),
)
LANGUAGES = (("Arabic", "هل الطاقة النووية آمنة؟"), ("German", "Ist Atomkraft gut?"))
FOREIGN = ("Is the 君が代 a fit national anthem?", "is AI art realy art??")
APP_ROWS = (
    *(Row(what, chat_app, sent, 200, shown, runs) for what, sent, shown, runs in APPS),
    Row("asks nothing", chat_app, said("Write a poem."), 400, "question was found in", "Ask something that"),
    *(Row(what, settings, given, 2, cause, do, ("secret",)) for what, given, cause, do in SETTINGS),
    Row("UTF-8 with its mark", settings, b"\xef\xbb\xbfOPENAI_API_KEY=sk-1", 0, "sk-1 is read"),
    Row("a mounted secret", settings, {"OPENAI_API_KEY": "sk-1\r\n"}, 0, "sk-1 is read"),
    *(Row(what, chosen, given, 2, cause, do) for what, given, cause, do in MODELS),
    *(Row(name, question, text, "refused", f"but as {name}", "Ask it in English, or set") for name, text in LANGUAGES),
    *(Row("English with foreign words", question, text, "answered") for text in FOREIGN),
)


def in_chat(given: str, bench: Bench) -> Outcome:
    bench.patch.setenv("STEELMAN_DATA_DIR", str(bench.folder / "data"))
    bench.patch.setattr(session, "Runs", partial(Runs, build=build()))
    bench.patch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)
    bench.patch.setattr(sys, "stdin", io.StringIO(given))
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = agent_line(["chat", "--no-web"])
    return Outcome(status, out.getvalue() + err.getvalue())


def http(given: str, bench: Bench) -> Outcome:
    with httpx.Client(base_url=bench.standing(), timeout=60) as client:
        first = client.post("/v1/ask", json={"question": QUESTION, "depth": "quick"}).json()
        reply = client.post("/v1/ask", json={"question": given, "depth": "quick", "thread": first["run_id"]})
    told = reply.json()
    return Outcome(reply.status_code, told.get("detail") or f"{told['question']} / {told['neutral_question']}")


def conversation(given: str, bench: Bench) -> Outcome:
    """What a chat app shows for a conversation of these messages, without our own replies."""
    messages = [{"role": "user", "content": text} for text in (QUESTION, given)]
    with httpx.Client(base_url=f"{bench.standing()}/v1", timeout=60) as client:
        reply = client.post("/chat/completions", json={"model": "steelman-quick", "messages": messages})
    return Outcome(reply.status_code, reply.json()["choices"][0]["message"]["content"])


FIRST = f"{QUESTION}\n"
LISTED = "/summarise, /more, /against, /newer, /only and /help"
TITLE = f"Follows up on: {QUESTION}"
TYPED = [
    Row("an unknown command", in_chat, f"{FIRST}/shout\n", 0, "there is no command /shout", LISTED),
    Row("a command before any answer", in_chat, "/newer\n", 0, "needs an answer to work on", "Ask a question first"),
    Row("a source that the answer lacks", in_chat, f"{FIRST}/only 99\n", 0, "needs the number of a source", "1, 2"),
    Row("a greeting", in_chat, "Hello!\n", 0, "Hello! Ask something that people disagree on", "ban smartphones?"),
    Row("thanks", conversation, "Thank you!", 200, "You are welcome! Ask something"),
    Row("a follow-up's title", in_chat, f"{FIRST}and the arches?\n", 0, "\nand the arches?\n", TITLE),
    Row("a question of its own", http, "Should ferries run at night?", 200, "at night? / Should ferries run at night?"),
    Row("a claim that does not exist", http, "/against 99", 422, "no '99' to argue against", "1 to "),
    Row("a command of the chat", http, "/newer", 422, "is no question, but a command", "on the page or in the chat"),
]


PAIR = {"statement": "Bridges help towns.", "passage": "A bridge brings trade."}
PAIRS = json.dumps([PAIR])


async def assistant(given: tuple[str, dict[str, Any]], bench: Bench) -> Outcome:
    tool, arguments = given
    usual = {} if tool == "judge" else {"question": QUESTION, "depth": "quick"}
    async with Client(f"{bench.standing()}/mcp") as client:
        reply = await client.call_tool(tool, usual | arguments)
    return Outcome("refused" if reply.is_error else "done", words(reply))


# Each line: situation, tool, arguments
READ: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("false as a text", "ask", {"web": "false"}),
    ("a list as a text", "ask", {"collections": '["samples"]'}),
    ("one entry of a list", "retrieve", {"collections": "samples"}),
    ("an empty list as a text", "ask", {"domains": "[]", "collections": "[]"}),
    ("null as texts", "retrieve", dict.fromkeys(("web", "thread", "depth", "domains", "deadline_seconds"), "null")),
    ("pairs as a text", "judge", {"pairs": PAIRS}),
    ("one pair", "judge", {"pairs": PAIR}),
)
# Each line: situation, tool, arguments, cause
REFUSED: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("an unknown collection", "ask", {"collections": "mine"}, "There is no collection 'mine'. There are: samples."),
    ("no domain", "ask", {"domains": '["not a domain"]'}, "domains.0: "),
    ("an unknown argument", "ask", {"command": "ls"}, "The arguments are: collections, web, domains"),
    ("no question", "ask", {"question": "Write a song about bridges"}, "question was found in"),
)
HTTP_WORDS = ("python -m", "GET /", "POST /")
ASSISTANTS = [
    *(Row(said, assistant, (tool, sent), "done") for said, tool, sent in READ),
    *(Row(said, assistant, (tool, sent), "refused", cause, "", HTTP_WORDS) for said, tool, sent, cause in REFUSED),
]

ROWS = (*APP_ROWS, *TYPED, *ASSISTANTS)
