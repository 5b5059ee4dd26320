"""A whole `ask`, with both of the embedded judge's models as it is used, or with one of them for everything.

`python -m evals.benchmarks.ask small|larger QUESTION` is what a process of one model does: the command `ask` but for
its judge, which no setting offers.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.settings import Settings
from evals.judges import Larger
from tools.inference.int8 import load_model
from tools.inference.judges.close import as_read, load_close_model
from tools.inference.judges.embedded import EmbeddedJudge, judge_files, read_calibration
from tools.inference.judges.judge import Judge, Pair

JUDGES = ("small", "larger", "both")
ROUNDS = 5


@dataclass
class LargerAlone(Larger):
    """The larger model for all that is judged; a text beside two statements is read once, whichever side asks."""

    threshold: float = 0.5
    sentence_threshold: float = 0.5
    known: dict[Pair, NDArray[np.float32]] = field(default_factory=dict)

    def stances(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        read = [as_read(p) for p in pairs]
        new = [p for p in dict.fromkeys(read) if p not in self.known]
        self.known.update(zip(new, super().stances(new), strict=True))
        rows = [self.known[q][:: 1 if q.statement == p.statement else -1] for p, q in zip(pairs, read, strict=True)]
        return np.asarray(rows, np.float32).reshape(len(pairs), 2)


def bench_ask(judge: str = "both") -> dict[str, float]:
    """A second `ask`: samples indexed, a question that was not asked before, process start included."""
    from agent.samples import sample_questions

    command = ["-m", "agent", "ask"] if judge == "both" else ["-m", "evals.benchmarks.ask", judge]
    questions = list(sample_questions().values())
    with tempfile.TemporaryDirectory() as data:
        environment = {"STEELMAN_DATA_DIR": data}
        first = process([*command, questions[0]], environment)
        taken = [process([*command, q], environment) for q in questions[1 : ROUNDS + 1]]
    return {
        "first_seconds": first.seconds,
        "second_seconds": statistics.median(t.seconds for t in taken),
        "slowest_seconds": max(t.seconds for t in taken),
        "processor_seconds": statistics.median(t.processor_seconds for t in taken),
        "peak_memory_mb": max(t.memory_mb for t in taken),
    }


class Taken(NamedTuple):
    """What a process took: by the clock, of the processors (which others lengthen less), and of memory at most."""

    seconds: float
    processor_seconds: float
    memory_mb: float


def process(command: list[str], environment: dict[str, str]) -> Taken:
    """Runs a Python process to its end."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    return Taken(round(seconds, 2), round(usage.ru_utime + usage.ru_stime, 2), round(usage.ru_maxrss / 1024, 1))


def _judge(which: str, _: Settings) -> Judge:
    if which == "larger":
        return LargerAlone(load_close_model())
    model = load_model(judge_files(), lambda _: True, "judge")
    return EmbeddedJudge(model, "small-model", read_calibration())


async def _ask(which: str, question: str) -> None:
    from agent.commands.ask import follow, print_answer
    from agent.providers.build import build_providers
    from agent.runs.open import open_runs
    from agent.runs.parts import usual_options

    async with open_runs(build=partial(build_providers, own_judge=partial(_judge, which))) as runs:
        print_answer(await follow(runs, await runs.start(question, usual_options(runs))), as_json=False)


if __name__ == "__main__":
    asyncio.run(_ask(sys.argv[1], sys.argv[2]))
