"""What happens when something outside fails, and when somebody sends what nobody would.

A table: each outside part (chat model, judge, encoder, search engine, web pages, Chroma server), played by a server on
this machine, fails in each of nineteen ways at each stage of the run that asks it, one run a cell. A cell says how its
run ended, and after how many seconds:

noted     in an answer whose notes name the failure
unharmed  in the same answer as on a good day
error     in one line that says what failed and what to do
BROKEN    against the rule, twice, the second time alone and with three times the deadline: late or never, by a
          traceback, in a changed answer that does not say so, in 'nothing was found' where nothing could be searched,
          or with a key in its text. Exit status 1.

--fuzz N: so many inputs over the doors: questions, options, command lines, follow-ups, files, requests made from the
server's own OpenAPI document, near-valid bodies, completions, MCP, event ids. Wrong are a 5xx, an exception that is
none of Steelman's, a reply that the document does not name, a valid request refused, an invalid one accepted.

--kills N: so many processes of all writers together, as many of each, are killed at a random moment of their work;
wrong is whatever is lost or doubled then, and a process that ended by itself.
"""

import argparse
import contextlib
import math
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evals.faults import fuzz, kills
from evals.faults.doors_here import check_installed, here
from evals.faults.doors_server import DOORS, every_door
from evals.faults.fuzz import chunks, fuzzed, part_of
from evals.faults.injected import FAULTS
from evals.faults.kills import WRITERS
from evals.faults.matrix import DEADLINE, MARGIN, Cell, Matrix
from evals.faults.parts import PARTS
from evals.suite import common_options, names, progress, show, show_docstring
from tools.errors import InputError

_WRITERS = f"of {', '.join(WRITERS)}"
_AGAIN = 3.0
_QUICK = ("reset", "hang", "429", "500", "HTML", "wrong shape", "wrong count", "NaN")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="eight faults, each at one stage of each part: two minutes at most")
    add("--parts", type=names, default=list(PARTS), metavar="PART[,…]", help=f"of {', '.join(PARTS)} (default: all)")
    add("--faults", type=names, default=list(FAULTS), metavar="FAULT[,…]", help=f"of {', '.join(FAULTS)}")
    add("--deadline", type=float, default=DEADLINE, metavar="S", help="seconds of a run (default: %(default)s)")
    inputs = parser.add_argument_group("hostile inputs in the place of the table")
    inputs.add_argument(
        "--fuzz", type=int, metavar="N", help="so many inputs over all doors; Ctrl-C tells what was done"
    )
    inputs.add_argument("--doors", type=names, default=list(DOORS), metavar="DOOR[,…]", help=f"of {', '.join(DOORS)}")
    inputs.add_argument("--part", default="1/1", metavar="K/N", help="the Kth of N parts of them")
    inputs.add_argument("--record", type=Path, metavar="FILE", help="what was done stands here, and is not done again")
    killed = parser.add_argument_group("killed processes in the place of the table")
    killed.add_argument("--kills", type=int, metavar="N", help="kills in all, divided evenly among the writers")
    killed.add_argument("--writers", type=names, default=list(WRITERS), metavar="WRITER[,…]", help=_WRITERS)
    common_options(parser, parallel="runs at a time", seed="of the hostile inputs and the moments of kills")


def run(args: argparse.Namespace) -> int:
    """Measures and prints what was wanted; 1 where something is wrong. Raises InputError."""
    chosen_of = ((args.parts, PARTS), (args.faults, FAULTS), (args.doors, DOORS), (args.writers, WRITERS))
    for chosen, known in chosen_of:
        if unknown := [name for name in chosen if name not in known]:
            raise InputError(f"there is no '{unknown[0]}'. There are: {', '.join(known)}.")
    for name in ("fuzz", "kills"):
        if (wanted := getattr(args, name)) is not None and wanted < 1:
            raise InputError(f"--{name} has to be 1 or more, not {wanted}.")
    if args.fuzz:
        return _fuzz(args)
    return _kill(args) if args.kills else _fail(args)


def _fail(args: argparse.Namespace) -> int:
    if not 0 < args.deadline < math.inf:
        raise InputError(f"--deadline has to be more than 0, not {args.deadline}.")
    with tempfile.TemporaryDirectory() as folder:
        cells = measured(Matrix(Path(folder), args.deadline), args.parts, args.faults, args.parallel, quick=args.quick)
    broken = [cell for cell in cells if cell.broken]
    result = {
        "suite": "faults",
        "deadline_seconds": args.deadline,
        "margin_seconds": MARGIN,
        "cells": len(cells),
        "broken": len(broken),
        "items": [cell.as_row() for cell in cells],
    }
    show(args.json, result, lambda: table(cells))
    return 1 if broken else 0


def _fuzz(args: argparse.Namespace) -> int:
    check_installed()
    shares = {door: share for door, share in DOORS.items() if door in args.doors}
    wanted = list(chunks(shares, args.fuzz, part_of(args.part)))
    opened = every_door() if set(args.doors) - here().keys() else contextlib.nullcontext(here())
    found = fuzzed(opened, wanted, args.seed, args.record)
    result = {"suite": "faults", "seed": args.seed, "doors": {door: f.as_row() for door, f in found.items()}}
    show(args.json, result, lambda: fuzz.table(found))
    return 1 if any(f.wrong_count for f in found.values()) else 0


def _kill(args: argparse.Namespace) -> int:
    reports, seconds = {}, {}
    for writer, share in kills.shares(args.kills, list(dict.fromkeys(args.writers))).items():
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            reports[writer] = WRITERS[writer](share, Path(folder), args.seed)
        seconds[writer] = round((time.monotonic() - began) / share, 1)
    rows = {
        writer: {**report.figures, "seconds_a_kill": seconds[writer], "violations": list(report.violations)}
        for writer, report in reports.items()
    }
    result = {"suite": "faults", "kills": kills.killed(reports), "seed": args.seed, "writers": rows}
    show(args.json, result, lambda: kills.table(reports, seconds))
    return 1 if any(report.violations for report in reports.values()) else 0


def measured(
    matrix: Matrix, parts: Sequence[str], faults: Sequence[str], parallel: int, *, quick: bool = False
) -> list[Cell]:
    """The cells in the order of the table."""
    chosen = [(part, *cell) for part in parts for cell in matrix.cells_of(part) if cell[0] in faults]
    if quick:
        chosen = list(_one_stage_each([c for c in chosen if c[1] in _QUICK]))
    with ThreadPoolExecutor(parallel) as threads, progress(total=len(chosen), unit="run") as bar:
        cells = []
        for cell in threads.map(lambda c: matrix.cell(*c), chosen):
            cells.append(cell)
            bar.update()
    # A busy machine is no fault of the agent: what broke the rule beside others has to do so alone, with more time.
    return [matrix.cell(c.part, c.fault, c.stage, times=_AGAIN) if c.broken else c for c in cells]


def _one_stage_each(chosen: Sequence[tuple[str, str, str]]) -> Iterable[tuple[str, str, str]]:
    """Each fault of each part once, at a stage that changes from fault to fault."""
    for part in dict.fromkeys(part for part, _, _ in chosen):
        for turn, fault in enumerate(dict.fromkeys(f for p, f, _ in chosen if p == part)):
            stages = [stage for p, f, stage in chosen if (p, f) == (part, fault)]
            yield part, fault, stages[turn % len(stages)]


def table(cells: Sequence[Cell]) -> str:
    """Rows of part and fault, columns of stages; below it what broke the rule."""
    lines = []
    for part in dict.fromkeys(cell.part for cell in cells):
        mine = [cell for cell in cells if cell.part == part]
        stages = [s for s in PARTS[part].stages if any(c.stage == s for c in mine)]
        lines += ["", f"{part:<16}" + "".join(f"{stage:>15}" for stage in stages)]
        for fault in dict.fromkeys(cell.fault for cell in mine):
            shown = {c.stage: _shown(c) for c in mine if c.fault == fault}
            lines.append(f"  {fault:<14}" + "".join(f"{shown.get(stage, ''):>15}" for stage in stages))
    broken = [f"{c.part}, {c.fault}, {c.stage}: {c.broken}. {c.said}" for c in cells if c.broken]
    lines += ["", f"{len(cells)} runs, {len(broken)} against the rule", *broken]
    return "\n".join(lines).lstrip("\n") + "\n"


def _shown(cell: Cell) -> str:
    return f"{'BROKEN' if cell.broken else cell.ended} {cell.seconds:.1f}"
