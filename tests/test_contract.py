"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Reply
from test_rendering import answer_with

from agent.answer.model import Note
from agent.answer.render.files import write_answer
from agent.answer.render.terminal import to_terminal
from agent.providers.chat.framing import ChatFramer
from agent.providers.embedded.framing import EmbeddedFramer
from agent.providers.fallback import FramerWithFallback
from tools.budget import Budget, StageLog, using
from tools.inference.chat.model import ChatModel


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
        await FramerWithFallback("frame", model, ChatFramer(model), EmbeddedFramer()).frame("Is art good?", [])
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


# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*NOTES,)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came
