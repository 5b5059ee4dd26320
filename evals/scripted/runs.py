"""Whole runs over the pages of a topic, with a scripted model that offers the gold's claims, true and bad ones."""

import asyncio
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from evals.answering.asking import data_folder, elsewhere
from evals.datasets.rows import json_rows
from evals.scripted.player import MANNERS, Manner, Page, Player, Written
from evals.scripted.server import Call, ChatServer, longest_chain
from tools.documents.ingest import Ingester
from tools.errors import InputError
from tools.passages import SourceDocument

TRUE = "true"
EMBEDDED = "embedded"
JUDGES = (*MANNERS, EMBEDDED)
A_SECOND = 1.0
_THERE = 6  # sources that a side has to have to be counted
_RUNS = 8  # of a topic at most; claims whose passages were in none of them are not offered


@dataclass(frozen=True, slots=True)
class Topic:
    """A question with its sides' statements, its pages, and the claims of a half."""

    key: str
    question: str
    statements: dict[str, str]
    pages: list[Page]
    claims: list[Written]


@dataclass
class Found:
    """What runs with one judge showed."""

    claims: list[tuple[str, str, bool]] = field(default_factory=list)
    """Run, kind and whether it was shown, of each claim that was offered."""
    cruxes: list[tuple[str, str, bool]] = field(default_factory=list)
    """The same of the sentences on what the dispute turns on."""
    sides: list[tuple[str, int, int]] = field(default_factory=list)
    """Run, sources and sentences of each side of which there were enough pages."""
    spent: list[tuple[str, list[Call]]] = field(default_factory=list)
    """Topic and calls of each first run."""
    slow: list[tuple[int, float]] = field(default_factory=list)
    """Of each run with a slow model the longest chain of calls, and the run's seconds."""
    not_offered: int = 0


def read_topics(folder: Path, half: str) -> list[Topic]:
    """The topics with the claims of a half. Raises InputError where there is none."""
    pages = [row.read(Page) for row in json_rows(folder / "pages.jsonl")]
    claims = [c for row in json_rows(folder / "claims.jsonl") if (c := row.read(Written)).half == half]
    if not claims:
        raise InputError(f"{folder} has no claims of the half '{half}'.")
    return [
        Topic(
            key=row.text("topic"),
            question=row.text("question"),
            statements={side: row.text(side) for side in ("for", "against")},
            pages=[p for p in pages if p.topic == row.text("topic")],
            claims=[c for c in claims if c.topic == row.text("topic")],
        )
        for row in json_rows(folder / "topics.jsonl")
    ]


async def ask(topics: Sequence[Topic], judge: str, seed: int, misses: bool = False) -> Found:
    """Whole runs of all topics until every claim was offered, with one judge; `misses` are told on standard error."""
    found = Found()
    manner: Manner = "right" if judge == EMBEDDED else judge  # type: ignore[assignment]  # one of JUDGES
    players = {t.key: Player(t.question, t.statements, t.pages, list(t.claims), manner, seed) for t in topics}
    name = f"scripted-{judge}-{uuid.uuid4().hex[:8]}"  # verdicts are kept by name
    asked = "embedded" if judge == EMBEDDED else "batch"
    with data_folder(load_settings()) as folder, ChatServer() as server:
        chosen = load_settings(model=name, provider="chat", judge=asked, openai_base_url=server.url)
        async with Runs(elsewhere(chosen, Path(folder))) as runs:
            for topic in topics:
                await asyncio.to_thread(_fill, runs, topic.pages, topic.key)
            for topic in topics:
                await _until_all_were_offered(runs, server, topic, players[topic.key], found, misses)
            if judge == "right":
                found.slow = await _with_a_slow_model(runs, server, topics, players)
    return found


def _fill(runs: Runs, pages: Sequence[Page], collection: str) -> None:
    search = runs.providers.search
    documents = [SourceDocument(p.id, p.text, title=p.title, publisher=p.publisher) for p in pages]
    Ingester(runs.store, search, search.encoder).ingest(documents, collection)


async def _answer(runs: Runs, topic: Topic, collection: str) -> Answer:
    options = RunOptions.of("normal", collections=(collection,), web=False, claims_per_side=6, deadline_seconds=300.0)
    return await runs.answer(await runs.start(topic.question, options))


async def _until_all_were_offered(
    runs: Runs, server: ChatServer, topic: Topic, player: Player, found: Found, misses: bool
) -> None:
    """The first run is over all pages of the topic, the next ones over those that the claims left over are taken from:
    of many pages a writer is not shown all."""
    server.script = player
    for turn in range(_RUNS):
        if not player.waiting or (turn and not player.offered):
            break
        collection, pages = topic.key, topic.pages
        if turn:
            wanted = {key for c in player.waiting for key in c.pages}
            collection, pages = f"{topic.key}-{turn}", [p for p in topic.pages if p.id in wanted]
            await asyncio.to_thread(_fill, runs, pages, collection)
        player.offered, player.crux = [], None
        server.taken()
        answer = await _answer(runs, topic, collection)
        if turn == 0:
            found.spent.append((topic.key, server.taken()))
        run = f"{topic.key} {turn}"
        shown = {c.text for side in answer.perspectives for c in side.claims}
        if player.crux:
            found.cruxes.append((run, player.crux.kind, bool(answer.crux) and answer.crux.text == player.crux.text))
        for claim in player.offered:
            found.claims.append((run, claim.kind, claim.text in shown))
            if misses and (claim.text in shown) != (claim.kind == TRUE):
                how = "lost" if claim.kind == TRUE else f"let through ({claim.kind})"
                print(f"{player.manner}, {how}: {claim.text}", file=sys.stderr)
        publishers = {c.number: c.publisher for c in answer.citations}
        for side in answer.perspectives:
            stance = {"supports": "for", "opposes": "against"}.get(side.stance)
            if stance and sum(p.side in (stance, "mixed") for p in pages) >= _THERE:
                cited = {publishers[n] for c in side.claims for n in c.citations}
                found.sides.append((run, len(cited), len(side.claims)))
    found.not_offered += len(player.waiting)


async def _with_a_slow_model(
    runs: Runs, server: ChatServer, topics: Sequence[Topic], players: dict[str, Player]
) -> list[tuple[int, float]]:
    """The longest chain of calls of a run of each topic, and its seconds, with a model that takes a second a call."""
    server.latency = A_SECOND
    slow = []
    for topic in topics:
        player = players[topic.key]
        player.waiting = [c for c in topic.claims if c.kind == TRUE]
        server.script = player
        server.taken()
        began = time.monotonic()
        await _answer(runs, topic, topic.key)
        slow.append((longest_chain(server.taken()), time.monotonic() - began))
    return slow
