"""Rows of the contract table: what chat apps send, what settings hold, and in which languages people ask."""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from contract_table import Bench, Outcome, Row

from agent.__main__ import main as agent_line
from agent.models.from_settings import build_chat_models
from agent.options import check_question
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
    for enter, words in ((agent_line, ["runs"]), (api_line, ["keys", "list"]), (evals_line, measured)):
        with redirect_stderr(StringIO()) as told, redirect_stdout(StringIO()):
            status = enter(words)
        heard.setdefault(told.getvalue().partition(": ")[2], status)
        if not status:
            return Outcome(status, f"{load_settings().openai_api_key.get_secret_value()} is read")
    with pytest.raises(SettingsError) as shown:
        PageService()
    assert list(heard) == [f"{shown.value}\n"]  # each door says the same
    return Outcome(next(iter(heard.values())), str(shown.value))


async def models(given: dict[str, str], bench: Bench) -> Outcome:
    with pytest.raises(SettingsError) as told:
        build_chat_models(load_settings(**given))
    return Outcome("failed", str(told.value))


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
    ("wants a title", task('{ "title": "Some words" }'), '{"title": "Should towns build bridges"}', NOBODY),
    ("wants tags", task('{ "tags": ["one", "two"] }'), '{"tags": ["Bridges", "Towns", "Build"]}', NOBODY),
    ("wants queries", task('{\n "queries": ["one"]\n}'), f'{{"queries": ["{QUESTION}"]}}', NOBODY),
    ("wants follow-ups", task('{"followUps": ["One?"]}'), '{"followUps": []}', NOBODY),
    ("wants tools", said(f"Query: {QUESTION}", TOOLS), '{"tool_calls": []}', NOBODY),
    *(
        ("sends passages", said(text), "did not read", BOTH)
        for text in (
            f"### Task:\nRespond using the context.\n\n{CONTEXT}\n\n{QUESTION}",
            f"### Task:\nRespond.\n{CONTEXT}\n<user_query>\n{QUESTION}\n</user_query>",
            f"{CONTEXT}\nRules:\n- Be brief.\nQuery: {QUESTION}\n\n{QUESTION}",
            f"These citations were found in the files:\n\n1: x\n\nUser Query:\n\n{QUESTION}",
            f"## My question is:\n\n{QUESTION}\n\n## Reference Materials:\n\nx\n\nAnswer in English.",
            f"{QUESTION}\n\n<ATTACHMENT_FILE>\n<FILE_CONTENT>x</FILE_CONTENT>\n</ATTACHMENT_FILE>",
        )
    ),
    ("sends passages as rules", said(QUESTION, "[CONTEXT 0]:\nx\n[END CONTEXT 0]"), "did not read", BOTH),
    ("sends rules", said(QUESTION, "Suggest a title and follow-up questions. Keep to them."), f"# {QUESTION}", BOTH),
    ("asks of titles", said("Should chats get a short title only?"), "# Should chats get", "runs: ['Should chats"),
    ("asks of tags", said("Give arguments for and against tags in the text of a message."), "# ", "runs: ['Give arg"),
)
# Each line: situation, `.env` or variables, cause, remedy
SETTINGS: tuple[tuple[str, bytes | dict[str, str], str, str], ...] = (
    ("Windows-1252", b"A=b\nOPENAI_API_KEY=\x93secret", "line 2 (OPENAI_API_KEY) holds what is no UTF-8", "Save the"),
    ("UTF-16 added to UTF-8", b"A=b\n" + "MODEL=m".encode("utf-16-le"), "line 2 holds a NUL", "Save the file as UTF-8"),
    ("one smart quote", 'OPENAI_API_KEY="secret”'.encode(), "line 1 (OPENAI_API_KEY) cannot", "OPENAI_API_KEY=VA"),
    ("smart quotes", "OPENAI_API_KEY=“secret”".encode(), "OPENAI_API_KEY holds a curly quotation mark", "straight"),
    ("its name along", b"CHROMA_TOKEN=CHROMA_TOKEN=secret", "CHROMA_TOKEN holds the name of a variable", "leave only"),
    ("a no-break space", {"SERPER_API_KEY": "secret\xa0"}, "SERPER_API_KEY holds a no-break space", "Copy it again"),
    ("a login", {"CHROMA_URL": "http://me:secret/secret@h:1/v1"}, "CHROMA_URL cannot be 'http://h:1/v1'", "http:// or"),
    ("docker's quotes", {"OPENAI_BASE_URL": '"http://a.example"'}, "OPENAI_BASE_URL holds quotation", "leave them out"),
)
# Each line: situation, settings, cause, remedy
MODELS: tuple[tuple[str, dict[str, str], str, str], ...] = (
    ("no key", {"model": "anthropic:m"}, "STEELMAN_MODEL is 'anthropic:m'", "set ANTHROPIC_API_KEY, or ANTHROPIC_BASE"),
    ("one stage only", {"model_write": "ollama:m"}, "no model is named for every stage", "set STEELMAN_MODEL"),
    ("unknown vendor", {"model": "mistralai:m"}, "'mistralai' is not offered by name", "set OPENAI_BASE_URL"),
    (
        "no address",
        {"model": "ollama:m", "ollama_host": "ftp://h"},
        "OLLAMA_HOST is 'ftp://h'",
        "as http:// or https://",
    ),
)
LANGUAGES = (
    *(("Arabic", "هل الطاقة النووية آمنة؟"), ("Russian", "Нужны ли зоопарки?"), ("German", "Ist Atomkraft gut?")),
)
FOREIGN = ("Is the 君が代 a fit national anthem?", "is AI art realy art??", "Should Sinn Féin enter government?")
ROWS = (
    *(Row(what, chat_app, sent, 200, shown, runs) for what, sent, shown, runs in APPS),
    Row("asks nothing", chat_app, said("Write a poem."), 400, "question was found in", "Ask something that"),
    *(Row(what, settings, given, 2, cause, do, ("secret",)) for what, given, cause, do in SETTINGS),
    Row("UTF-16 of PowerShell", settings, "OPENAI_API_KEY=sk-1\r\n".encode("utf-16"), 0, "sk-1 is read"),
    Row("UTF-8 with its mark", settings, b"\xef\xbb\xbfOPENAI_API_KEY=sk-1", 0, "sk-1 is read"),
    Row("a mounted secret", settings, {"OPENAI_API_KEY": "sk-1\r\n"}, 0, "sk-1 is read"),
    *(Row(what, models, given, "failed", cause, do) for what, given, cause, do in MODELS),
    *(Row(name, question, text, "refused", f"but as {name}", "Ask it in English, or set") for name, text in LANGUAGES),
    *(Row("English with foreign words", question, text, "answered") for text in FOREIGN),
)
