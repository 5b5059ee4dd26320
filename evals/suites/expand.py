"""Expansion against gold perspectives: does the grammar find the two sides of a yes-or-no question, and with
`--perspectives`, does the chat model that is set find the perspectives? Data with gold readings instead (`kind`,
`neutral`, `sides`) measure the reading of any question; `evals/datasets/readings.py` says how.

For the grammar a question with exactly two gold perspectives counts, in whatever language it is and whether or not it
can be framed. The predicted pair is claim and negation, or the two alternatives of a choice; it is compared in the
order that matches.

exact           both statements equal the gold ones once case, punctuation, white space and contractions are folded
close           both cosines are at least 0.9 under the encoder, and both statements have their gold one's polarity
wrong_polarity  the order in which the statements are more alike is not the one in which their polarity agrees
nearest_opposite  a predicted statement alone is nearest to a gold one that says the opposite: stricter, and noisy where
                a gold statement is misspelt or paraphrased
no_claim        the question was framed as something without sides

Polarity is the parity of negators. Where the gold statements themselves do not differ in it ('X is better than Y',
'Y is better than X') it says nothing, and the cosines decide alone.
"""

import argparse
import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.settings import load_settings
from evals.datasets.readings import judge_readings, read_readings
from evals.datasets.rows import json_rows
from evals.metrics.expansion import (
    MEASURES,
    GoldRow,
    Verdict,
    perspective_measures,
    predict,
    verdict_of,
    verdict_shares,
)
from evals.metrics.question_framing import GoldReading, reading_shares
from evals.metrics.ratio import Ratio
from evals.reports.records import Record, Records, Shape, header
from evals.suite import common_options, json_lines, number, progress, refuse_existing, sample, show, write_new
from tools.errors import InputError
from tools.inference.encoders.encoder import Encoder, load_encoder
from tools.language.grammar import frame

_SHAPE = Shape(
    always=dict.fromkeys(("predicted", "cosines"), (list,))
    | dict.fromkeys(("exact", "close", "wrong_polarity", "nearest_opposite"), (bool,))
    | {"form": (str,)}
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of *.jsonl with questions and perspectives")
    add("--perspectives", action="store_true", help="ask the chat model that is set for its perspectives")
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
    """Measure and print. Raises InputError when the folder holds no row that counts."""
    refuse_existing(args.failures, "--failures")
    if not args.perspectives and (readings := list(read_readings(_files(args.data)))):
        return _run_readings(args, readings)
    rows = list(read_rows(args.data, most=None if args.perspectives else 2))
    if not rows:
        raise InputError(
            f"{args.data} has no *.jsonl rows with `question` and two `perspectives`. Give another --data."
        )
    data = fingerprint(rows)
    rows = sample(rows, args.limit, args.seed)
    return _run_perspectives(args, rows, data) if args.perspectives else _run_grammar(args, rows, data)


def _run_grammar(args: argparse.Namespace, rows: Sequence[GoldRow], data: str) -> int:
    encoder = load_encoder(load_settings().cache_dir)
    config = {"expander": "grammar", "encoder": encoder.name, "questions": data}
    with Records(args.out, "expand", config, _SHAPE) as records:
        verdicts = judge(rows, encoder, records)
    if args.failures:
        write_new(
            args.failures,
            json_lines(map(asdict, [v for v in verdicts if not v.close or v.wrong_polarity])),
            "--failures",
        )
    shares = verdict_shares(verdicts)
    sets = summarise(verdicts)
    result = report({"rows": len(rows)}, shares, config, args, []) | {"sets": sets}
    show(args.json, result, lambda: _table(sets) + _intervals(result))
    return 0


def _run_readings(args: argparse.Namespace, rows: Sequence[GoldReading]) -> int:
    if args.out:
        raise InputError("Readings take a moment, and no --out is kept of them. Leave it out.")
    data = fingerprint(rows)
    rows = sample(rows, args.limit, args.seed)
    encoder = load_encoder(load_settings().cache_dir)
    verdicts = judge_readings(rows, encoder)
    if args.failures:
        write_new(
            args.failures,
            json_lines(map(asdict, [v for v in verdicts if not v.right_kind or (v.row.sides and not v.close)])),
            "--failures",
        )
    config = {"expander": "grammar", "encoder": encoder.name, "questions": data}
    result = report({"rows": len(rows)}, reading_shares(verdicts), config, args, [])
    show(args.json, result, lambda: f"rows {len(rows)}\n{_intervals(result)}")
    return 0


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


def read_rows(folder: Path, most: int | None = 2) -> Iterator[GoldRow]:
    """Rows with two perspectives and up to `most`, None being any number; from `*.dev.jsonl`, or from every `*.jsonl`
    where there is none. Raises InputError with file, line and field."""
    for path in _files(folder):
        for row in json_rows(path):
            question, gold = row.text("question"), row.items("perspectives")
            if wrong := [i for i, p in enumerate(gold, start=1) if not isinstance(p, str) or not p.strip()]:
                raise row.wrong(f"'perspectives' item {wrong[0]} has to be text.")
            if 2 <= len(gold) <= (len(gold) if most is None else most):
                yield GoldRow(path.name.split(".")[0], question, tuple(gold), row.number)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.dev.jsonl")) or sorted(folder.glob("*.jsonl"))


def fingerprint(rows: Sequence[GoldRow] | Sequence[GoldReading]) -> str:
    """Changes when a question or a gold perspective does, so that records of other data are not gone on with."""
    return hashlib.sha256(json.dumps([asdict(row) for row in rows]).encode()).hexdigest()[:12]


def judge(rows: Sequence[GoldRow], encoder: Encoder, records: Records) -> list[Verdict]:
    """A verdict a row, in the order of the rows; those that the records hold are taken from there, others are added."""
    known = {row.key: _verdict(row, records.done[row.key]) for row in rows if row.key in records.done}
    if any(row.key not in known for row in rows):
        for verdict in _judged(rows, encoder):
            if verdict.row.key not in known:
                known[verdict.row.key] = verdict
                records.add(verdict.row.key, asdict(verdict))
    return [known[row.key] for row in rows]


def _judged(rows: Sequence[GoldRow], encoder: Encoder) -> Iterator[Verdict]:
    """All rows are encoded at once, so that figures do not depend on how often a run was stopped."""
    framings = [frame(row.question) for row in progress(rows, unit="question")]
    pairs = [predict(framing) for framing in framings]
    vectors = encoder.encode([text for row, pair in zip(rows, pairs, strict=True) for text in (*row.gold, *pair)])
    at = 0
    for row, framing, pair in zip(rows, framings, pairs, strict=True):
        gold, predicted = vectors[at : at + 2], vectors[at + 2 : at + 2 + len(pair)]
        at += 2 + len(pair)
        yield verdict_of(row, framing.form, pair, predicted @ gold.T)


def _verdict(row: GoldRow, record: Record) -> Verdict:
    values: dict[str, Any] = {name: record[name] for name in _SHAPE.always}
    return Verdict(row, **values | {"predicted": tuple(record["predicted"]), "cosines": tuple(record["cosines"])})


def summarise(verdicts: Sequence[Verdict]) -> dict[str, dict[str, float]]:
    """Counts and shares per file and in total; the denominator is every row of the file."""
    report: dict[str, dict[str, float]] = {}
    for source in [*sorted({verdict.row.source for verdict in verdicts}), "total"]:
        chosen = [verdict for verdict in verdicts if source in (verdict.row.source, "total")]
        report[source] = {"rows": len(chosen)}
        for measure in MEASURES:
            count = sum(getattr(verdict, measure) for verdict in chosen)
            report[source] |= {measure: count, f"{measure}_share": round(count / len(chosen), 4)}
    return report


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


def _table(sets: dict[str, dict[str, float]]) -> str:
    lines = [f"{'':<14}{'rows':>6}" + "".join(f"{measure:>18}" for measure in MEASURES)]
    for source, figures in sets.items():
        cells = "".join(f"{int(figures[m]):>10} {figures[f'{m}_share']:>6.1%}" for m in MEASURES)
        lines.append(f"{source:<14}{int(figures['rows']):>6}" + cells)
    return "\n".join(lines) + "\n\n"


def _intervals(result: dict[str, Any]) -> str:
    lines = [f"{'':<24}{'value':>8}  95 % interval by question"]
    for name, ends in result["intervals"].items():
        low, high = ("n/a" if end is None else f"{end:.3f}" for end in ends)
        value = result["metrics"][name]
        lines.append(f"{name:<24}{'n/a' if value is None else f'{value:.3f}':>8}  [{low}, {high}]")
    return "\n".join(lines) + "\n"


def _write_failures(path: Path | None, failed: Sequence[Any]) -> None:
    if path:
        write_new(path, json_lines(map(asdict, failed)), "--failures")
