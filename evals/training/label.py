"""`python -m evals judge-label --data DIR --out LABELS`: pairs that are worth labelling, labelled by a larger model.

The teacher is the chat judge that the settings name (STEELMAN_JUDGE_URL, STEELMAN_JUDGE_MODEL), asked about both
statements of a question. Labels are written as they come, so that a stopped run goes on, and
`python -m evals judge-train --labels LABELS` learns from them.

People may read instead: `--to-read FOLDER` writes the same candidates on sheets, to be labelled after the data's
LABELLING.md, and `--read FILE` takes what they decided (lines of a candidate's name and A, B, AB or N) into
`readings.jsonl.gz`, which keeps no text and which every training uses.
"""

import argparse
import gzip
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.providers.models import build_judge
from agent.settings import load_settings
from evals.reports.records import Records, read_records
from evals.suite import progress
from evals.training.candidates import CUT, Asked, Candidate, choose, digest, nearest, quotable_sentences, segments
from evals.training.data import READINGS, Corpus, Example, load_corpus, read_questions, rows_of, taught
from evals.training.text import key
from tools.errors import InputError, SettingsError
from tools.inference.batching import parts
from tools.inference.encoders.encoder import load_encoder
from tools.inference.judges.judge import Judge, Pair

SUITE = "judge-label"
_TOGETHER = 64  # candidates: a killed run loses no more
_DEPTH = 40  # segments a question to choose from
_DECISION = re.compile(r"\[?([0-9a-f]{12}:[0-9a-f]{12})\]?\s+(A|B|AB|N)")
CUTS: dict[str, Callable[[str], Iterable[str]]] = {"segments": segments, "sentences": quotable_sentences}
_SHEET = 50  # candidates on a sheet to read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder that holds judge/ and berds/")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, metavar="LABELS", help="the labels; a killed run goes on")
    where.add_argument("--to-read", type=Path, metavar="FOLDER", help="write sheets for readers, and ask nobody")
    where.add_argument("--read", type=Path, metavar="FILE", help="keep what readers decided")
    parser.add_argument(
        "--cut", choices=sorted(CUTS), default="segments", help="what the passages are cut into (default: %(default)s)"
    )
    parser.add_argument("--each", type=int, default=12, metavar="N", help="segments a question (default: %(default)s)")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N candidates")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="of the choice")
    parser.add_argument(
        "--prompt",
        default="judge_one_shot",
        metavar="NAME|FILE",
        help="how the teacher is asked (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Chooses the candidates, then labels or writes those that are not done yet."""
    if args.each < 1 or (args.limit is not None and args.limit < 1):
        raise InputError("--each and --limit are numbers from 1 on.")
    if args.read:
        print(f"{keep_readings(args.read, READINGS)} labels in {READINGS}", file=sys.stderr)
        return 0
    if args.data is None or not (args.data / "judge" / "train").is_dir():
        raise InputError("--data has to name the folder that holds judge/ and berds/.")
    judge = None if args.to_read else build_judge(load_settings(judge="chat", judge_prompt=Path(args.prompt)))
    if not args.to_read and judge is None:
        raise SettingsError("there is no chat model to ask: set STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL.")
    corpus = load_corpus(args.data, args.seed)
    encoder = load_encoder()
    found = find(corpus, args.data, encoder, args.each, args.seed, CUTS[args.cut])[: args.limit]
    if judge is None:
        print(f"{write_sheets(found, args.to_read)} sheets in {args.to_read}", file=sys.stderr)
        return 0
    config = {"judge": judge.name, "each": args.each, "seed": args.seed, "candidates": len(found)}
    with Records(args.out, SUITE, config) as records:
        ask(found, judge, records)
        yes = sum(max(r["support"]) >= 0.5 for r in records.done.values())
    print(f"{len(records.done)} candidates labelled, {yes} of them support a statement: {args.out}", file=sys.stderr)
    return 0


def _asked_twice(judge: Judge, found: Sequence[Candidate]) -> NDArray[np.float64]:
    """How surely each text supports the first statement of a question, and the other one, (n, 2); NaN without an
    answer."""
    pairs = [Pair(statement, c.segment) for c in found for statement in (c.asked.one, c.asked.other)]
    return np.asarray(judge.score(pairs), float).reshape(-1, 2)


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


def ask(found: Sequence[Candidate], judge: Judge, records: Records) -> None:
    """A record for each candidate that has none: its texts, and how surely each statement is supported."""
    missing = [c for c in {identity(c): c for c in found}.values() if identity(c) not in records.done]
    with progress(total=len(found), initial=len(found) - len(missing)) as bar:
        for part in parts(missing, _TOGETHER):
            for candidate, support in zip(part, _asked_twice(judge, part), strict=True):
                if not np.isnan(support).any():  # one without an answer is asked again by the next run
                    records.add(identity(candidate), _record(candidate, [round(float(p), 4) for p in support]))
            bar.update(len(part))


def identity(candidate: Candidate) -> str:
    return f"{digest(candidate.asked.question)}:{digest(candidate.segment)}"


def _record(candidate: Candidate, support: list[float]) -> dict[str, Any]:
    asked = candidate.asked
    return {
        "question": asked.question,
        "statements": [asked.one, asked.other],
        "passage": candidate.segment,
        "support": support,
    }


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


def read_labels(path: Path) -> Iterator[Example]:
    """Two examples, one for each statement, of every record of a file of labels. Raises InputError."""
    head, records = read_records(path)
    if head.get("suite") != SUITE:
        raise InputError(f"{path} holds no labels: python -m evals judge-label makes such a file.")
    for number, record in enumerate(records, 2):
        try:
            (one, other), (first, second) = record["statements"], map(float, record["support"])
            question, passage = str(record["question"]), str(record["passage"])
        except (KeyError, TypeError, ValueError) as exc:
            raise InputError(f"{path} line {number}: no label ({type(exc).__name__}: {exc}).") from exc
        for statement, mine, its in ((one, first, second), (other, second, first)):
            against = its * (1 - mine)
            target = (mine, against, max(0.0, 1 - mine - against))
            yield Example(statement, passage, target, "labels", question)
