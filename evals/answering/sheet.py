"""What people say of what answers show: a sheet to be read without knowing where words stand, and what readers made of
it.

The sheet has a row for each quotation and for each document that counts for a side, with the question, its two
statements in random order, the words and the passage around them; and one for the pair of statements. Which side the
answer put the words under is in SHEET.key.jsonl, which readers do not open. A reader writes a line a row, {"id": 1,
"label": "one"}, or the row itself with its label: 'one' or 'other' for the statement that the words argue for in their
passage, 'neither'; of a pair of statements 'good', or 'nonsense' where no person would write them for that question.

case, counted   the words argue for the side that they stand under, by the words' place in the answer
framing         the statements are 'good'
agree           the first two readers say the same
All readers count alike.
"""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.answer.model import Answer
from evals.datasets.rows import Shape, json_rows
from evals.metrics.measure import Ratio
from evals.reports.records import Record
from evals.suite import write_new
from tools.errors import InputError

_SIDES, _PAIRS = ("one", "other", "neither"), ("good", "nonsense")
LABELS = {"case": _SIDES, "counted": _SIDES, "framing": _PAIRS}
"""By the kind of a row, what a reader may say of it."""


class _Label(Shape):
    id: int
    label: str


class _Key(Shape):
    id: int
    kind: str
    question: str
    right: str


def rows_of(answer: Answer, passages: Mapping[int, str]) -> Iterator[Record]:
    """Every row that an answer gives; `passages`: the texts that it cites, by their ids."""
    sides = {p.id: p for p in answer.perspectives}
    cited = {c.number: c.passage_id for c in answer.citations}
    pairs = [(p, sides[p.contrary]) for p in answer.perspectives if p.contrary in sides]
    for number, (side, other) in enumerate(pairs):
        row = {"question": answer.question, "side": side.statement, "contrary": other.statement}
        if number == 0:
            yield row | {"kind": "framing", "text": "", "passage": ""}
        for claim in side.claims:
            around = passages.get(cited.get(claim.citations[0], 0), "") if claim.citations else ""
            yield row | {"kind": "case", "text": claim.shown or claim.text, "passage": around}
        for thesis in (response.thesis for group in side.groups for response in group.responses):
            around = passages.get(thesis.passage_id, "")
            yield row | {"kind": "counted", "text": thesis.shown or thesis.text, "passage": around}


def write_sheet(path: Path, rows: Iterable[Record], each: int | None, seed: int) -> int:
    """Writes the sheet, up to `each` rows of a kind in random order, and its key beside it; returns how many rows it
    has. Raises InputError where one of the files is there already."""
    rng, chosen = random.Random(seed), list[Record]()
    known = list({json.dumps(row, sort_keys=True): row for row in rows}.values())  # none twice
    for kind in LABELS:
        mine = [row for row in known if row["kind"] == kind]
        chosen += rng.sample(mine, min(len(mine) if each is None else each, len(mine)))
    rng.shuffle(chosen)
    sheet, key = list[Record](), list[Record]()
    for number, row in enumerate(chosen, start=1):
        pair = row["kind"] == "framing"
        right = "good" if pair else rng.choice(_SIDES[:2])
        first = right == "one" or (pair and rng.random() < 0.5)
        one, other = (row["side"], row["contrary"]) if first else (row["contrary"], row["side"])
        shown = {"id": number, "question": row["question"], "one": one, "other": other}
        shown |= {} if pair else {"text": row["text"], "passage": row["passage"]}
        sheet.append(shown | {"labels": LABELS[row["kind"]]})
        key.append({"id": number, "kind": row["kind"], "question": row["question"], "right": right})
    for file, written in ((path, sheet), (key_of(path), key)):
        write_new(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written), "--sheet")
    return len(chosen)


def key_of(sheet: Path) -> Path:
    """The file that readers do not open."""
    return sheet.with_suffix(".key.jsonl")


def read_labels(path: Path, sheet: Mapping[int, Record], key: Sequence[Record]) -> dict[int, str]:
    """A reader's label of each row of the key. Raises InputError for a row that is left out, a word that is none of its
    kind's, and a label beside other words than the sheet has: what was read is not what would be counted."""
    words = {row["id"]: LABELS[row["kind"]] for row in key}
    found: dict[int, str] = {}
    for row in json_rows(path):
        said = row.read(_Label)
        number, label = said.id, said.label
        if label not in words.get(number, (*_SIDES, *_PAIRS)):
            raise row.wrong(f"'label' has to be one of {', '.join(words.get(number, ()))}, not '{label}'.")
        shown = sheet.get(number, {}) | {"label": label}
        if other := [field for field, value in row.values.items() if value != shown.get(field, value)]:
            raise row.wrong(f"'{other[0]}' is not what row {number} of the sheet shows. Label this very sheet.")
        found[number] = label
    if missing := sorted(words.keys() - found.keys()):
        raise InputError(f"{path}: {len(missing)} rows have no label, the first one is {missing[0]}. Label every row.")
    return found


def read_sheet(sheet: Path, labels: Sequence[Path]) -> dict[str, Ratio]:
    """The measures of a sheet that was read, a file a reader: the share that is right of each kind, of quotations also
    what is on the wrong side and on none; and how often the first two readers agree. Raises InputError."""
    key = [row.read(_Key).model_dump() for row in json_rows(key_of(sheet))]
    shown = {row.values["id"]: row.values for row in json_rows(sheet) if "id" in row.values}
    readers, found = [read_labels(path, shown, key) for path in labels], dict[str, Ratio]()
    for kind in LABELS:
        rows = [(row, reader[row["id"]]) for row in key if row["kind"] == kind for reader in readers]
        if not rows:
            continue
        found[kind] = _share((row, label == row["right"]) for row, label in rows)
        if kind != "framing":
            found[f"{kind} wrong side"] = _share((r, x not in (r["right"], "neither")) for r, x in rows)
            found[f"{kind} neither"] = _share((r, x == "neither") for r, x in rows)
    if len(readers) > 1:
        found["agree"] = _share((row, readers[0][row["id"]] == readers[1][row["id"]]) for row in key)
    return found


def _share(rows: Iterable[tuple[Record, bool]]) -> Ratio:
    return Ratio.of((row["question"], float(yes), 1) for row, yes in rows)
