"""Processes that ask, answer files of questions, resume and delete are killed at random moments; what is left is
looked at.

`python -m evals.benchmarks.kills_of_runs COMMAND…` is `python -m agent COMMAND…` over instant providers whose searches
take a moment: what is killed where models would only cost time.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from agent.__main__ import DEGRADED, NOTHING_FOUND, OK
from agent.runs.open import open_runs
from agent.runs.parts import BuildProviders
from agent.runs.store import RunRow, RunStore
from agent.seams import Providers
from agent.settings import Settings
from evals.benchmarks.instant import instant_providers
from tools.errors import SteelmanError
from tools.store.database import Database
from tools.store.store import Store

_PAUSE = 0.15  # seconds of an instant search
_ANSWERED = (OK, NOTHING_FOUND, DEGRADED)  # after a kill an index may be made again, which the answer notes
_BATCH = [f"Should cities control rents near ferry {n}?" for n in range(3)]
_ACTIONS = ("ask", "ask", "batch", "resume", "delete")
_ANY = 10_000


@dataclass
class KillReport:
    """What was killed, and what was not as it has to be; `violations`: what was lost, doubled or stuck."""

    killed: Counter[str] = field(default_factory=Counter)
    """By command: processes that were at work when the kill came."""
    ended: int = 0
    """Processes that had ended before."""
    interrupted: int = 0
    """Runs that read as interrupted after a kill."""
    resumed: int = 0
    """Of those, the ones that had an answer in the end."""
    """Runs of the file that were killed three times in one stage."""
    violations: list[str] = field(default_factory=list)

    @property
    def figures(self) -> dict[str, Any]:
        return {
            "kills": self.killed.total(),
            "interrupted": self.interrupted,
            "resumed": self.resumed,
        }


def kill_while_asking(kills: int, folder: Path, seed: int, *, instant: bool = False) -> KillReport:
    """Kills as many processes, each at a moment of its own, and then goes on with what they left.

    `folder` becomes the data directory; `instant`: over instant providers, else the embedded ones. Processes that end
    before their kill comes do not count, up to twice as many as are to be killed.
    """
    return asyncio.run(_Killer(folder, seed, instant).run(kills))


class _Killer:
    def __init__(self, folder: Path, seed: int, instant: bool) -> None:
        self._settings, self._instant = Settings(data_dir=folder), instant
        self._rng, self._report = random.Random(seed), KillReport()
        self._known: dict[str, str] = {}  # answers, by run
        self._asked = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._questions, self._answers = folder / "questions.jsonl", folder / "answers.jsonl"

    async def run(self, kills: int) -> KillReport:
        began = time.monotonic()
        first = self._call("ask", self._question())
        told = f"exit status {first.returncode}: {first.stderr[-300:]}{first.stdout[:300]}"
        self._expect(f"the first question is answered, {told}", first.returncode in _ANSWERED)
        took, run = time.monotonic() - began, self._rows()[0]
        working = self._last_event() - datetime.fromisoformat(run.created_at).timestamp()
        self._questions.write_text("".join(json.dumps({"question": q}) + "\n" for q in _BATCH))
        while self._report.killed.total() < kills and self._report.ended < 2 * kills:
            name, command = self._command()
            self._kill(name, command, starting=max(0.0, took - working), working=working)
            self._look(f"after a kill of {name}")
        self._list()
        await self._go_on()
        self._end_batch()
        for row in self._rows()[:2]:
            self._expect("a run is deleted", self._call("runs", "--delete", row.id).returncode == 0)
        return self._report

    def _command(self) -> tuple[str, list[str]]:
        action, rows = self._rng.choice(_ACTIONS), self._rows()
        left = [row.id for row in rows if row.abandoned and not row.batch]
        if action == "resume" and left:
            return "resume", ["ask", "--resume", self._rng.choice(left)]
        if action == "delete" and sum(row.question not in _BATCH for row in rows) > 1:
            # Those of the file stay: how often each of its questions was begun is counted at the end.
            run_id = self._rng.choice([row.id for row in rows if row.question not in _BATCH])
            self._known.pop(run_id, None)
            return "delete", ["runs", "--delete", run_id]
        if action == "batch":
            return "batch", ["batch", str(self._questions), "--out", str(self._answers)]
        return "ask", ["ask", self._question()]

    def _kill(self, name: str, command: list[str], *, starting: float, working: float) -> None:
        """Kills the command while it starts, or mostly while its run is worked on; seconds are those that an ask takes.

        A deletion has no events to wait for: it is killed about when its start is over.
        """
        last, process = self._last_event(), self._start(command)
        if name == "delete":
            time.sleep(self._rng.uniform(0.2, 1.0) * starting)
        elif self._rng.random() < 0.2:
            time.sleep(self._rng.uniform(0, starting))
        else:
            while process.poll() is None and self._last_event() == last:
                time.sleep(0.02)
            time.sleep(self._rng.uniform(0, working))
        process.kill()  # nothing to a process that has ended
        said = process.communicate()[1]
        self._expect(f"no traceback of {name}: {said[-300:]}", "Traceback" not in said)
        if process.returncode == -signal.SIGKILL:
            self._report.killed[name] += 1
            return
        self._report.ended += 1
        # A batch fails where one of its runs was set aside, which its end is looked at for.
        well = process.returncode in _ANSWERED or name == "batch"
        self._expect(f"{name} was not killed and ended well ({process.returncode}): {said[-300:]}", well)

    def _look(self, when: str) -> None:
        """What is stored is whole, and nothing counts as being worked on."""
        states = Counter(row.state for row in self._rows())
        self._expect(f"{when}, no run reads as running: {dict(states)}", not states["running"])
        self._report.interrupted = max(self._report.interrupted, states["interrupted"])
        answers = {row.id: row.answer for row in self._rows() if row.answer is not None}
        lost = [run_id for run_id, answer in self._known.items() if answers.get(run_id) != answer]
        self._expect(f"{when}, answers are as they were: {lost}", not lost)
        self._known |= answers

    def _list(self) -> None:
        """The command names every run that was cut off."""
        shown = self._call("runs", "--limit", str(_ANY))
        self._expect(f"runs are listed: {shown.stderr[-300:]}", shown.returncode == 0)
        cut_off = [row.id for row in self._rows() if row.abandoned]
        told = [line.split()[0] for line in shown.stdout.splitlines() if "  interrupted  " in line]
        self._expect(f"{cut_off} read as interrupted, and {told} do", sorted(told) == sorted(cut_off))

    async def _go_on(self) -> None:
        """Every run that was cut off gets its answer, once."""
        build = _slow_instant if self._instant else None
        async with open_runs(self._settings, offline=True, build=build) as runs:
            for row in [r for r in self._rows() if r.status != "done" and not r.batch]:
                try:
                    await runs.answer(await runs.resume(row.id))
                    self._report.resumed += 1
                except SteelmanError as exc:
                    self._report.violations.append(f"run {row.id} cannot be resumed: {exc}")
            for row in [r for r in self._rows() if not r.batch]:
                events = await runs.recent_events(row.id)
                kinds = [e.kind for e in events]
                whole = [e.number for e in events] == list(range(1, len(events) + 1)) and kinds.count("done") == 1
                self._expect(f"run {row.id} ended once: {kinds}", whole and row.answer is not None)

    def _end_batch(self) -> None:
        """The file gets each answer once, and no question was begun twice."""
        command = ("batch", str(self._questions), "--out", str(self._answers))
        done = self._call(*command)
        self._expect(f"the batch ends: {done.stderr[-300:]}", done.returncode == 0)
        lines = self._answers.read_text().splitlines() if self._answers.exists() else []
        counts = Counter(json.loads(line)["question"] for line in lines)
        self._expect(f"a line a question: {dict(counts)}", counts == Counter(_BATCH))
        begun = Counter(row.question for row in self._rows())
        again = {q: begun[q] for q in _BATCH if begun[q] != 1}
        self._expect(f"a run a question: {again}", not again)

    def _question(self) -> str:
        self._asked += 1
        return f"Should cities control rents in district {self._asked}?"

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        module = "evals.benchmarks.kills_of_runs" if self._instant else "agent"
        offline = ["--no-web"] if command[0] in ("ask", "batch") else []
        environment = {**os.environ, "STEELMAN_DATA_DIR": str(self._settings.data_dir)}
        return subprocess.Popen(
            [sys.executable, "-m", module, *command, *offline],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def _call(self, *command: str) -> "subprocess.CompletedProcess[str]":
        process = self._start(list(command))
        out, err = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    @contextmanager
    def _database(self) -> Iterator[Database]:
        with closing(Database(self._settings.database_path)) as database:
            yield database

    def _rows(self) -> list[RunRow]:
        with self._database() as database:
            return RunStore(database).latest(_ANY)

    def _last_event(self) -> float:
        """When anything happened last in any run, by the clock."""
        with self._database() as database:
            return float(database.rows("SELECT COALESCE(MAX(at), 0) AS at FROM events")[0]["at"])

    def _expect(self, what: str, found: bool) -> None:
        if not found:
            self._report.violations.append(f"not so: {what}")


def _slow_instant(settings: Settings, store: Store) -> Providers:
    providers = instant_providers(settings, store)
    search = providers.search.search

    def slow(*given: Any) -> Any:
        time.sleep(_PAUSE)
        return search(*given)

    vars(providers.search)["search"] = slow
    return providers


def main() -> int:
    """The command line over instant providers."""
    from agent.__main__ import main as command
    from agent.runs import open as opening
    from agent.runs import parts
    from agent.runs.service import Runs

    build: BuildProviders = _slow_instant
    vars(opening)["Runs"] = partial(Runs, build=build)
    vars(parts)["index_samples"] = lambda *_: None
    return command()


if __name__ == "__main__":
    sys.exit(main())
