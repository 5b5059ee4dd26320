"""`python -m evals corrections --out FILE`: writes readers' corrections as labelled pairs for `judge-train`.

A row is a side's statement and a quotation. The label is 'support' for the side to which a reader moved the quotation,
and 'oppose' for the opposing side. The label is 'none' if the reader moved the quotation to neither side, and
'unrelated' if the reader removed the quotation. The suite counts moved claims in a model's words, but writes no rows
for them. `judge-train --data DATA` reads DATA/judge/train/corrections.jsonl.gz.
"""

import argparse
import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pydantic_core import to_json

from agent.answer.corrections import ALSO, OFF_QUESTION, Corrections, MovedClaim, moved_claims
from agent.answer.model import Answer, AnswerPerspective
from agent.settings import load_settings
from agent.state import is_answer
from evals.reports.records import Record
from evals.suite import common_options
from evals.training.negation import claim, negated
from evals.training.text import Row
from tools.errors import InputError
from tools.language.question import ANSWERS
from tools.store.database import Database

_AFFIRMING = [yes for yes, _ in ANSWERS.values()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a new .jsonl or .jsonl.gz file")
    common_options(parser)


def measure(args: argparse.Namespace) -> Record:
    """Writes and counts the pairs. Raises StoreError, and InputError if the file exists."""
    moved, rows = list[MovedClaim](), list[Row]()
    with closing(Database(load_settings().database)) as database:
        corrections = Corrections(database)
        for run_id in corrections.runs():
            answer = corrections.original(run_id)
            found = moved_claims(answer, corrections.own_moves(run_id))
            moved += found
            rows += (row for move in found if move.claim.quoted for row in _pairs(answer, move))
    lines = list(dict.fromkeys(to_json(row) + b"\n" for row in rows))
    content = b"".join(lines)
    try:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("xb") as file:
            file.write(gzip.compress(content, mtime=0) if args.out.suffix == ".gz" else content)
    except OSError as exc:
        raise InputError(f"{args.out} cannot be written ({exc.strerror or exc}). Name another file.") from exc
    written = sum(not move.claim.quoted for move in moved)
    metrics = {"quotations": len(moved) - written, "claims_of_models": written, "pairs": len(lines)}
    return {"suite": "corrections", "metrics": metrics}


def table(result: Record) -> list[str]:
    return [", ".join(f"{name.replace('_', ' ')} {n}" for name, n in result["metrics"].items())]


def _pairs(answer: Answer, move: MovedClaim) -> Iterator[Row]:
    """Yields a row for each side for which the move gives a label."""
    was, to = move.place.side, move.to.side
    labels = {was: "none"} | dict.fromkeys(_contrary(answer, to), "oppose") | {to: "support"}
    if to == ALSO:
        labels = dict.fromkeys((was, *_contrary(answer, was)), "none")
    for side in answer.perspectives:
        if label := "unrelated" if to == OFF_QUESTION else labels.get(side.id):
            statement, affirms = statement_of(side)
            label = label if affirms else {"support": "oppose", "oppose": "support"}.get(label, label)
            about = {"ds": "corrections", "group": answer.neutral_question}
            yield about | {"passage": move.claim.text, "statement": statement, "label": label}


def _contrary(answer: Answer, side: str) -> list[str]:
    pairs = {(s.id, s.contrary) for s in answer.perspectives}
    return [s.id for s in answer.perspectives if {(s.id, side), (side, s.id)} & pairs]


def statement_of(side: AnswerPerspective) -> tuple[str, bool]:
    """Returns the side as an independent statement, and whether the side affirms this statement. If no rule turns the
    question into a statement, returns the question; the side 'No' does not affirm the question."""
    if not is_answer(side.name, side.statement):
        return side.statement, True
    yes = side.name in _AFFIRMING
    statement = claim(side.statement.removeprefix(f"{side.name}: "))
    return (statement, yes) if statement.endswith("?") else (statement if yes else negated(statement), True)
