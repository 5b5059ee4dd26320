"""The runner that all suites share. A suite is a dataset, a metric and a table: a module of `evals/suites` with

    add_arguments(parser)       its options; `common_options` adds those that several have
    measure(args) -> Record     the result, one object for JSON
    table(result) -> list[str]  its lines for people

and a line in `evals/__main__.py`. `run` here does the rest: the time, `--json`, null for what is not defined, and what
`failed`. `evals/suites/expand.py` is a small one.

An item has a `key`, by which `Records` finds what was asked before: so a run that was stopped goes on. `ask_in_parts`
asks what is asked in this process or in batches, `ask_each` coroutines side by side; both show progress, and keep
what fails as a record that says so in `failed`, which stays in every denominator. A metric (`evals/metrics`) is a
`Ratio` or a `Figure` over rows that begin with their question, by which its 95 % interval is drawn
(`evals/metrics/measure.py`). `metrics`, `intervals`, `items` and `config` are what `python -m evals report` compares.
"""

import argparse
import asyncio
import math
import random
import re
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from pydantic_core import to_json
from tqdm import tqdm

from evals.reports.records import Record, Records
from evals.reports.table import block, number
from tools.budget import batches
from tools.errors import InputError, ProviderDownError, ProviderReplyError, SteelmanError

_T = TypeVar("_T")


def run(suite: ModuleType, args: argparse.Namespace) -> int:
    """Measures and prints; returns the exit status, which is 0 unless the result has another `status`."""
    began = time.perf_counter()
    found = suite.measure(args)
    status = found.pop("status", 0)
    result = {"seconds": time.perf_counter() - began} | found
    show(args.json, result, lambda: [*suite.table(result), *(f"failed: {name}" for name in result.get("failed", ()))])
    return int(status)


# Options

FIRST = "only the first N questions of a seeded shuffle"


def common_options(
    parser: argparse.ArgumentParser, limit: str = "", seed: str = "", default_seed: int = 1, parallel: str = ""
) -> None:
    """Adds --limit, --seed and --parallel where a help text is given for them, and --json."""
    if limit:
        parser.add_argument("--limit", type=int, metavar="N", help=limit)
    if seed:
        parser.add_argument("--seed", type=int, default=default_seed, metavar="N", help=seed)
    if parallel:
        parser.add_argument("--parallel", type=int, default=4, metavar="N", help=f"{parallel} (default: 4)")
    parser.add_argument("--json", action="store_true", help="print one object")


def check_common(args: argparse.Namespace) -> None:
    """Raises InputError for a --limit or --parallel that is less than 1, or a --seed below 0."""
    for name, least in (("limit", 1), ("parallel", 1), ("seed", 0)):
        if (value := getattr(args, name, None)) is not None and value < least:
            raise InputError(f"--{name} has to be {least} or more, not {value}.")


def names(text: str) -> list[str]:
    """The parts of a list with commas, none twice: an argument's type."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def numbers(text: str, kind: Callable[[str], _T], fits: Callable[[_T], bool], told: str) -> list[_T]:
    """Those of a list with commas, none twice: for an argument's type. told: which ones are wanted."""
    with suppress(ValueError):
        found = list(map(kind, names(text)))
        if found and all(map(fits, found)):
            return list(dict.fromkeys(found))
    raise argparse.ArgumentTypeError(f"give numbers {told}")


def cutoff_option(parser: argparse.ArgumentParser, what: str, usual: Sequence[int], most: float = math.inf) -> None:
    """Adds --k, ranks from 1 to `most`, in order."""
    within = "above 0" if most == math.inf else f"from 1 to {most}"

    def cutoffs(text: str) -> list[int]:
        return sorted(numbers(text, int, lambda n: 0 < n <= most, f"{within}, such as 5,10"))

    told = f"{what} that count (default: {','.join(map(str, usual))})"
    parser.add_argument("--k", type=cutoffs, default=usual, metavar="K[,K…]", help=told)


def check_known(chosen: Iterable[str], there: Collection[str], what: str) -> None:
    """Raises InputError for a name of `what` that is not there."""
    if unknown := [name for name in chosen if name not in there]:
        raise InputError(f"there is no {what} '{unknown[0]}'. There are: {', '.join(there)}.")


# Samples


def shuffled(items: Sequence[_T], limit: int | None, seed: int) -> list[_T]:
    """The first `limit` of a seeded shuffle, so that a larger limit has the smaller one's items; all as they come
    without a limit."""
    drawn = list(items)
    if limit is not None:
        random.Random(seed).shuffle(drawn)
    return drawn[:limit]


# Asking


class Keyed(Protocol):
    """What is asked about. `key`: names it among the records."""

    @property
    def key(self) -> str: ...


_Item = TypeVar("_Item", bound=Keyed)


def progress(items: Iterable[Any] | None = None, **options: Any) -> "tqdm[Any]":
    """A progress bar; silent where standard error is no terminal."""
    return tqdm(items, disable=not sys.stderr.isatty(), **options)


def ask_in_parts(
    items: Sequence[_Item],
    ask: Callable[[Sequence[_Item]], Sequence[Record]],
    records: Records,
    size: int = 1,
    **options: Any,
) -> list[Record]:
    """A record an item, in order; `ask` is given `size` items of which at least one has none yet.

    What is asked elsewhere may be answered a little differently beside other items, so a part that a kill cut in two
    is asked whole once more: figures should not depend on where a run was stopped. ProviderReplyError, an answer
    of no use, fails the part's items once there was one of use, and is raised before.
    """
    done = records.done
    with progress(total=len(items), initial=sum(i.key in done for i in items), **options) as bar:
        for part in batches(items, size):
            if all(item.key in done for item in part):
                continue
            try:
                said = ask(part)
            except ProviderReplyError as exc:
                if all("failed" in record for record in done.values()):
                    raise
                said = [{"failed": str(exc)} for _ in part]
            for item, record in zip(part, said, strict=True):
                if item.key not in done:
                    records.add(item.key, record)
                    bar.update()
    return [done[item.key] for item in items]


async def ask_each(
    asked: Mapping[str, Callable[[], Awaitable[Record]]],
    records: Records,
    parallel: int,
    unit: str,
    fails: type[SteelmanError] = ProviderReplyError,
) -> dict[str, Record]:
    """The record of each key, so many asked side by side; one that raises such an error says so in `failed`. Raises any
    other, and ProviderDownError: what nobody could be asked is asked by the next run."""
    turn, done = asyncio.Semaphore(parallel), records.done

    async def one(key: str, ask: Callable[[], Awaitable[Record]]) -> tuple[str, Record]:
        async with turn:
            try:
                return key, await ask()
            except fails as exc:
                if isinstance(exc, ProviderDownError):
                    raise
                return key, {"failed": str(exc)}

    tasks = [asyncio.create_task(one(key, ask)) for key, ask in asked.items() if key not in done]
    with progress(total=len(asked), initial=len(asked) - len(tasks), unit=unit) as bar:
        try:
            for finished in asyncio.as_completed(tasks):
                records.add(*await finished)
                bar.update()
        finally:  # stopped, none may begin another question while the service closes
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return {key: done[key] for key in asked}


def peak_memory() -> float:
    """Megabytes that this process held at most, without its parent's (Linux). ru_maxrss: kilobytes, on macOS bytes."""
    status = Path("/proc/self/status")
    if status.exists() and (own := re.search(r"VmHWM:\s+(\d+)", status.read_text())):
        return int(own[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


class Clock(dict[str, float]):
    """Seconds by stage. Concurrent work on one stage adds up."""

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self[stage] = self.get(stage, 0.0) + time.perf_counter() - began


# Results


def show(as_json: bool, result: Any, lines: Callable[[], Iterable[str]]) -> None:
    """Prints a result: as JSON, in which null is what is not defined, or as `lines` has it."""
    print(to_json(result, indent=2, inf_nan_mode="null").decode() if as_json else "\n".join(lines()))


def figure_lines(result: Record, title: str = "95 % interval") -> list[str]:
    """A line a measure that has an interval, with over how many items it is where the result says so."""
    over = result.get("over", {})
    rows = {
        name: [number(result["metrics"][name], ends), *([f"{over[name]:.0f}"] if over else [])]
        for name, ends in result["intervals"].items()
    }
    return block([title, *(["over"] if over else [])], rows)


# Files that a suite writes beside its result


def write_new(path: Path, content: str | bytes, option: str) -> None:
    """Writes a file that `option` names, and makes its folder. Raises InputError where it is there already or cannot be
    written."""
    refuse_existing(path, option)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as exc:
        raise InputError(f"{path} cannot be written ({exc.strerror or exc}).") from exc


def refuse_existing(path: Path | None, option: str) -> None:
    """Raises InputError where the file that `option` names is there already: said before an hour's work."""
    if path and path.exists():
        raise InputError(f"{path} is there already. Name another file for {option}.")
