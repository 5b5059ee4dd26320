"""The whole answer on questions whose passages have known sides.

For every citation under a for or against side the gold sides of its document are looked up: *right* when the document
is gold for that side, *wrong* when it is gold for the other side only, *unknown* when it is gold for neither (the gold
is not exhaustive). Answers are kept as they come; scoring reads them and never asks the agent again.
"""

import argparse
import asyncio
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.answer import Answer
from tools.errors import InputError, SteelmanError
from tools.passages import SourceDocument

# A set that numbers its sides tells the affirmative one first.
_SIDES = {
    **dict.fromkeys(("pro", "support", "SUPPORT", "supports", "1"), "supports"),
    **dict.fromkeys(("con", "undermine", "UNDERMINE", "opposes", "2"), "opposes"),
}
_SAMPLES_GOLD = Path(__file__).parent / "gold" / "samples"


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the documents that are gold for each of its two sides."""

    question: str
    gold: dict[str, frozenset[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, help="folder of NAME.queries.jsonl and CORPUS.corpus.jsonl[.gz]; none: the samples"
    )
    parser.add_argument("--set", default="samples", metavar="NAME", help="which queries (default: samples)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="where the answers are kept, a line each"
    )
    parser.add_argument("--read", type=Path, metavar="FILE", help="also write the answers as Markdown, for reading")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of a seeded shuffle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one object")


def run(args: argparse.Namespace) -> int:
    """Asks what is not answered yet, then scores all of it."""
    cases, documents = load_samples() if args.data is None else load_set(args.data, args.set)
    cases = shuffled(cases, args.seed)[: args.limit]
    asyncio.run(_ask_missing(cases, documents, args.set, args.out))
    answers = read_answers(args.out)
    result = {"config": {"set": args.set, "seed": args.seed, "limit": args.limit}, "metrics": score(cases, answers)}
    if args.read:
        from agent.rendering.markdown import to_markdown

        args.read.write_text("\n\n".join(to_markdown(answers[c.question]) for c in cases if c.question in answers))
    print(json.dumps(result, indent=2 if args.json else None))
    return 0


def score(cases: list[Case], answers: dict[str, Answer]) -> dict[str, float]:
    """Shares over citations (wrong side, right side, unknown) and over questions (answered, both sides cited)."""
    verdicts: Counter[str] = Counter()
    both = answered = 0
    for case in cases:
        answer = answers.get(case.question)
        if answer is None or answer.outcome != "answered":
            continue
        answered += 1
        sided = {p.stance for p in answer.perspectives if p.claims and p.stance != "other"}
        both += len(sided) == 2
        verdicts.update(verdict for verdict, *_ in judged_citations(case, answer))
    known = verdicts["right"] + verdicts["wrong"]
    return {
        "questions": len(cases),
        "answered": answered,
        "both_sides": both,
        "citations": sum(verdicts.values()),
        "right": verdicts["right"],
        "wrong": verdicts["wrong"],
        "unknown": verdicts["unknown"],
        "wrong_share_of_known": round(verdicts["wrong"] / known, 4) if known else float("nan"),
    }


def judged_citations(case: Case, answer: Answer) -> Iterator[tuple[str, str, str]]:
    """(verdict, stance, sentence) of each citation under a for or against side."""
    documents = {c.number: c.document_id for c in answer.citations}
    for side in answer.perspectives:
        if side.stance == "other":
            continue
        other = "opposes" if side.stance == "supports" else "supports"
        for claim in side.claims:
            for number in claim.citations:
                document = documents[number]
                if document in case.gold[side.stance]:
                    yield "right", side.stance, claim.text
                else:
                    yield ("wrong" if document in case.gold[other] else "unknown"), side.stance, claim.text


def load_set(folder: Path, name: str) -> tuple[list[Case], list[SourceDocument]]:
    """The questions of `NAME.queries.jsonl` with two known sides, and the corpus named by the part before '_'."""
    queries = folder / f"{name}.queries.jsonl"
    corpora = [p for p in folder.glob(f"{name.split('_')[0]}.corpus.jsonl*") if p.suffix in (".gz", ".jsonl")]
    if not queries.exists() or not corpora:
        raise InputError(f"there is no {queries.name} with its corpus in {folder}.")
    cases = [case for row in _rows(queries) if (case := _case(row)) is not None]
    return cases, [
        SourceDocument(str(r["id"]), str(r["text"]), title=str(r.get("title", ""))) for r in _rows(corpora[0])
    ]


def load_samples() -> tuple[list[Case], list[SourceDocument]]:
    """The sample questions with the sides that their writers gave each passage."""
    gold: dict[str, dict[str, set[str]]] = {}
    for file in sorted(_SAMPLES_GOLD.glob("*.jsonl")):
        for row in _rows(file):
            gold.setdefault(row["question"], {"supports": set(), "opposes": set(), "other": set()})[row["stance"]].add(
                row["path"]
            )
    cases = [Case(q, {k: frozenset(v) for k, v in sides.items()}) for q, sides in gold.items()]
    return [c for c in cases if c.gold["supports"] or c.gold["opposes"]], []


def _case(row: dict[str, Any]) -> Case | None:
    gold: dict[str, set[str]] = {"supports": set(), "opposes": set()}
    for perspective in row["perspectives"]:
        stance = _SIDES.get(str(perspective.get("side", perspective.get("stance", ""))))
        if stance is None:
            return None
        gold[stance].update(str(i) for i in perspective["gold"])
    return Case(str(row["question"]), {k: frozenset(v) for k, v in gold.items()})


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as exc:
                raise InputError(f"{path}, line {number}: not valid JSON ({exc.msg}).") from exc


def shuffled(cases: list[Case], seed: int) -> list[Case]:
    """The cases in a seeded random order."""
    import random

    order = list(cases)
    random.Random(seed).shuffle(order)
    return order


def read_answers(path: Path) -> dict[str, Answer]:
    """Question to answer, of the lines that are whole."""
    if not path.exists():
        return {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith('{"schema_version"')]
    return {a.question: a for line in lines if line.endswith("}") for a in [Answer.model_validate_json(line)]}


async def _ask_missing(cases: list[Case], documents: list[SourceDocument], name: str, out: Path) -> None:
    from agent.commands.session import open_runs
    from agent.options import RunOptions
    from tools.ingest.ingest import Ingester

    done = read_answers(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    async with open_runs() as runs:
        ingester = Ingester(runs.store, runs.providers.search, runs.providers.search.encoder)
        collection = name.split("_")[0]
        if documents:
            await asyncio.to_thread(ingester.ingest, documents, collection)
        with out.open("a", encoding="utf-8") as file:
            for number, case in enumerate(cases, start=1):
                if case.question in done:
                    continue
                if sys.stderr.isatty():
                    print(f"\r  {number} of {len(cases)}", end="", file=sys.stderr, flush=True)
                try:
                    options = RunOptions.of(collections=(collection,))
                    answer = await runs.answer(await runs.start(case.question, options))
                except SteelmanError as exc:
                    print(f"\nfailed: {case.question}: {exc}", file=sys.stderr)
                    continue
                file.write(answer.model_dump_json() + "\n")
                file.flush()
