"""Asks the chat model that is set for the perspectives of questions, as the agent's expand stage would, without
passages."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agent.inference import Models
from agent.seams import Providers
from agent.settings import load_settings
from evals.answering.asking import in_force, providers_of
from evals.metrics.expansion import Found, GoldRow, match
from evals.reports.records import Record, Records, Shape
from evals.suite import progress
from tools.budget import Budget, using
from tools.errors import SteelmanError

_SHAPE = Shape(always=dict.fromkeys(("predicted", "cosines"), (list,)) | {"close": (int,)})


async def ask_perspectives(
    rows: Sequence[GoldRow], data: str, out: Path | None, parallel: int
) -> tuple[list[Found], Record]:
    """What the model gave for each row, and the configuration; `data` stands in it for the questions. Rows that `out`
    has a record of are not asked again.

    A model that fails is a failed row: nothing stands in for it. Raises SettingsError where no chat model is set.
    """
    settings = load_settings(provider="chat")
    config = {"expander": "chat", "questions": data} | in_force(settings)
    with Records(out, "expand", config, _SHAPE) as records:
        known = {row.key: _found(row, records.done[row.key]) for row in rows if row.key in records.done}
        waiting = [row for row in rows if row.key not in known]
        if waiting:
            async with providers_of(settings) as providers:
                await _ask(waiting, providers, known, records, parallel)
    return [known[row.key] for row in rows], config


async def _ask(
    rows: Sequence[GoldRow], providers: Providers, known: dict[str, Found], records: Records, parallel: int
) -> None:
    turn = asyncio.Semaphore(parallel)
    tasks = [asyncio.create_task(_one(row, providers, turn)) for row in rows]
    bar = progress(total=len(known) + len(rows), initial=len(known), unit="question")
    try:
        for finished in asyncio.as_completed(tasks):
            found = await finished
            known[found.row.key] = found
            values = {name: value for name, value in asdict(found).items() if name != "failed" or value}
            records.add(found.row.key, values)
            bar.update()
    finally:
        bar.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(row: GoldRow, providers: Providers, turn: asyncio.Semaphore) -> Found:
    async with turn:
        try:
            with using(Budget()):
                framing = await providers.framer.frame(row.question, [])
                sides = await providers.expander.expand(framing, [])
        except SteelmanError as exc:
            return Found(row, cosines=(0.0,) * len(row.gold), failed=str(exc))
        return await _matched(row, [s["statement"] for s in sides], providers.models)


async def _matched(row: GoldRow, predicted: list[str], models: Models) -> Found:
    vectors = await models.encode([*predicted, *row.gold])
    return match(row, predicted, vectors[: len(predicted)] @ vectors[len(predicted) :].T)


def _found(row: GoldRow, record: Record) -> Found:
    predicted, cosines = tuple(record["predicted"]), tuple(record["cosines"])
    return Found(row, predicted, cosines, record["close"], record.get("failed", ""))
