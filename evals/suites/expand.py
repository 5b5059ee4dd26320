"""Does the chat model find the gold perspectives of a question (own measure; queries as in BERDS, §6)?

Gold and predicted perspectives are matched one to one with the largest sum of cosines. A gold perspective is found if
the cosine is at least 0.9 and, where the gold ones differ in polarity (parity of negators), the polarity is the same. A
question on which the model fails counts as not found.
"""

import argparse
import asyncio
import hashlib
from functools import partial
from pathlib import Path

import numpy as np

from agent.models.providers import Providers
from agent.settings import load_settings
from evals.answering.asking import in_force, providers_of
from evals.datasets.perspectives import GoldRow, load_perspectives
from evals.metrics.measure import figures
from evals.metrics.perspectives import match, perspective_measures
from evals.reports.records import Record, Records
from evals.suite import ask_each, common_options, figure_lines, shuffled
from tools.budget import Budget, budget_scope
from tools.errors import InputError, SteelmanError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of *.jsonl with questions and perspectives")
    add("--out", type=Path, metavar="FILE", help="records of the replies; a stopped run continues")
    common_options(parser, "a sample of N rows", "seed of the sample", 0, parallel="simultaneous questions")


def measure(args: argparse.Namespace) -> Record:
    """Raises InputError for a folder without usable rows, SettingsError without a chat model."""
    rows = [row for of in load_perspectives([str(args.data)]).values() for row in of if len(row.gold) >= 2]
    if not rows:
        raise InputError(f"{args.data} has no question with two `perspectives`. Give another --data.")
    chosen, settings = shuffled(rows, args.limit, args.seed), load_settings(provider="chat")
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]

    async def ask(records: Records) -> None:
        async with providers_of(settings) as providers:
            asked = {row.key: partial(_predicted, row, providers) for row in chosen}
            await ask_each(asked, records, args.parallel, "question", SteelmanError)

    with Records(args.out, "expand", {"expander": "chat", "questions": digest} | in_force(settings)) as records:
        if any(row.key not in records.done for row in chosen):
            asyncio.run(ask(records))
        missed = {row.key: match(row.gold, [], np.zeros((0, len(row.gold)), np.float32)) for row in chosen}
        found = [(row.question, missed[row.key] | records.done[row.key]) for row in chosen]
    failed = [f"{question}: {record['failed']}" for question, record in found if "failed" in record]
    result = figures(perspective_measures(found), seed=1)
    result["metrics"] |= {"rows": len(found), "failed": len(failed)}
    config = records.config | {"data": args.data.name, "limit": args.limit, "seed": args.seed}
    return {"suite": "expand", **result, "config": config, "failed": failed}


def table(result: Record) -> list[str]:
    return [f"rows {result['metrics']['rows']}", *figure_lines(result, "95 % interval by question")]


async def _predicted(row: GoldRow, providers: Providers) -> Record:
    assert providers.plan is not None  # the settings require a chat model
    with budget_scope(Budget()):
        predicted = [side["statement"] for side in (await providers.plan(row.question, [], []))[1]]
    vectors = await providers.models.encode([*predicted, *row.gold])
    return match(row.gold, predicted, vectors[: len(predicted)] @ vectors[len(predicted) :].T)
