"""Runs all suites. A suite is a module of `evals/suites`, with a line in `evals/__main__.py`. A suite has:

add_arguments(parser)       its options, with `common_options`
measure(args) -> Record     the result, one object for JSON
table(result) -> list[str]  its lines for people

`run` adds the time, `--json` (null for undefined measures), and the list of failures. `evals/suites/ingest.py` is
an example.

`Records` finds an item's stored reply by the item's `key`, so a stopped run continues. `ask_each` asks with
simultaneous coroutines, shows progress, and stores a failure as a record with `failed`, which stays in every
denominator. A metric (`evals/metrics`) is a `Ratio` or a `Figure` over rows. A row
begins with its question, and the bootstrap resamples questions (`evals/metrics/measure.py`). `python -m evals report`
compares `metrics`, `intervals`, `items` and `config`.
"""

import argparse
import asyncio
import math
import random
import re
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic_core import to_json
from tqdm import tqdm

from evals.metrics.measure import Figure, figures
from evals.reports.records import Record, Records
from evals.reports.table import block, number
from tools.budget import run_within
from tools.errors import InputError, ProviderDownError, ProviderReplyError, SteelmanError
from tools.models.chat.model import ChatModel

_T = TypeVar("_T")


def run(suite: ModuleType, args: argparse.Namespace) -> int:
    """Measures, and prints the result as JSON (null for undefined values) or as a table. Returns the exit status: the
    result's `status`, or 0."""
    began = time.perf_counter()
    found = suite.measure(args)
    status = found.pop("status", 0)
    result = {"seconds": time.perf_counter() - began} | found
    if args.json:
        print(to_json(result, indent=2, inf_nan_mode="null").decode())
    else:
        print("\n".join([*suite.table(result), *(f"failed: {name}" for name in result.get("failed", ()))]))
    return int(status)


FIRST = "only the first N questions of a seeded shuffle"


def common_options(parser: argparse.ArgumentParser, limit: str = "", seed: str = "", parallel: str = "") -> None:
    """Adds --json, and --limit, --seed and --parallel if they have a help text."""
    if limit:
        parser.add_argument("--limit", type=at_least(1), metavar="N", help=limit)
    if seed:
        parser.add_argument("--seed", type=at_least(0), default=1, metavar="N", help=seed)
    if parallel:
        parser.add_argument("--parallel", type=at_least(1), default=4, metavar="N", help=f"{parallel} (default: 4)")
    parser.add_argument("--json", action="store_true", help="print one object")


def names(text: str) -> list[str]:
    """Parses a comma-separated list into its distinct parts, as an argument type."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def numbers(text: str, kind: Callable[[str], _T], fits: Callable[[_T], bool], told: str) -> list[_T]:
    """Parses a comma-separated list into its distinct numbers, as an argument type. told: describes valid numbers."""
    with suppress(ValueError):
        found = list(map(kind, names(text)))
        if found and all(map(fits, found)):
            return list(dict.fromkeys(found))
    raise argparse.ArgumentTypeError(f"give numbers {told}")


def at_least(least: int) -> Callable[[str], int]:
    """Returns an argument type for a whole number."""
    return lambda text: numbers(text, int, lambda n: n >= least, f"from {least}")[0]


def cutoff_option(parser: argparse.ArgumentParser, what: str, usual: Sequence[int], most: float = math.inf) -> None:
    """Adds --k: ranks from 1 to `most`, which the parser sorts."""
    within = "above 0" if most == math.inf else f"from 1 to {most}"

    def cutoffs(text: str) -> list[int]:
        return sorted(numbers(text, int, lambda n: 0 < n <= most, f"{within}, such as 5,10"))

    told = f"{what} (default: {','.join(map(str, usual))})"
    parser.add_argument("--k", type=cutoffs, default=usual, metavar="K[,K…]", help=told)


def check_known(chosen: Iterable[str], there: Collection[str], what: str) -> None:
    """Raises InputError for an unknown name."""
    if unknown := [name for name in chosen if name not in there]:
        raise InputError(f"there is no {what} '{unknown[0]}'. There are: {', '.join(there)}.")


def shuffled(items: Sequence[_T], limit: int | None, seed: int) -> list[_T]:
    """Returns the first `limit` items of a seeded shuffle, so that a larger limit includes a smaller limit's items.
    Without a limit, returns all items unshuffled."""
    drawn = list(items)
    if limit is not None:
        random.Random(seed).shuffle(drawn)
    return drawn[:limit]


def progress(items: Iterable[Any] | None = None, **options: Any) -> "tqdm[Any]":
    """Returns a progress bar, which is silent if standard error is not a terminal."""
    return tqdm(items, disable=not sys.stderr.isatty(), **options)


async def ask_each(
    asked: Mapping[str, Callable[[], Awaitable[Record]]],
    records: Records,
    parallel: int,
    unit: str,
    fails: type[SteelmanError] = ProviderReplyError,
) -> dict[str, Record]:
    """Returns the record of each key, with `parallel` simultaneous calls. Stores errors of type `fails` in `failed`.
    Raises other errors, and ProviderDownError, so that the next run repeats the question."""
    done = records.done
    missing = [key for key in asked if key not in done]
    with progress(total=len(asked), initial=len(asked) - len(missing), unit=unit) as bar:

        async def one(key: str) -> None:
            try:
                record = await asked[key]()
            except fails as exc:
                if isinstance(exc, ProviderDownError):
                    raise
                record = {"failed": str(exc)}
            records.add(key, record)
            bar.update()

        await run_within([partial(one, key) for key in missing], parallel)
    return {key: done[key] for key in asked}


def ask_chat(
    model: ChatModel, asked: Mapping[str, Callable[[], Awaitable[Record]]], records: Records, parallel: int
) -> dict[str, Record]:
    """Returns the records of `ask_each` on answers, and closes the model."""

    async def ask() -> dict[str, Record]:
        async with aclosing(model):
            return await ask_each(asked, records, parallel, "answer")

    return asyncio.run(ask())


def peak_memory() -> float:
    """Returns the peak memory of this process in megabytes, without its parent's memory (Linux)."""
    status = Path("/proc/self/status")
    if status.exists() and (own := re.search(r"VmHWM:\s+(\d+)", status.read_text())):
        return int(own[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def reported(
    suite: str, found: Mapping[str, Figure], counts: Record, records: Records, args: argparse.Namespace
) -> Record:
    """Returns a result: counts and figures, with intervals and items, and the configuration."""
    told = figures(found, args.seed)
    over = {name: figure.total for name, figure in found.items()}
    config = records.config | {"limit": args.limit, "seed": args.seed}
    return {"suite": suite, **told, "metrics": counts | told["metrics"], "over": over, "config": config}


def figure_lines(result: Record) -> list[str]:
    """Returns a line for each measure that has an interval, with the number of items."""
    metrics, over = result["metrics"], result["over"]
    rows = {name: [number(metrics[name], ends), f"{over[name]:.0f}"] for name, ends in result["intervals"].items()}
    return block(["95 % interval", "over"], rows)
