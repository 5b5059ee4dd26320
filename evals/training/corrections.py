"""`python -m evals corrections --out FILE`: writes what readers changed in answers as labelled pairs for `judge-train`.

A row is a pair of a side's statement and a quotation: 'support' for the side that a reader moved it to, 'oppose' for
the one that says the opposite, 'none' where it is for neither, 'unrelated' where it was taken out. What a model wrote
is no quotation, and only counted. `judge-train --data DATA` reads DATA/judge/train/corrections.jsonl.gz beside others.
"""

import argparse
import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pydantic_core import to_json

from agent.answer.corrections import ALSO, OFF, Corrections, Moved, moved_claims
from agent.answer.model import Answer, AnswerPerspective
from agent.settings import load_settings
from agent.state import is_answer
from evals.reports.records import Record
from evals.suite import common_options, write_new
from evals.training.text import Row, claim, negated
from tools.language.question import ANSWERS
from tools.store.database import Database

_AFFIRMING = [yes for yes, _ in ANSWERS.values()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a new .jsonl, or .jsonl.gz")
    common_options(parser)


def measure(args: argparse.Namespace) -> Record:
    """Raises InputError where the file is there already, StoreError."""
    settings, rows, moved = load_settings(), list[Row](), list[Moved]()
    with closing(Database(settings.database_path)) as database:
        corrections = Corrections(database)
        for run_id in corrections.runs():
            answer = corrections.original(run_id)
            found = moved_claims(answer, corrections.moves(run_id))
            moved += found
            rows += (row for move in found if move.claim.quoted for row in pairs_of(answer, move))
    lines = list(dict.fromkeys(to_json(row) + b"\n" for row in rows))
    content = b"".join(lines)
    write_new(args.out, gzip.compress(content, mtime=0) if args.out.suffix == ".gz" else content, "--out")
    written = sum(not move.claim.quoted for move in moved)
    metrics = {"quotations": len(moved) - written, "claims_of_models": written, "pairs": len(lines)}
    return {"suite": "corrections", "metrics": metrics}


def table(result: Record) -> list[str]:
    return [", ".join(f"{name.replace('_', ' ')} {n}" for name, n in result["metrics"].items())]


def pairs_of(answer: Answer, move: Moved) -> Iterator[Row]:
    """The quotation beside each side of which the reader's move tells something."""
    was, to = move.place.side, move.to.side
    told = {was: "none"} | dict.fromkeys(_facing(answer, to), "oppose") | {to: "support"}
    if to == ALSO:
        told = dict.fromkeys((was, *_facing(answer, was)), "none")
    for side in answer.perspectives:
        if label := "unrelated" if to == OFF else told.get(side.id):
            statement, affirms = statement_of(side)
            label = label if affirms else {"support": "oppose", "oppose": "support"}.get(label, label)
            about = {"ds": "corrections", "group": answer.neutral_question}
            yield about | {"passage": move.claim.text, "statement": statement, "label": label}


def _facing(answer: Answer, of: str) -> list[str]:
    """The sides that say the opposite of a side."""
    pairs = {(s.id, s.contrary) for s in answer.perspectives}
    return [s.id for s in answer.perspectives if {(s.id, of), (of, s.id)} & pairs]


def statement_of(side: AnswerPerspective) -> tuple[str, bool]:
    """What the side says as a statement by itself, and whether it affirms it: 'No' to a question denies its claim,
    where no rule makes a claim of it."""
    if not is_answer(side.name, side.statement):
        return side.statement, True
    asked = side.statement.removeprefix(f"{side.name}: ")
    said, yes = claim(asked), side.name in _AFFIRMING
    return (said, yes) if said.endswith("?") else (said if yes else negated(said), True)
