"""Which part of a query is its perspective, and which its root? From the query alone, by rules or by a chat model (PIR,
§3.4); the paper asks a model."""

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, Field

from evals.reports.records import Record, Records
from evals.suite import ask_beside
from prompts import as_data, load_prompt
from tools.budget import Budget, budget_scope
from tools.errors import SteelmanError
from tools.models.chat.model import ChatModel

SOURCES = ("rules", "chat")
_VERB = r"(?:please )?(?:find|show|get|give|list|search|look|retrieve|return)\b(?: me| for)?"
_REQUEST = re.compile(rf"{_VERB}(.+?):(.+)", re.I | re.S)
_BOUND = r"(?:as of|according to|in|on|at|as|by|for|from|during|since|until|with|without|before|after|under)"
_FIRST = re.compile(rf"({_BOUND}\s[^,]+),\s*(.+)", re.I | re.S)
_LAST = re.compile(rf"(.+[^\s,]),?\s({_BOUND}\s.+?)[?.!\s]*", re.I | re.S)


class Split(NamedTuple):
    """A query's root and its perspective, empty where none is seen: then the root is the query."""

    root: str
    perspective: str


class Intent(BaseModel):
    """What a chat model takes for the perspective."""

    perspective: str = Field(max_length=2000)


def split_by_rules(query: str) -> Split:
    """A request up to its colon says from which side ('Find a claim that opposes: …'), and what follows is the root;
    of a question the phrase that bounds it, before its first comma or at its end, is the perspective."""
    if found := _REQUEST.fullmatch(query.strip()):
        return Split(found[2].strip(), found[1].strip())
    if found := _FIRST.fullmatch(query.strip()):
        return Split(found[2], found[1])
    if found := _LAST.fullmatch(query.strip()):
        return Split(found[1], found[2])
    return Split(query, "")


async def split_by_chat(queries: Sequence[str], model: ChatModel, records: Records, parallel: int) -> dict[str, Split]:
    """Each query's split, by the perspective that the model sees in it; the records have it by the query, which is not
    asked about twice. A query on which the model failed counts as one without a perspective."""
    turn, asked = asyncio.Semaphore(parallel), list(dict.fromkeys(queries))
    try:
        waiting = [_ask(query, model, turn) for query in asked if query not in records.done]
        await ask_beside(waiting, records, len(asked), "query")
    finally:
        await model.aclose()
    return {query: cut_out(query, records.done[query].get("perspective", "")) for query in asked}


async def _ask(query: str, model: ChatModel, turn: asyncio.Semaphore) -> tuple[str, Record]:
    system, user = load_prompt("perspective").render(query=as_data("query", query))
    async with turn:
        try:
            with budget_scope(Budget()):
                intent = await model.ask(system, user, Intent)
        except SteelmanError as exc:
            return query, {"failed": str(exc)}
    return query, {"perspective": intent.perspective.strip()}


def cut_out(query: str, perspective: str) -> Split:
    """The root is the query without the perspective that a model found; the query, where that is no part of it."""
    if not perspective:
        return Split(query, "")
    before, found, after = query.partition(perspective)
    root = " ".join(f"{before} {after}".split()).strip(" :,") if found else ""
    return Split(root or query, perspective)
