"""One cell of the table: a whole run in which one part fails in one way at one stage, and whether it ended by the rule.

The rule: a run ends within its deadline and a margin, in an answer that names what failed, or in one clear line. It is
broken by a traceback or an exception that is none of Steelman's, by a run that goes on, by an answer that others made
than it says, by 'nothing was found' where nothing could be searched, and by a key that is shown: in the answer, in the
line, or in anything that the run stored, its events among them.
"""

import asyncio
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.answer.model import Answer, Note
from agent.answer.summary import RAN_OUT, THOUGH
from agent.options import RunOptions
from agent.providers.build import build_providers
from agent.providers.retrieval import build_encoder, build_search
from agent.providers.websearch import WebSearch
from agent.runs.service import Runs
from agent.seams import Providers
from agent.settings import Settings
from evals.benchmarks.instant import InstantEncoder
from evals.faults.injected import FAULTS, OWN
from evals.faults.parts import KEY, PARTS, QUESTION, Part, library, own_support
from evals.faults.server import FaultServer
from tools.errors import SteelmanError
from tools.inference.judges.judge import Pair
from tools.ingest.ingest import Ingester
from tools.store.database import Database
from tools.store.store import Store
from tools.web.fetch import PageFetcher

DEADLINE = 12.0
"""Seconds of a run."""
_WELL_DEADLINE = 120.0  # of a good day's run, which imports and builds whatever the others use
MARGIN = 3.0
"""Seconds past the deadline that a busy machine may take to end it."""
_GIVE_UP = 20.0  # past both, when a run that does not end is left
_LIBRARY = "library"
_UNDONE = ("failed", "degraded", "late")  # kinds of notes that tell of something that was not done
_CRASH = "something went wrong inside Steelman"


class OwnJudge:
    """The embedded judge's stand-in: at once, by the words of this library."""

    name = "own"
    threshold = 0.5
    sentence_threshold = 0.5

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return np.asarray([own_support(pair.statement, pair.text) for pair in pairs], np.float32)


@dataclass(frozen=True)
class Well:
    """A run in which nothing failed: what each stage of the part was asked and can have wrong, and the answer."""

    own: Mapping[str, set[str]]
    answer: Answer


@dataclass(frozen=True)
class Cell:
    """How a run ended. ended: 'noted' (an answer that names the failure), 'unharmed' (an answer as of a good day) or
    'error' (one line); broken: how the rule was broken, else empty; said: the note or the line."""

    part: str
    fault: str
    stage: str
    ended: str
    seconds: float
    said: str = ""
    broken: str = ""

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Matrix:
    """Runs over copies of small data folders. `folder` is where those are made; it has to outlast the object."""

    folder: Path
    deadline: float = DEADLINE
    wells: dict[str, Well] = field(default_factory=dict)

    def cells_of(self, name: str) -> list[tuple[str, str]]:
        """(fault, stage) of each cell of the part. Raises AssertionError where a good day's run leaves out a stage."""
        well = self.well(name)
        stages = PARTS[name].stages
        assert set(stages) <= set(well.own), f"{name}: a run asks it at {sorted(well.own)} and not at {stages}"
        return [(fault, stage) for stage in stages for fault in FAULTS if fault not in OWN or fault in well.own[stage]]

    def well(self, name: str) -> Well:
        """The part's good day. Raises AssertionError where something fails on it."""
        if name not in self.wells:
            with FaultServer(PARTS[name].play) as server:
                answer = self._answer(name, server, f"{name} well", _WELL_DEADLINE)
            failed = [n.text for n in answer.notes if n.kind in _UNDONE]
            assert answer.outcome == "answered", answer.notes
            assert not failed, failed
            assert not server.failures, server.failures
            self.wells[name] = Well(server.own, answer)
        return self.wells[name]

    def cell(self, name: str, fault: str, stage: str, times: float = 1.0) -> Cell:
        """One run, with so many times the usual deadline."""
        deadline = times * self.deadline
        well, part = self.well(name), PARTS[name]
        began, answer, error = time.monotonic(), None, None
        with FaultServer(part.play, stage, FAULTS[fault]) as server:
            try:
                answer = self._answer(name, server, f"{name} {fault} {stage}", deadline)
            except Exception as exc:  # noqa: BLE001  # whatever it is, the table tells
                error = exc
            seconds = time.monotonic() - began
        ended, said, broken = _error_told(error) if answer is None else _answer_told(answer, well.answer, part)
        if not server.struck:
            broken = "the part was not asked at this stage"
        elif server.failures:
            broken = f"the server that plays the part failed: {server.failures[0]}"
        elif seconds > deadline + MARGIN:
            broken = f"ended {seconds - deadline:.1f} s past its deadline"
        return Cell(name, fault, stage, ended, round(seconds, 1), said, broken)

    def _answer(self, name: str, server: FaultServer, folder: str, deadline: float) -> Answer:
        data = self.folder / folder.replace(" ", "-")
        shutil.copytree(self._template(name), data)
        try:
            return asyncio.run(_asked(self._settings(data, PARTS[name], server.root), deadline))
        finally:
            kept = [f.name for f in data.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]
            shutil.rmtree(data, ignore_errors=True)
            assert not kept, f"a key is stored in {kept}"

    def _settings(self, data: Path, part: Part, root: str) -> Settings:
        usual = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
        return Settings(_env_file=None, **{**usual, **part.settings(root), "data_dir": data})  # type: ignore[call-arg]

    def _template(self, name: str) -> Path:
        """A data folder with the library, encoded and indexed by the part on a good day where that is its work."""
        own = name if name in ("encoder", "Chroma server") else "search engine"
        folder = self.folder / f"template-{own.replace(' ', '-')}"
        if not folder.exists():
            with FaultServer(PARTS[own].play) as server:
                settings = self._settings(folder, PARTS[own], server.root)
                encoder = build_encoder(settings, InstantEncoder())
                database = Database(settings.database_path)
                store = Store(database)
                search = build_search(settings, store, encoder)
                Ingester(store, search, encoder).ingest(library(), _LIBRARY)
                search.close()
                database.close()
        return folder


async def _asked(settings: Settings, deadline: float) -> Answer:
    async with Runs(settings, _build) as runs:
        # As a follow-up, since of a question of its own no model is asked for a framing.
        options = RunOptions.of(collections=(_LIBRARY,), deadline_seconds=deadline, earlier=(QUESTION,))
        run_id = await runs.start(QUESTION, options)
        return await asyncio.wait_for(runs.answer(run_id), deadline + MARGIN + _GIVE_UP)


def _build(settings: Settings, store: Store) -> Providers:
    made = build_providers(settings, store, own_judge=lambda _: OwnJudge(), own_encoder=lambda _: InstantEncoder())
    if not isinstance(made.web, WebSearch):
        return made
    fetcher = PageFetcher(permit=lambda ip: ip == "127.0.0.1", ports=range(1, 65536), concurrency=32)
    return replace(made, web=replace(made.web, fetcher=fetcher), closers=(*made.closers, fetcher.aclose))


def _error_told(error: Exception | None) -> tuple[str, str, str]:
    said = str(error)
    if isinstance(error, TimeoutError) and not isinstance(error, SteelmanError):
        return "none", said, "the run did not end"
    if not isinstance(error, SteelmanError) or _CRASH in said:
        return "crash", f"{type(error).__name__}: {said}", "an exception that is none of Steelman's"
    if "Traceback" in said or "\n" in said:
        return "error", said, "more than one line"
    return "error", said, "a key is shown" if KEY in said else ""


def _answer_told(answer: Answer, well: Answer, part: Part) -> tuple[str, str, str]:
    notes = [n.text for n in answer.notes if n not in well.notes and _tells(n, part)]
    ended, said = "noted" if notes else "unharmed", notes[0] if notes else ""
    if KEY in answer.model_dump_json():
        return ended, said, "a key is shown"
    if answer.outcome != well.outcome and not any(said in answer.summary for said in (RAN_OUT, THOUGH)):
        return ended, said, f"'{answer.summary}'"
    served = {stage for stage, by in answer.providers.items() if _plain(by) != _plain(well.providers.get(stage, ""))}
    if not notes and (served or (not part.partial and _counted(answer) != _counted(well))):
        return ended, said, f"nothing tells that it is another answer (others served {sorted(served)})"
    return ended, said, ""


def _tells(note: Note, part: Part) -> bool:
    named = any(word in note.text for word in part.named)
    return note.kind in _UNDONE or (named and note.kind != "balance")


def _plain(name: str) -> str:
    """A provider's name without what stands for its address."""
    return re.sub(r"-[0-9a-f]{6,8}$", "", name)


def _counted(answer: Answer) -> list[tuple[str, int]]:
    return [(line.status, line.passages) for line in answer.coverage]
