"""How surely a quotation has to argue for a side before it is shown: the right side against the share of sides quoted.

Each question is asked as the agent asks it, and what it read of the passages it chose is kept: each quotable part with
its three leanings (`tools/inference/judges/quoting.py`) and its document, whose side is known or not. Then, for one
probability after the other, what would be shown:

right     of the quotations from known documents those that stand under their document's side
sides     sides with a quotation from a document known for that side
both      questions of which both sides have one
missing   sides that would be shown all the same if the documents known for them were not there
swapped   those of them that would show a document known for the other side; the others show documents of no known side
astray    questions that no document answers (`elsewhere-dev`, `elsewhere-last`) of which something would be shown

The side of an essay is not that of each of its sentences, so that `right` is too low rather than too high.
`--fit` fits the weights and the two probabilities on these sets and writes them; figures of fitted sets flatter. Of
questions that may be worded from either pole (`wordings-dev`) it learns only which documents speak to them.
"""

import argparse
import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from langgraph.config import get_config

from agent.providers.build import build_providers
from agent.seams import Brief, Providers, Writer
from agent.settings import Settings, load_settings
from agent.state import Claim
from evals.answering.asking import ask_all, in_force
from evals.answering.plan import PLAIN, Ask
from evals.answering.verdicts import with_gold_verdicts
from evals.datasets.cases import SAMPLES_SET, SIDES, Case, load_cases, refuse_either_way
from evals.metrics.quoting import TIERS, Curve, Kind, Point, Question, Tier, curve, fit, operating_points
from evals.reports.records import Records
from evals.suite import common_options, names, show
from tools.errors import InputError
from tools.inference.judges.quoting import FILE, GROUNDS, Quoting, load_quoting
from tools.store.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of NAME.queries.jsonl and CORPUS.corpus.jsonl[.gz]")
    add("--set", default=SAMPLES_SET, metavar="NAME[,NAME…]", help="which queries (default: samples)")
    add("--gold", action="store_true", help="ask a judge that knows the documents' sides instead")
    add("--fit", action="store_true", help="fit weights and probabilities on these sets")
    add("--out", type=Path, metavar="FILE", help=f"with --fit: where they go, such as {FILE.parent.name}/{FILE.name}")
    add("--keep", type=Path, metavar="FILE", help="what was read, so that another call need not ask again")
    common_options(
        parser,
        limit="only the first N questions of a seeded shuffle of each set",
        seed="of the shuffle and the intervals",
        parallel="questions at once",
    )


def run(args: argparse.Namespace) -> int:
    """Asks, then tells. Raises InputError."""
    if args.out and not args.fit:
        raise InputError("--out is for what --fit finds. Add --fit, or leave --out out.")
    read = {name: asyncio.run(_read(args, name, load_settings())) for name in names(args.set)}
    quoting = load_quoting()
    if args.fit:
        quoting = fit([q for questions in read.values() for q in questions])
        if args.out:
            args.out.write_text(json.dumps(asdict(quoting), indent=1) + "\n", encoding="utf-8")
    curves = {name: {tier: curve(questions, quoting, tier) for tier in TIERS} for name, questions in read.items()}
    points = {name: operating_points(questions, quoting, args.seed) for name, questions in read.items()}
    result = {
        "quoting": asdict(quoting),
        "curves": {n: {tier: [asdict(p) for p in c] for tier, c in by.items()} for n, by in curves.items()},
        "points": points,
    }
    show(args.json, result, lambda: _table(quoting, curves, {n: len(q) for n, q in read.items()}, points))
    return 0


async def _read(args: argparse.Namespace, name: str, settings: Settings) -> list[Question]:
    """What the agent read for each question of the set."""
    chosen = load_cases(args.data, name)
    if not args.fit:
        refuse_either_way(chosen)
    cases = chosen.shuffled(args.seed)[: args.limit]
    kept = _Kept(args.keep, f"{name} {args.limit} {args.seed} {args.gold} {GROUNDS}")
    if kept.questions is not None:
        return kept.questions
    seen: dict[str, tuple[Brief, ...]] = {}
    build = with_gold_verdicts(build_providers, chosen) if args.gold else build_providers
    with TemporaryDirectory() as folder, Records(Path(folder) / "answers", "quotes", in_force(settings)) as records:
        asks = [Ask(case, PLAIN, case.question) for case in cases]
        await ask_all(asks, chosen.documents, records, settings, args.parallel, partial(_recording, build, seen))
        answered = {r["case"]: r["answer"]["run_id"] for r in records.done.values() if "answer" in r}
    questions = [_question(case, seen.get(answered.get(case.key, ""), ())) for case in cases]
    kept.keep(questions)
    return questions


def _recording(build: Any, seen: dict[str, tuple[Brief, ...]], settings: Settings, store: Store) -> Providers:
    """The usual providers, with a writer that shows what it was given."""
    providers: Providers = build(settings, store)
    return replace(providers, writer=_Recorder(providers.writer, seen))


@dataclass(frozen=True, slots=True)
class _Recorder:
    inner: Writer
    seen: dict[str, tuple[Brief, ...]]

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        run = str(get_config()["configurable"]["thread_id"])
        self.seen[run] = (*self.seen.get(run, ()), brief)
        return await self.inner.write(brief)


def _question(case: Case, briefs: Sequence[Brief]) -> Question:
    """What was read for the first of two contrary sides; nothing where the question was not answered or has no such."""
    brief = next((b for b in briefs if b.contrary and b.reading), None)
    if brief is None or brief.reading is None:
        nothing = np.zeros(0)
        none = np.zeros((0, GROUNDS))
        return Question(case.key, np.zeros((0, 3)), none, nothing, (), nothing.astype(int), nothing > 0, _kind(case))
    reading = brief.reading
    sign = -1.0 if brief.perspective["stance"] == "opposes" else 1.0
    told = np.flatnonzero(reading.about & ~np.isnan(reading.sure))
    first, second = (case.gold[side] - case.gold[SIDES[1 - i]] for i, side in enumerate(SIDES))
    documents = [reading.units[i].passage.document_id for i in told]
    return Question(
        key=case.key,
        features=sign * reading.features[told],
        grounds=reading.grounds[told],
        rank=reading.rank[told] / np.maximum(reading.sure[told], 1e-6),
        documents=tuple(documents),
        sides=np.array([(d in first) - (d in second) for d in documents], int),
        closely=reading.closely[told],
        kind=_kind(case),
    )


def _kind(case: Case) -> Kind:
    return "topical" if case.either_way else "sided" if case.sides else "elsewhere"


class _Kept:
    """What was read, in a file of lines, each for one set as it was asked."""

    def __init__(self, path: Path | None, asked: str) -> None:
        self._path, self._asked = path, asked
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        stored = {row["asked"]: row["questions"] for row in map(json.loads, lines)}
        self.questions = [_restored(q) for q in stored[asked]] if asked in stored else None

    def keep(self, questions: Sequence[Question]) -> None:
        if self._path:
            rows = [
                {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in asdict(q).items()} for q in questions
            ]
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"asked": self._asked, "questions": rows}) + "\n")


def _restored(row: dict[str, Any]) -> Question:
    return Question(
        key=row["key"],
        features=np.array(row["features"], np.float64).reshape(-1, 3),
        grounds=np.array(row["grounds"], np.float64).reshape(-1, GROUNDS),
        rank=np.array(row["rank"], np.float64),
        documents=tuple(row["documents"]),
        sides=np.array(row["sides"], int),
        closely=np.array(row["closely"], bool),
        kind=row["kind"],
    )


def _percent(p: Point) -> str:
    shares = (p.sides, p.both, p.missing, p.swapped, p.astray)
    return f"{_share(p.right, 1):>6}  {p.quoted:12}  {'  '.join(f'{_share(x):>5}' for x in shares)}"


def _share(value: float, digits: int = 0) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}%}"


def _table(
    quoting: Quoting, curves: dict[str, dict[Tier, Curve]], counts: dict[str, int], points: dict[str, Any]
) -> str:
    lines = [", ".join(f"{name} {value:g}" for name, value in asdict(quoting).items())]
    heads = {"case": "case, from", "leaning": "either tier, leaning from"}
    for name, tiers in curves.items():
        lines += ["", f"{name}, {counts[name]} questions"]
        for tier, found in tiers.items():
            lines.append(f"{heads[tier]:<26}  right  (quotations)  sides   both   miss.  swap. astray")
            lines += [f"{p.probability:>26.2f} {_percent(p)}" for p in found]
            told = points[name][tier]
            parts = (f"{k} {v['value']:.0%} [{v['interval'][0]:.0%}, {v['interval'][1]:.0%}]" for k, v in told.items())
            lines.append(f"in force: {', '.join(parts)}")
    return "\n".join(lines) + "\n"
