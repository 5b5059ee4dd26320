"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import shlex
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from answering_model import QUESTION
from changing_documents import answered_while_documents_change

from agent.__main__ import build_parser
from agent.commands.ingest import _columns, _removal
from agent.question import check_question
from tools.errors import QuestionError, UnknownCollectionError
from tools.ingest.rows import read_csv
from tools.language.grammar import frame
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


# --- texts: documents that change, languages, names, tables -----------------------------------------------------------


async def run_while_documents_change(given: tuple[str, str, str], bench: Bench) -> str:
    return await answered_while_documents_change(*given, bench.folder, bench.patch)


async def what_is_said_to(question: str, _: Bench) -> str:
    try:
        return "neither" if frame(check_question(question)).form == "none" else "taken"
    except QuestionError as exc:
        return str(exc)


async def hints_pasted(name: str, bench: Bench) -> str:
    """The value that a shell and the command line make of it, for each command that a hint offers."""
    with pytest.raises(UnknownCollectionError) as unknown, closing(Database(bench.folder / "s.db")) as database:
        Store(database).collection(name)
    columns = _columns(build_parser().parse_args(["ingest", "x", f"--collection={name}", f"--title={name}"]))
    typed = [
        unknown.value.hint.split("`")[1],
        columns.hint,
        _removal(name, name).split("Remove one: ")[1].split(". R")[0],
    ]
    parsed = [vars(build_parser().parse_args(shlex.split(t.removeprefix("Type: "))[3:])) for t in typed]
    came = [v for p in parsed for k, v in p.items() if k in ("collection", "title", "name", "document") and v]
    return f"{len([v for v in came if v == name])} of {len(came)}"


async def table_read(data: str, bench: Bench) -> str:
    (file := bench.folder / "rows.csv").write_text(data, encoding="utf-8")
    return "\n".join(map(str, read_csv(file, "rows.csv")))


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
TEXTS = (
    Row("deleted while judged", run_while_documents_change, ("embedded", "delete", QUESTION), _KEPT, _LOST),
    Row("replaced while judged", run_while_documents_change, ("embedded", "replace", QUESTION), _KEPT, _LOST),
    Row("deleted while written", run_while_documents_change, ("chat", "delete", QUESTION), _KEPT, _LOST),
    Row("replaced while written", run_while_documents_change, ("chat", "replace", QUESTION), _KEPT, _LOST),
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

ROWS: tuple[Row, ...] = (*TEXTS,)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came
