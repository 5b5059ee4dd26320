"""Expansion against gold perspectives: does the chat model that is set find a question's perspectives?

Gold and found perspectives are matched one to one so that their cosines are largest; a gold one is found where the
cosine is at least 0.9 under the encoder, and where the gold ones differ in polarity (the parity of their negators), the
two have the same.
"""

import argparse
import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.datasets.rows import json_rows
from evals.metrics.expansion import GoldRow, perspective_measures
from evals.metrics.ratio import Ratio
from evals.reports.records import Record, header
from evals.suite import common_options, json_lines, number, refuse_existing, sample, show, write_new
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of *.jsonl with questions and perspectives")
    add("--out", type=Path, metavar="FILE", help="keep a record a question there, and go on with it when stopped")
    add("--failures", type=Path, metavar="FILE", help="write the rows that are not close as jsonl")
    common_options(
        parser,
        limit="a sample of N rows",
        seed="seed of the sample",
        default_seed=0,
        parallel="questions to the chat model at once",
    )


def run(args: argparse.Namespace) -> int:
    """Ask, measure and print. Raises InputError when the folder holds no row that counts."""
    refuse_existing(args.failures, "--failures")
    rows = list(read_rows(args.data))
    if not rows:
        raise InputError(
            f"{args.data} has no *.jsonl rows with `question` and two `perspectives`. Give another --data."
        )
    return _run_perspectives(args, sample(rows, args.limit, args.seed), fingerprint(rows))


def _run_perspectives(args: argparse.Namespace, rows: Sequence[GoldRow], data: str) -> int:
    from evals.answering.perspectives import ask_perspectives

    found, config = asyncio.run(ask_perspectives(rows, data, args.out, args.parallel))
    if args.failures:
        write_new(
            args.failures,
            json_lines(map(asdict, [f for f in found if f.failed or f.close < len(f.row.gold)])),
            "--failures",
        )
    failed = [f"{f.row.question}: {f.failed}" for f in found if f.failed]
    counts = {"rows": len(rows), "failed": len(failed)}
    result = report(counts, perspective_measures(found), config, args, failed)
    named = "".join(f"failed: {name}\n" for name in failed)
    show(args.json, result, lambda: f"rows {len(rows)}\n{_intervals(result)}{named}")
    return 0


def read_rows(folder: Path) -> Iterator[GoldRow]:
    """Rows with two perspectives or more; from `*.dev.jsonl`, or from every `*.jsonl`
    where there is none. Raises InputError with file, line and field."""
    for path in _files(folder):
        for row in json_rows(path):
            question, gold = row.text("question"), row.items("perspectives")
            if wrong := [i for i, p in enumerate(gold, start=1) if not isinstance(p, str) or not p.strip()]:
                raise row.wrong(f"'perspectives' item {wrong[0]} has to be text.")
            if len(gold) >= 2:
                yield GoldRow(path.name.split(".")[0], question, tuple(gold), row.number)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.dev.jsonl")) or sorted(folder.glob("*.jsonl"))


def fingerprint(rows: Sequence[GoldRow]) -> str:
    """Changes when a question or a gold perspective does, so that records of other data are not gone on with."""
    return hashlib.sha256(json.dumps([asdict(row) for row in rows]).encode()).hexdigest()[:12]


def report(
    counts: Record, measures: dict[str, Ratio], config: Record, args: argparse.Namespace, failed: Sequence[str]
) -> dict[str, Any]:
    """One object: metrics, intervals, config, and what failed by name. What is not defined is null."""
    head = header("expand", config | {"data": args.data.name, "limit": args.limit, "seed": args.seed})
    return {
        "suite": "expand",
        "metrics": counts | {name: number(m.value) for name, m in measures.items()},
        "intervals": {name: [number(end) for end in m.interval()] for name, m in measures.items()},
        "items": {name: m.rows for name, m in measures.items()},
        "config": head["config"] | {"versions": head["versions"], "prompts": head["prompts"]},
        "failed": list(failed),
    }


def _intervals(result: dict[str, Any]) -> str:
    lines = [f"{'':<24}{'value':>8}  95 % interval by question"]
    for name, ends in result["intervals"].items():
        low, high = ("n/a" if end is None else f"{end:.3f}" for end in ends)
        value = result["metrics"][name]
        lines.append(f"{name:<24}{'n/a' if value is None else f'{value:.3f}':>8}  [{low}, {high}]")
    return "\n".join(lines) + "\n"
