"""`python -m evals judge-label`: pairs that are worth labelling, on sheets for people, and what they decided.

    python -m evals judge-label --data DIR --to-read FOLDER     the candidates
    python -m evals judge-label --read FILE                     lines of a candidate's name and A, B, AB or N

They are labelled after the data's LABELLING.md. What readers decide goes into `readings.jsonl.gz`, which keeps no text
and which every training uses.
"""

import argparse
import gzip
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from evals.training.candidates import CUT, Asked, Candidate, choose, digest, nearest, quotable_sentences, segments
from evals.training.data import READINGS, Corpus, load_corpus, read_questions, rows_of, taught
from evals.training.text import key
from tools.errors import InputError
from tools.inference.batching import parts
from tools.inference.encoders.encoder import load_encoder

_DEPTH = 40  # segments a question to choose from
_DECISION = re.compile(r"\[?([0-9a-f]{12}:[0-9a-f]{12})\]?\s+(A|B|AB|N)")
CUTS: dict[str, Callable[[str], Iterable[str]]] = {"segments": segments, "sentences": quotable_sentences}
_SHEET = 50  # candidates on a sheet to read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder that holds judge/ and berds/")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-read", type=Path, metavar="FOLDER", help="write sheets for readers")
    where.add_argument("--read", type=Path, metavar="FILE", help="keep what readers decided")
    parser.add_argument(
        "--cut", choices=sorted(CUTS), default="segments", help="what the passages are cut into (default: %(default)s)"
    )
    parser.add_argument("--each", type=int, default=12, metavar="N", help="segments a question (default: %(default)s)")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N candidates")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="of the choice")


def run(args: argparse.Namespace) -> int:
    """Writes the sheets, or keeps what their readers decided."""
    if args.each < 1 or (args.limit is not None and args.limit < 1):
        raise InputError("--each and --limit are numbers from 1 on.")
    if args.read:
        print(f"{keep_readings(args.read, READINGS)} labels in {READINGS}", file=sys.stderr)
        return 0
    if args.data is None or not (args.data / "judge" / "train").is_dir():
        raise InputError("--data has to name the folder that holds judge/ and berds/.")
    corpus = load_corpus(args.data, args.seed)
    encoder = load_encoder()
    found = find(corpus, args.data, encoder, args.each, args.seed, CUTS[args.cut])[: args.limit]
    print(f"{write_sheets(found, args.to_read)} sheets in {args.to_read}", file=sys.stderr)
    return 0


def find(
    corpus: Corpus, data: Path, encoder: Any, each: int, seed: int, cut: Callable[[str], Iterable[str]] = segments
) -> list[Candidate]:
    """Candidates of the training side of the split, of which the data say nothing yet, question by question.

    cut: into what the passages are cut."""
    known = {(key(e.group), key(e.text)) for examples in corpus.training.values() for e in examples}
    known |= {(key(r["group"]), key(r["passage"])) for r in rows_of(data / "judge" / "train" / "read_labels.jsonl.gz")}
    read = {f"{r['question']}:{r['segment']}" for r in rows_of(READINGS)}
    statements = {
        key(text) for examples in corpus.held_out.values() for e in examples for text in (e.group, e.statement)
    }
    asked = [q for q in read_questions(data) if taught(q.question) and not {key(q.one), key(q.other)} & statements]
    texts = {e.text: None for name in CUT for e in corpus.training.get(name.removesuffix("_point"), ())}
    pool = list(dict.fromkeys(part for text in texts for part in cut(text)))
    if not asked or not pool:
        raise InputError(f"{data} has no question with two statements, or no passages to cut.")
    near = nearest(asked, pool, encoder, _DEPTH)

    def new(q: Asked, text: str) -> bool:
        return (key(q.question), key(text)) not in known and identity(Candidate(q, text)) not in read

    fresh = [[i for i in rows if new(q, pool[i])] for q, rows in zip(asked, near, strict=True)]
    return choose(asked, pool, fresh, each, seed)


def identity(candidate: Candidate) -> str:
    return f"{digest(candidate.asked.question)}:{digest(candidate.segment)}"


def write_sheets(found: Sequence[Candidate], folder: Path) -> int:
    """Numbered sheets of candidates, question by question; returns how many. Raises InputError."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty. Name a new folder, so that nothing is overwritten.")
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for number, part in enumerate(parts(found, _SHEET), 1):
        lines: list[str] = []
        before = None
        for candidate in part:
            if candidate.asked != before:
                before = candidate.asked
                lines += ["", f"Question: {before.question}", f"A: {before.one}", f"B: {before.other}"]
            lines.append(f"[{identity(candidate)}] {candidate.segment}")
        (folder / f"sheet_{number:04d}.txt").write_text("\n".join(lines).strip() + "\n", encoding="utf-8")
    return number


def keep_readings(path: Path, target: Path) -> int:
    """Adds a file of decisions to the readings, the newer one of two on a candidate; returns how many there are.

    Raises InputError with file and line for one that is no decision, and changes nothing.
    """
    records = {f"{r['question']}:{r['segment']}": r["label"] for r in rows_of(target)}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{path} cannot be read ({exc}).") from exc
    for number, line in enumerate(lines, 1):
        if line.strip() and not (found := _DECISION.fullmatch(line.strip())):
            raise InputError(
                f"{path}, line {number}: a candidate's name and A, B, AB or N are needed, not {line[:60]!r}."
            )
        if line.strip() and found:
            records[found[1]] = found[2]
    fresh = target.with_suffix(".new")
    with fresh.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        for name, label in sorted(records.items()):
            question, segment = name.split(":")
            row = {"question": question, "segment": segment, "label": label}
            packed.write((json.dumps(row) + "\n").encode())
    fresh.replace(target)
    return len(records)
