"""Expansion against gold perspectives: does the chat model that is set find a question's perspectives?

Gold and found perspectives are matched one to one so that their cosines are largest; a gold one is found where the
cosine is at least 0.9 under the encoder, and where the gold ones differ in polarity (the parity of their negators), the
two have the same. A model that fails is a failed row: nothing stands in for it.
"""

import argparse
import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from agent.models.providers import Providers
from agent.settings import Settings, load_settings
from evals.answering.asking import in_force, providers_of, recorded
from evals.datasets.rows import Shape, Text, json_rows
from evals.metrics.measure import Ratio, figures
from evals.reports.records import Record, Records
from evals.reports.table import block, number
from evals.suite import common_options, sample, show
from tools.budget import Budget, using
from tools.errors import InputError, SteelmanError
from tools.language.polarity import same_polarity


class _Row(Shape):
    question: Text
    perspectives: Annotated[list[Text], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A question with its gold perspectives, from line `number` of the file that `source` begins the name of."""

    source: str
    question: str
    gold: tuple[str, ...]
    number: int

    @property
    def key(self) -> str:
        return f"{self.source} line {self.number}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of *.jsonl with questions and perspectives")
    add("--out", type=Path, metavar="FILE", help="keep a record a question there, and go on with it when stopped")
    common_options(
        parser,
        limit="a sample of N rows",
        seed="seed of the sample",
        default_seed=0,
        parallel="questions to the chat model at once",
    )


def run(args: argparse.Namespace) -> int:
    """Ask, measure and print. Raises InputError when the folder holds no row that counts, SettingsError where no chat
    model is set."""
    rows = list(read_rows(args.data))
    if not rows:
        raise InputError(
            f"{args.data} has no *.jsonl rows with `question` and two `perspectives`. Give another --data."
        )
    chosen = sample(rows, args.limit, args.seed)
    digest = hashlib.sha256(json.dumps([asdict(row) for row in rows]).encode()).hexdigest()[:12]
    settings = load_settings(provider="chat")
    config = {"expander": "chat", "questions": digest} | in_force(settings)
    with Records(args.out, "expand", config) as records:
        waiting = [row for row in chosen if row.key not in records.done]
        if waiting:
            asyncio.run(_ask(waiting, settings, records, args.parallel))
        found = [(row.question, records.done[row.key]) for row in chosen]
        head = records.header
    failed = [f"{question}: {record['failed']}" for question, record in found if "failed" in record]
    told = figures(perspective_measures(found), seed=1)
    told["metrics"] |= {"rows": len(found), "failed": len(failed)}
    config |= {"data": args.data.name, "limit": args.limit, "seed": args.seed}
    config |= {"versions": head["versions"], "prompts": head["prompts"]}
    show(args.json, {"suite": "expand", **told, "config": config, "failed": failed}, lambda: _table(told, failed))
    return 0


def _table(told: Record, failed: Sequence[str]) -> str:
    rows = {name: [number(told["metrics"][name], ends)] for name, ends in told["intervals"].items()}
    lines = [f"rows {told['metrics']['rows']}", *block(["95 % interval by question"], rows)]
    return "\n".join([*lines, *(f"failed: {name}" for name in failed)]) + "\n"


def read_rows(folder: Path) -> Iterator[GoldRow]:
    """Rows with two perspectives or more; from `*.dev.jsonl`, or from every `*.jsonl`
    where there is none. Raises InputError with file, line and field."""
    for path in sorted(folder.glob("*.dev.jsonl")) or sorted(folder.glob("*.jsonl")):
        for row in json_rows(path):
            read = row.read(_Row)
            if len(read.perspectives) >= 2:
                yield GoldRow(path.name.split(".")[0], read.question, tuple(read.perspectives), row.number)


async def _ask(rows: Sequence[GoldRow], settings: Settings, records: Records, parallel: int) -> None:
    turn = asyncio.Semaphore(parallel)
    async with providers_of(settings) as providers:
        await recorded([_one(row, providers, turn) for row in rows], records, len(rows), "question")


async def _one(row: GoldRow, providers: Providers, turn: asyncio.Semaphore) -> tuple[str, Record]:
    """The row's key, and what is found, as the agent's expand stage would, without passages."""
    async with turn:
        try:
            with using(Budget()):
                framing = await providers.frame(row.question, [])
                sides = await providers.expand(framing, [])
        except SteelmanError as exc:
            return row.key, match(row.gold, [], np.zeros((0, len(row.gold)), np.float32)) | {"failed": str(exc)}
    predicted = [s["statement"] for s in sides]
    vectors = await providers.models.encode([*predicted, *row.gold])
    return row.key, match(row.gold, predicted, vectors[: len(predicted)] @ vectors[len(predicted) :].T)


# Are a question's perspectives the gold ones?

CLOSE = 0.9


def match(gold: Sequence[str], predicted: Sequence[str], cosines: NDArray[np.float32]) -> dict[str, Any]:
    """Gold and predicted perspectives matched one to one so that the cosines' sum is largest (Kuhn 1955); `cosines` has
    shape (predicted, gold). Close is a cosine of 0.9 or more, of one polarity where the gold ones differ in it.

    The predicted ones, each gold one's cosine to the one it is matched with (0 where there is none), and how many are
    close.
    """
    from scipy.optimize import linear_sum_assignment

    opposed = any(not same_polarity(gold[0], other) for other in gold[1:])
    matched, close = [0.0] * len(gold), 0
    for ours, theirs in zip(*linear_sum_assignment(-cosines), strict=True) if predicted else ():
        matched[theirs] = round(float(cosines[ours, theirs]), 4)
        right = not opposed or same_polarity(predicted[ours], gold[theirs])
        close += bool(right and cosines[ours, theirs] >= CLOSE)
    return {"predicted": list(predicted), "cosines": matched, "close": close}


def perspective_measures(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Ratio]:
    """Over questions with what `match` found: perspectives_recall = close / gold perspectives; perspectives_precision =
    close / predicted ones; perspectives_cosine = the mean cosine of a gold perspective to its match; perspectives_given
    = predicted ones a question. A question that failed has all its gold perspectives missed."""
    return {
        "perspectives_recall": Ratio.of((q, r["close"], len(r["cosines"])) for q, r in found),
        "perspectives_precision": Ratio.of((q, r["close"], len(r["predicted"])) for q, r in found),
        "perspectives_cosine": Ratio.of((q, sum(r["cosines"]), len(r["cosines"])) for q, r in found),
        "perspectives_given": Ratio.of((q, len(r["predicted"]), 1) for q, r in found),
    }
