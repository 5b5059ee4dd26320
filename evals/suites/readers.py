"""What people say of what an answer shows: a sheet to be read without knowing the answer, and what readers made of it.

    python -m evals answers --set NAME --data DIR --out ANSWERS.jsonl
    python -m evals readers --answers ANSWERS.jsonl … --out SHEET.jsonl
    python -m evals readers --framings [LINES.jsonl …] --out SHEET.jsonl
    python -m evals readers --sheet SHEET.jsonl --labels FIRST.jsonl SECOND.jsonl

The sheet has a row for each sampled quotation and for each document that counts for a side, with the question, its two
statements in random order, the words and the passage around them; and one for each pair of statements. Which side the
answer put the words under is in SHEET.key.jsonl, which readers do not open. A reader writes a line a row, {"id": 1,
"label": "one"}, or the row itself with its label: 'one' or 'other' for the statement that the words argue for in their
passage, 'neither'; of a pair of statements 'good', or 'nonsense' where no person would write them for that question.

Of lines as people type them (`evals/gold/typed.jsonl`, or files of {"question": …}) the sheet shows each with the
question that a run would ask and the statements of its sides, in random order. The reader writes 'sensible', 'nonsense'
where nobody would write that, or 'other' where it is well-formed and about something else; lines whose sides are left
to the sources are read too.

case, leaning, counted   the words argue for the side that they stand under, by the words' place in the answer
framing                  the statements are 'good'
line                     what was made of a typed line is 'sensible'
stated nonsense          the share of those lines alone whose sides are statements, not Yes and No to the question
agree                    both readers say the same
All readers count alike. Intervals: 95 %, bootstrapped by question.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.answer.model import Answer, AnswerPerspective
from evals.datasets.rows import json_rows
from evals.datasets.typed_lines import TYPED, line_rows
from evals.metrics.ratio import Ratio
from evals.reports.records import Record, read_records
from evals.suite import (
    common_options,
    interval_table,
    json_lines,
    refuse_existing,
    show,
    show_docstring,
    with_intervals,
    write_new,
)
from tools.errors import InputError

KINDS = ("case", "leaning", "counted", "framing", "line")
_SIDES, _PAIRS, _LINES = ("one", "other", "neither"), ("good", "nonsense"), ("sensible", "nonsense", "other")
_LABELS = dict.fromkeys(KINDS, _SIDES) | {"framing": _PAIRS, "line": _LINES}
_WORDS = tuple(dict.fromkeys((*_SIDES, *_PAIRS, *_LINES)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--answers", type=Path, nargs="+", metavar="FILE", help="answers of the suite 'answers', to make a sheet of")
    add("--framings", type=Path, nargs="*", metavar="FILE", help="typed lines to frame, and to make a sheet of")
    add("--out", type=Path, metavar="SHEET", help="where the sheet goes, with its key beside it")
    add("--each", type=int, default=100, metavar="N", help="rows of a kind at most (default: 100)")
    add("--sheet", type=Path, metavar="SHEET", help="a sheet that was read")
    add("--labels", type=Path, nargs="+", metavar="FILE", help="what its readers say, a file each")
    common_options(parser, seed="of the sample, the order, the intervals")


def run(args: argparse.Namespace) -> int:
    """Makes a sheet, or counts what its readers say. Raises InputError."""
    framed = args.framings is not None
    made = bool(args.answers) or framed
    if bool(args.answers) + framed + bool(args.sheet) != 1 or made != bool(args.out):
        raise InputError(
            "either make a sheet (--answers FILE or --framings, with --out SHEET), or count one (--sheet SHEET "
            "--labels FILE)."
        )
    if made:
        rows = [row for path in args.answers or () for row in _rows_of(path)]
        rows += [row for path in (args.framings or [TYPED]) if framed for row in line_rows(path)]
        rows = sampled(rows, args.each, args.seed)
        _write(args.out, rows)
        print(f"Written: {args.out} ({len(rows)} rows), {_key(args.out)}", file=sys.stderr)
        return 0
    if not args.labels:
        raise InputError("--labels is missing: what the readers of the sheet say, a file each.")
    sheet = {row.values["id"]: row.values for row in json_rows(args.sheet) if "id" in row.values}
    measures = measured(list(read_key(_key(args.sheet))), [read_labels(path, sheet) for path in args.labels])
    result = {"suite": "readers", "metrics": with_intervals(measures, args.seed)}
    show(args.json, result, lambda: interval_table(measures, args.seed, 20))
    return 0


def _rows_of(path: Path) -> Iterator[Record]:
    """Every row that the answers of a file could give. Raises InputError for a file of something else."""
    head, records = read_records(path)
    if head.get("suite") != "answers":
        raise InputError(f"{path} holds no answers of the suite 'answers'.")
    for record in records:
        if "answer" not in record or record.get("left_out"):
            continue
        try:
            answer = Answer.model_validate(record["answer"])
        except ValidationError as exc:
            raise InputError(f"{path}: the record '{record['key']}' holds no whole answer: {exc.errors()[0]}") from exc
        passages = {int(i): str(text) for i, text in dict(record["passages"]).items()}
        yield from _of_answer(answer, passages)


def _of_answer(answer: Answer, passages: dict[int, str]) -> Iterator[Record]:
    sides = {p.id: p for p in answer.perspectives}
    cited = {c.number: c.passage_id for c in answer.citations}
    pairs = [(p, sides[p.contrary]) for p in answer.perspectives if p.contrary in sides]
    for number, (side, other) in enumerate(pairs):
        row = {"question": answer.question, "side": side.statement, "contrary": other.statement}
        if number == 0:
            yield row | {"kind": "framing", "text": "", "passage": ""}
        for claim in side.claims:
            around = passages.get(cited.get(claim.citations[0], 0), "") if claim.citations else ""
            yield row | {"kind": claim.tier, "text": claim.shown or claim.text, "passage": around}
        yield from (row | {"kind": "counted", **words} for words in _counted(side, passages))


def _counted(side: AnswerPerspective, passages: dict[int, str]) -> Iterator[Record]:
    for response in (r for group in side.groups for r in group.responses):
        thesis = response.thesis
        yield {"text": thesis.shown or thesis.text, "passage": passages.get(thesis.passage_id, "")}


def sampled(rows: Sequence[Record], each: int, seed: int) -> list[Record]:
    """Up to `each` rows of a kind, in random order, numbered from 1; no row twice."""
    rng = random.Random(seed)
    chosen: list[Record] = []
    for kind in KINDS:
        known = list({json.dumps(row, sort_keys=True): row for row in rows if row["kind"] == kind}.values())
        chosen += rng.sample(known, min(each, len(known)))
    rng.shuffle(chosen)
    return [{"id": number, "first": rng.random() < 0.5, **row} for number, row in enumerate(chosen, start=1)]


def _write(path: Path, rows: Sequence[Record]) -> None:
    """The sheet, and its key beside it. Raises InputError where one of them is there already."""
    for target in (path, _key(path)):
        refuse_existing(target, "--out")
    sheet = [{"id": row["id"], **_shown(row), "labels": _LABELS[row["kind"]]} for row in rows]
    key = [{n: r[n] for n in ("id", "kind", "question", "stated") if n in r} | {"right": _right(r)} for r in rows]
    for target, lines in ((path, sheet), (_key(path), key)):
        write_new(target, json_lines(lines), "--out")


def _shown(row: Record) -> Record:
    """What a reader sees of a row."""
    if row["kind"] == "line":
        sides = row["sides"] if row["first"] else row["sides"][::-1]
        return {"question": row["question"], "asked": row["asked"], "sides": sides}
    one, other = (row["side"], row["contrary"]) if row["first"] else (row["contrary"], row["side"])
    shown = {"question": row["question"], "one": one, "other": other}
    return shown if row["kind"] == "framing" else shown | {"text": row["text"], "passage": row["passage"]}


def _right(row: Record) -> str:
    if row["kind"] in ("framing", "line"):
        return _LABELS[row["kind"]][0]
    return "one" if row["first"] else "other"


def _key(sheet: Path) -> Path:
    return sheet.with_suffix(".key.jsonl")


def read_key(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a key. Raises InputError."""
    for row in json_rows(path):
        row.expect({"id": (int,), "kind": (str,), "question": (str,), "right": (str,)})
        yield row.values


def read_labels(path: Path, sheet: Mapping[int, Record]) -> dict[int, str]:
    """A reader's label of each row. Raises InputError, with its line, for a word that is none, and for a label that
    stands beside other words than the sheet has: what was read is not what would be counted."""
    found: dict[int, str] = {}
    for row in json_rows(path):
        row.expect({"id": (int,), "label": (str,)})
        number, label = row.values["id"], row.values["label"]
        if label not in _WORDS:
            raise row.wrong(f"'label' has to be one of {', '.join(_WORDS)}, not '{label}'.")
        shown = sheet.get(number, {}) | {"label": label}
        if other := [field for field, value in row.values.items() if value != shown.get(field, value)]:
            raise row.wrong(f"'{other[0]}' is not what row {number} of the sheet shows. Label this very sheet.")
        found[number] = label
    return found


def measured(key: Sequence[dict[str, Any]], readers: Sequence[dict[int, str]]) -> dict[str, Ratio]:
    """The share that is right of each kind; of quotations also what is on the wrong side and on none, of typed lines
    what is nonsense and about something else; and the agreement of each two readers. Raises InputError for a row that
    a reader left out, or labelled as rows of another kind are."""
    for reader in readers:
        if missing := [row["id"] for row in key if row["id"] not in reader]:
            raise InputError(f"{len(missing)} rows have no label, the first one is {missing[0]}. Label every row.")
        if strange := [row for row in key if reader[row["id"]] not in _LABELS[row["kind"]]]:
            row, words = strange[0], _LABELS[strange[0]["kind"]]
            said = reader[row["id"]]
            raise InputError(f"row {row['id']} is labelled '{said}': it has to be one of {', '.join(words)}.")
    found: dict[str, Ratio] = {}
    for kind in KINDS:
        if rows := [(row, reader[row["id"]]) for row in key if row["kind"] == kind for reader in readers]:
            found |= _of_kind(kind, rows)
    if len(readers) > 1:
        first, second = readers[:2]
        found["agree"] = _share((row, first[row["id"]] == second[row["id"]]) for row in key)
    return found


def _of_kind(kind: str, rows: Sequence[tuple[dict[str, Any], str]]) -> dict[str, Ratio]:
    found = {kind: _share((row, label == row["right"]) for row, label in rows)}
    if kind == "line":
        stated = [(row, label) for row, label in rows if row["stated"]]
        found["line nonsense"] = _share((row, label == "nonsense") for row, label in rows)
        found["line other"] = _share((row, label == "other") for row, label in rows)
        found["stated nonsense"] = _share((row, label == "nonsense") for row, label in stated)
    elif kind != "framing":
        wrong = ((row, label in ("one", "other") and label != row["right"]) for row, label in rows)
        found |= {f"{kind} wrong side": _share(wrong), f"{kind} neither": _share((r, x == "neither") for r, x in rows)}
    return found


def _share(rows: Iterable[tuple[dict[str, Any], bool]]) -> Ratio:
    return Ratio.of((row["question"], float(yes), 1) for row, yes in rows)
