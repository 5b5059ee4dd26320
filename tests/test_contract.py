"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, redirect_stderr, suppress
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from agent_fixtures import QUESTION as ASKED
from answering_model import QUESTION as VOTING
from api_on_loopback import api
from changing_documents import answered_while_documents_change
from contract import Row
from door_clients import chat_app, links, probe, said, sided, task
from model_server import ModelServer, Reply
from providers import ScriptedJudge, build
from test_rendering import answer_with
from ways import Bench
from web_server import WebServer, open_fetcher

from agent.__main__ import build_parser
from agent.__main__ import main as agent_line
from agent.answer.files import write_answer
from agent.answer.model import Note
from agent.answer.outline import to_terminal
from agent.answer.summary import stage_notes
from agent.commands.ingest import _columns
from agent.options import check_question
from agent.settings import Settings, load_settings
from agent.stages.frame import frame_by_chat, frame_by_rules, frame_by_rules_then_chat
from agent.stages.stage import Fallback
from agent.state import RunState
from api.__main__ import main as api_line
from evals.__main__ import main as evals_line
from tools.budget import Budget, StageLog, budget_scope
from tools.documents.rows import read_rows
from tools.errors import QuestionError, SettingsError, SourceError, UnknownCollectionError, command
from tools.language.question import read_question
from tools.models.chat.model import ChatModel
from tools.store.database import Database
from tools.store.store import Store
from tools.web.domains import DomainLists
from tools.web.sources import read_source
from ui.service import PageService

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
    with ModelServer() as server, budget_scope(Budget(), log := StageLog()):
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
    bench.patch.setenv("STEELMAN_ENV_FILE", str(file := bench.folder / ".env"))
    if isinstance(given, dict):
        file.touch()
        for name, value in given.items():
            bench.patch.setenv(name, value)
    elif given is None:
        file.mkdir()
    else:
        file.write_bytes(given)
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

# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*CHAT_APPS, *WALLS, *NOTES, *SETTINGS, *PROXIES, *PROBES, *OWN_TEXTS)


@pytest.fixture(scope="module")
def door(module_settings: Settings) -> Iterator[Callable[[], str]]:
    """The address of a server for programs, which is started for the first who asks."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(api(module_settings, build(judge=ScriptedJudge(sided)))))


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_what_comes_of_it(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: Callable[[], str]
) -> None:
    await row.hold(Bench(tmp_path, monkeypatch, door))
