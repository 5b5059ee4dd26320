"""Plans a deployment: how long do questions wait, and how many processes do they need?

--from-runs DIR   the seconds of each stage, from the events of the finished runs in the data folder DIR
--simulate        questions arrive at random (Poisson) and wait for a process, its processor and the chat model

A process (`python -m api`) works on --runs questions at once (STEELMAN_API_RUNS). One thread runs its embedded models,
so its questions take turns at the processor: more --runs help only while questions wait for a chat model. Give every
process cores of its own, like the machine that measured the times. The stages are search (also reading the question),
judge, write (also selecting) and verify. A question with a chat model uses the processor for search and write, and then
calls the model in steps (--calls). All processes share the model server's --slots.

The table has a row for each number of --workers. Waiting is the time to the answer minus the time of a question alone.
Queue is the number of questions without a turn: the mean, and the most at one process. The knee is the row after which
more workers hardly shorten the answer's p95. Keep utilisation below 80 % at the busiest hour. Without
--from-runs, the stages have the times of docs/scale.md.

  python -m evals scale --from-runs DIR                   print the stages' seconds
  python -m evals scale --from-runs DIR --simulate        simulate with them
  python -m evals scale --simulate --per-hour 5000 --workers 4,6,8
  python -m evals scale --simulate --chat-share 1 --slots 16 --call 6:0.5 --runs 16
"""

import argparse
import contextlib
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.runs.store import RunEvent, RunStore
from agent.settings import Settings
from evals.metrics.queueing import Question, Simulated, Stage, simulate
from evals.reports.records import Record
from evals.reports.table import block
from evals.suite import at_least, common_options, numbers
from tools.errors import InputError
from tools.store.database import Database

Seconds = dict[str, NDArray[np.float64]]
"""By stage, the seconds of each measured run, shape (runs,)."""
Spread = tuple[float, float]
"""The median and sigma of a lognormal distribution; sigma is the standard deviation of the logarithm."""

_STAGE_OF = {
    **dict.fromkeys(("frame", "expand", "retrieve", "requery", "lookup"), "search"),
    "judge": "judge",
    "select": "write",
    "write": "write",
    "verify": "verify",
}
_MEASURED: dict[str, Spread] = {
    "search": (0.07, 0.38),
    "judge": (0.2, 0.35),
    "write": (0.83, 0.17),
    "verify": (0.085, 0.11),
}
"""docs/scale.md has the commands and the machine."""
_QUANTILES, _TAILS, _USED = (0.5, 0.95, 0.99), ("p50", "p95", "p99"), ("turns", "processor", "model")
_STOPPED = {"waiting", "resumed"}  # a run with such an event contains the time of a person or of a restart
_LATEST = 10_000  # runs that are read, the latest first
_RUNS, _WAITING = (Settings.model_fields[name].default for name in ("api_runs", "api_waiting"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--simulate", action="store_true", help="simulate the deployment")
    add("--per-hour", type=_above_zero, default=1000.0, metavar="N", help="questions an hour (default: 1000)")
    add("--hours", type=_above_zero, default=8.0, metavar="H", help="hours of arrivals (default: 8)")
    add(
        "--workers", type=_counts, default=[1, 2, 3, 4, 6, 8], metavar="N[,N…]", help="processes (default: 1,2,3,4,6,8)"
    )
    add("--runs", type=at_least(1), default=_RUNS, metavar="N", help="questions at once (default: %(default)s)")
    add("--from-runs", type=Path, metavar="DIR", help="a data folder whose finished runs give the stages' seconds")
    add("--chat-share", type=float, default=0.0, metavar="P", help="share of questions with a chat model (default: 0)")
    add("--slots", type=at_least(1), default=4, metavar="N", help="calls at once of the model server (default: 4)")
    told = "seconds of a call, lognormal (default: 8:0.5, an assumption: 400 tokens at 50 tokens a second)"
    add("--call", type=_spread, default=(8.0, 0.5), metavar="MEDIAN:SIGMA", help=told)
    told = "simultaneous calls in each step (default: 1,2,4,2,2,1, an assumption: 12 calls in 6 steps)"
    add("--calls", type=_steps, default=[1, 2, 4, 2, 2, 1], metavar="N,…", help=told)
    common_options(parser, seed="seed of arrivals and times (default: 1)")


def _above_zero(text: str) -> float:
    return numbers(text, float, lambda value: 0 < value < float("inf"), "above 0")[0]


def _counts(text: str) -> list[int]:
    return sorted(numbers(text, int, lambda value: 0 < value <= 1000, "from 1 to 1000, such as 1,2,4"))


def _steps(text: str) -> list[int]:
    return [_counts(part)[0] for part in text.split(",")]


def _spread(text: str) -> Spread:
    median, _, sigma = text.partition(":")
    return _above_zero(median), numbers(sigma or "0", float, lambda value: 0 <= value <= 5, "such as 1.2:0.4")[0]


def measure(args: argparse.Namespace) -> Record:
    """Returns the measured seconds, the simulated rows, or both. Raises InputError."""
    if not (args.simulate or args.from_runs):
        raise InputError("give --simulate, or --from-runs DIR with a data folder that has finished runs.")
    if not 0 <= args.chat_share <= 1:
        raise InputError("--chat-share must be from 0 to 1.")
    seconds = seconds_of_runs(args.from_runs) if args.from_runs else {}
    result: Record = {"suite": "scale", "seed": args.seed}
    if seconds:
        result |= {"stages": _stages(seconds), "seconds": {name: values.tolist() for name, values in seconds.items()}}
    if not args.simulate:
        return result
    asked = draw(args, seconds)
    rows = {str(n): _row(simulate(asked, n, args.runs, args.slots)) for n in args.workers}
    names = "per_hour", "hours", "runs", "slots", "chat_share", "call", "calls"
    return result | {"config": {name: getattr(args, name) for name in names}, "questions": len(asked), "workers": rows}


def seconds_of_runs(folder: Path) -> Seconds:
    """Reads the seconds of each stage from the events of finished runs. Raises InputError if there are none."""
    if not (file := folder / "steelman.db").is_file():
        raise InputError(f"{folder} is no data folder: it has no steelman.db.")
    with contextlib.closing(Database(file)) as database:
        runs = RunStore(database)
        done = [run.id for run in runs.latest(_LATEST) if run.status == "done"]
        found = [times for run_id in done if (times := stage_seconds(runs.events(run_id, 0)))]
    if not found:
        raise InputError(f"{folder} has no finished runs. Ask questions first, such as `python -m agent batch`.")
    return {name: np.array([times[name] for times in found]) for name in _MEASURED}


def stage_seconds(events: Sequence[RunEvent]) -> dict[str, float]:
    """Returns the seconds of each stage: from its event to the next stage's event, or to the end of the run. Returns
    nothing for a run that waited for a person or was resumed."""
    marks = [(event.at, str(event.data.get("stage", ""))) for event in events if event.kind in ("stage", "done")]
    if not marks or marks[-1][1] or any(event.kind in _STOPPED for event in events):
        return {}
    found = dict.fromkeys(_MEASURED, 0.0)
    for (began, name), (ended, _) in itertools.pairwise(marks):
        found[_STAGE_OF.get(name, "search")] += max(0.0, ended - began)
    return found


def draw(args: argparse.Namespace, seconds: Seconds) -> list[Question]:
    """Draws the questions: the same questions for every number of workers. Raises InputError if none arrives."""
    arrivals, services = (np.random.default_rng([args.seed, part]) for part in (1, 2))
    count = int(arrivals.poisson(args.per_hour * args.hours))
    if not count:
        raise InputError("no question arrived. Raise --per-hour or --hours.")
    at = np.sort(arrivals.uniform(0, 3600 * args.hours, count))
    chat = services.random(count) < args.chat_share
    run = services.integers(len(seconds["search"]) if seconds else 1, size=count)
    times = {name: values[run] for name, values in seconds.items()}
    times |= {name: _drawn(services, spread, count) for name, spread in ({} if seconds else _MEASURED).items()}
    calls = _drawn(services, args.call, (count, sum(args.calls)))
    steps = np.split(calls, np.cumsum(args.calls)[:-1], axis=1)
    asked = []
    for i in range(count):
        own = ("search", "write") if chat[i] else tuple(_MEASURED)
        stages = [Stage("processor", (float(times[name][i]),)) for name in own]
        stages += [Stage("model", tuple(step[i].tolist())) for step in steps] if chat[i] else []
        asked.append(Question(float(at[i]), tuple(stages)))
    return asked


def _drawn(rng: np.random.Generator, spread: Spread, size: int | tuple[int, int]) -> NDArray[np.float64]:
    return rng.lognormal(np.log(spread[0]), spread[1], size)


def _stages(seconds: Seconds) -> Record:
    """Returns the mean, the quantiles and the fitted lognormal distribution of each stage and of the whole run."""
    whole = seconds | {"all": np.sum(list(seconds.values()), axis=0)}
    logs = {name: np.log(values[values > 0]) for name, values in whole.items()}
    fits = {n: {"median": float(np.exp(v.mean())), "sigma": float(v.std())} for n, v in logs.items() if len(v)}
    return {name: _figures(values) | fits.get(name, {}) for name, values in whole.items()}


def _figures(values: NDArray[np.float64]) -> Record:
    return {"mean": float(values.mean())} | {f"p{100 * q:.0f}": float(np.quantile(values, q)) for q in _QUANTILES}


def _row(found: Simulated) -> Record:
    return {
        "answer_seconds": _figures(np.array([one.took for one in found.answered])),
        "waiting_seconds": _figures(np.array([one.waited for one in found.answered])),
        "queue": {"mean": found.turns.waiting, "most": found.turns.most},
        "used": {"turns": found.turns.used, "processors": found.processors.used, "model": found.model.used},
    }


def table(result: Record) -> list[str]:
    """Returns the stages' seconds, then a row for each number of workers."""
    lines = list[str]()
    if stages := result.get("stages"):
        runs = len(result["seconds"]["search"])
        cells = {name: [f"{value:.3f}" for value in found.values()] for name, found in stages.items()}
        lines += [f"seconds of each stage, {runs} runs", *block(["mean", *_TAILS, "median", "sigma"], cells)]
    if rows := result.get("workers"):
        titles = [*(f"answer {q}" for q in _TAILS), *(f"wait {q}" for q in _TAILS), "queue", "most", *_USED]
        lines += ["", f"{result['questions']} questions, seconds; use in percent"][not lines :]
        cells = {n: [] for n in rows}
        for n, row in rows.items():
            spread = [row[kind][q] for kind in ("answer_seconds", "waiting_seconds") for q in _TAILS]
            cells[n] = [f"{value:.1f}" for value in (*spread, row["queue"]["mean"])]
            cells[n] += [str(row["queue"]["most"]), *(f"{100 * u:.0f}" for u in row["used"].values())]
        lines += block(titles, cells, "workers")
        if full := [n for n, row in rows.items() if row["queue"]["most"] > _WAITING]:
            lines.append(f"With {', '.join(full)} workers the server would refuse questions (429): more than")
            lines.append(f"STEELMAN_API_WAITING ({_WAITING}) wait at one process.")
    return lines
