"""Expansion against gold perspectives: does the chat model find them (own; queries that BERDS expands, §6)?

Gold and found perspectives are matched one to one so that their cosines are largest; a gold one is found where the
cosine is at least 0.9 under the encoder, and where the gold ones differ in polarity (the parity of their negators), the
two have the same. A model that fails is a failed row: nothing stands in for it.
"""

import argparse
import asyncio
import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from agent.models.providers import Providers
from agent.settings import Settings, load_settings
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
    add("--out", type=Path, metavar="FILE", help="keep a record a question there, and go on with it when stopped")
    common_options(parser, "a sample of N rows", "of the sample", 0, parallel="questions to the chat model at once")


def measure(args: argparse.Namespace) -> Record:
    """Raises InputError when the folder holds no row that counts, SettingsError where no chat model is set."""
    rows = [row for of in load_perspectives([str(args.data)]).values() for row in of if len(row.gold) >= 2]
    if not rows:
        raise InputError(f"{args.data} has no question with two `perspectives`. Give another --data.")
    chosen = shuffled(rows, args.limit, args.seed)
    settings = load_settings(provider="chat")
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]
    with Records(args.out, "expand", {"expander": "chat", "questions": digest} | in_force(settings)) as records:
        if any(row.key not in records.done for row in chosen):
            asyncio.run(_ask(chosen, settings, records, args.parallel))
        missed = {row.key: match(row.gold, [], np.zeros((0, len(row.gold)), np.float32)) for row in chosen}
        found = [(row.question, missed[row.key] | records.done[row.key]) for row in chosen]
    failed = [f"{question}: {record['failed']}" for question, record in found if "failed" in record]
    told = figures(perspective_measures(found), seed=1)
    told["metrics"] |= {"rows": len(found), "failed": len(failed)}
    config = records.config | {"data": args.data.name, "limit": args.limit, "seed": args.seed}
    return {"suite": "expand", **told, "config": config, "failed": failed}


def table(result: Record) -> list[str]:
    return [f"rows {result['metrics']['rows']}", *figure_lines(result, "95 % interval by question")]


async def _ask(rows: Sequence[GoldRow], settings: Settings, records: Records, parallel: int) -> None:
    async with providers_of(settings) as providers:
        asked = {row.key: partial(_found, row, providers) for row in rows}
        await ask_each(asked, records, parallel, "question", SteelmanError)


async def _found(row: GoldRow, providers: Providers) -> Record:
    """What the chat model plans without leads, beside the gold ones; they alone where it fails."""
    assert providers.plan is not None  # the settings insist on a chat model
    with budget_scope(Budget()):
        predicted = [side["statement"] for side in (await providers.plan(row.question, [], []))[1]]
    vectors = await providers.models.encode([*predicted, *row.gold])
    return match(row.gold, predicted, vectors[: len(predicted)] @ vectors[len(predicted) :].T)
