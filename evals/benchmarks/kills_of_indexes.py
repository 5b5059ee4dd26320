"""Processes killed at random moments while they replace documents: whether the next one finds all that is stored.

`python -m evals.benchmarks.kills_of_indexes FOLDER ROUND` is the process that is killed: it replaces documents without
end, with vectors of the embedded encoder.
"""

import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.benchmarks.stored import Opened, kill, problems_of, text_of

_COLLECTION = "killed"
_DOCUMENTS, _AT_ONCE = 400, 80  # the second are replaced by one change; Chroma writes its files now and then
_LATEST = 2.5  # seconds after its first change within which a process is killed
_ASKED = 8  # documents that are searched for after each kill
_OPENING = 180.0  # seconds at most
_ROOT = Path(__file__).parents[2]
_NAMES = [f"d{n}" for n in range(_DOCUMENTS)]
_STATES = 1_000  # of a round, at most


@dataclass
class Report:
    """kills: of processes at work. healed: how often an index was made again. violations: what was lost, doubled,
    missed or refused, in words, and processes that ended by themselves; none is what is wanted."""

    kills: int = 0
    healed: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def figures(self) -> dict[str, Any]:
        return {"kills": self.kills, "indexes made again": self.healed}


def kill_while_replacing(kills: int, folder: Path, seed: int = 0) -> Report:
    """Kills so many processes at random moments while they replace documents, and looks after each at what is stored
    and found by a process that is told nothing. The folder is made."""
    report, chance = Report(), random.Random(seed)
    with closing(Opened(folder)) as opened:
        opened.put(_COLLECTION, {name: text_of(name, 0) for name in _NAMES})
    for turn in range(1, kills + 1):
        if died := killed_at(folder, turn, chance.uniform(0.0, _LATEST)):
            report.violations.append(f"before kill {turn}: {died}")
        else:
            report.kills += 1
        asked = chance.sample(_NAMES, _ASKED)
        look = [sys.executable, "-m", "evals.benchmarks.kills_of_indexes", str(folder), "look", str(turn), *asked]
        done = subprocess.run(look, capture_output=True, text=True, timeout=_OPENING, cwd=_ROOT, check=False)
        report.healed += done.stderr.count("is made again from the store")
        said = done.stdout.splitlines() or ([] if not done.returncode else [done.stderr[-500:] or "died in silence"])
        report.violations += [f"after kill {turn}: {line}" for line in said]
    return report


def killed_at(folder: Path, turn: int, seconds: float) -> str:
    """Starts a process that replaces documents and kills it so many seconds after it began with that; how it ended
    where that was not by the kill, else empty."""
    command = [sys.executable, "-m", "evals.benchmarks.kills_of_indexes", str(folder), "replace", str(turn)]
    log = folder / "replacing.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, cwd=_ROOT) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            if kill(process):
                return ""
    return f"the process that replaces ended by itself ({process.returncode}): {log.read_text()[-500:]}"


def _main(folder: str, task: str, turn: str, *asked: str) -> int:
    if task == "look":
        print("\n".join(_problems(Path(folder), int(turn), asked)), end="")
        return 0
    chance, state = random.Random(int(turn)), int(turn) * _STATES
    opened = Opened(Path(folder))
    print("replacing", flush=True)
    while True:
        state += 1
        opened.put(_COLLECTION, {name: text_of(name, state) for name in chance.sample(_NAMES, _AT_ONCE)})


def _problems(folder: Path, turn: int, asked: Sequence[str]) -> list[str]:
    with closing(Opened(folder)) as opened:
        stored = opened.texts(_COLLECTION)
    states = {name: int(text.removesuffix(".").rpartition(" ")[2]) for name, text in stored}
    known = {name: state for name, state in states.items() if state < (turn + 1) * _STATES}
    wanted = {name: [text_of(name, known[name])] if name in known else [] for name in _NAMES}
    return problems_of(folder, _COLLECTION, wanted, asked, ended_well=False)


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
