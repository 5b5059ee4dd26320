"""`python -m agent ingest` and `rebuild` killed at random moments and given again: nothing is lost or doubled.

Before each ingest some files of a folder are written anew, and one is added. After a kill each document is stored once
at most, as it was before or as its file is now; when the same command has been given again and ended, each is as its
file is, is found, and the indexes are whole.
"""

import os
import random
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.benchmarks.stored import Opened, kill, problems_of, text_of, unlike

_COLLECTION = "folder"
_FILES, _CHANGED, _ASKED = 24, 12, 4
_REBUILDS = 0.25  # the share of kills that meet a rebuild
_EARLIEST = 0.3  # of the time that a command takes; before that it is still starting
_ROOT = Path(__file__).parents[2]


@dataclass
class IngestKills:
    """kills: of commands at work. ended: commands that had ended before theirs came."""

    violations: list[str] = field(default_factory=list)
    kills: int = 0
    ended: int = 0

    @property
    def figures(self) -> dict[str, Any]:
        return {"kills": self.kills, "ended before": self.ended}


def kill_while_ingesting(kills: int, folder: Path, seed: int) -> IngestKills:
    """So many kills, but for as many commands as had ended before theirs came twice. The data is made in `folder`."""
    ingests = _Ingests(folder, random.Random(seed))
    ingests.whole(_ingest(ingests.files), "the first ingest")
    report = ingests.report
    while report.kills < kills and report.ended < 2 * kills and len(report.violations) < kills:
        ingests.turn()
    return report


def _ingest(files: Path) -> list[str]:
    return ["ingest", str(files), "--collection", _COLLECTION]


class _Ingests:
    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.report = IngestKills()
        self.files, self._data, self._log = folder / "files", folder / "data", folder / "log"
        self._rng = rng
        self._states: dict[Path, int] = {}
        self._earlier: dict[str, str] = {}  # texts as the last ingest that ended has stored them
        self._took: dict[str, float] = {}  # seconds, by command
        self.files.mkdir(parents=True)
        for _ in range(_FILES):
            self._write(self._next())

    def turn(self) -> None:
        """A command that is killed, and given again."""
        command = ["rebuild"] if self._rng.random() < _REBUILDS else _ingest(self.files)
        if command[0] == "ingest":
            for file in [*self._rng.sample(list(self._states), _CHANGED), self._next()]:
                self._write(file)
        took = self._took.get(command[0], self._took["ingest"])
        when = f"after kill {self.report.kills + 1}, of {command[0]}"
        process = self._start(command)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._rng.uniform(_EARLIEST, 1.0) * took)
        if kill(process):
            self.report.kills += 1
        else:
            self.report.ended += 1
            self._check_end(process, f"{command[0]}, not killed")
        with closing(Opened(self._data)) as opened:
            stored = opened.texts(_COLLECTION)
        now, before = self._now(), self._earlier
        wanted = {name: [text, before.get(name, text)] for name, text in now.items()}
        self._tell(when, unlike(stored, wanted, now.keys() - before.keys()))
        self.whole(command, when)

    def whole(self, command: list[str], when: str) -> None:
        """The command to its end, after which all has to be as the files are."""
        began = time.monotonic()
        process = self._start(command)
        process.wait()
        self._took[command[0]] = time.monotonic() - began
        self._check_end(process, f"{when}, {command[0]} again")
        now = self._earlier = self._now()
        wanted = {name: [text] for name, text in now.items()}
        self._tell(
            f"{when} and again", problems_of(self._data, _COLLECTION, wanted, self._rng.sample(list(now), _ASKED))
        )

    def _start(self, command: list[str]) -> "subprocess.Popen[bytes]":
        environment = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "HOME") if name in os.environ}
        environment |= {"STEELMAN_DATA_DIR": str(self._data)}
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "agent", *command], cwd=_ROOT, env=environment, stdout=log, stderr=log
            )

    def _check_end(self, process: "subprocess.Popen[bytes]", when: str) -> None:
        if process.returncode:
            said = self._log.read_text(encoding="utf-8", errors="replace")[-500:]
            self.report.violations.append(f"{when}: exit status {process.returncode}: {said}")

    def _tell(self, when: str, problems: list[str]) -> None:
        self.report.violations += [f"{when}: {problem}" for problem in problems]

    def _now(self) -> dict[str, str]:
        return {str(file): text_of(file.stem, state) for file, state in self._states.items()}

    def _next(self) -> Path:
        return self.files / f"d{len(self._states)}.txt"

    def _write(self, file: Path) -> None:
        self._states[file] = self._states.get(file, -1) + 1
        file.write_text(text_of(file.stem, self._states[file]) + "\n", encoding="utf-8")
