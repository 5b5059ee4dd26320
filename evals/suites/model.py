"""With a chat model: are its true sentences kept and the bad ones refused, from how many sources, at what price?

A scripted model answers over real HTTP on this machine (`evals/scripted`), in whole runs over the pages of
`evals/gold/claims`: three topics with 24 pages of known sides. It writes the gold's claims, half of them true, half
wrong in one of nine ways (a number altered, invented on a real page, a page that is none, another page's claim, a
clause added, a negation, an address, markup, words to the reader), and judges

right     by the gold
all       passages by the gold, and finds every claim said and fit
tenth     wrong about a random tenth of the passages and of the claims
first     right, but the first passage of a call speaks for the first side
favour    right, but what is mixed speaks for the first side
embedded  the claims alone: passages are judged by the embedded judge (STEELMAN_JUDGE=embedded)

kept      true claims that are shown; claims that quotations took the place of don't count
bad       bad claims that are shown
crux      the sentence on what the dispute turns on: two true claims joined, every other time with an invented figure
sources   sides that show at least three sources, where the pages hold six
calls, tokens  of the first run of a topic: the model's calls, tokens given to it
chain, slowest of these runs once more, with a model that is right and takes a second a call: the longest sequence of
          calls of which each waited for the one before, and the run's time over that of the sequence
The half 'last' is kept for the end of any work on the checks. Intervals: 95 %, bootstrapped by topic and run.

--live asks ten questions on your own model and key instead, and prints what can be counted without gold. It tells what
that may cost at most before it asks.
"""

import argparse
import asyncio
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from evals.answering.asking import data_folder, elsewhere
from evals.datasets.rows import json_rows
from evals.metrics.measure import Ratio
from evals.reports.table import block, number, percent
from evals.scripted.live import ask_live
from evals.scripted.player import MANNERS, Manner, Page, Player, Written
from evals.scripted.server import Call, ChatServer, longest_chain
from evals.suite import GOLD, HALVES, common_options, show, with_intervals
from tools.documents.ingest import Ingester
from tools.errors import InputError
from tools.passages import SourceDocument

CLAIMS = GOLD / "claims"
TRUE = "true"
EMBEDDED = "embedded"
COLUMNS = (*MANNERS, EMBEDDED)
_SOURCES = 3  # of a side
_THERE = 6  # sources that a side has to have for that
_RUNS = 8  # of a topic at most; claims whose passages were in none of them are not offered
_A_SECOND = 1.0


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--half", choices=HALVES, default="dev", help="which half of the claims (default: dev)")
    add("--judges", default=",".join(COLUMNS), metavar="NAME[,NAME…]", help="which judges (default: all)")
    add("--data", type=Path, default=CLAIMS, metavar="DIR", help="folder of topics, pages and claims (.jsonl)")
    add("--misses", action="store_true", help="print the true claims that are lost and the bad ones let through")
    common_options(parser, seed="of the random tenth and the intervals")
    add("--live", action="store_true", help="ask ten questions on your own model and key instead")
    add("--yes", action="store_true", help="with --live: do not wait for a word after the price is told")


def run(args: argparse.Namespace) -> int:
    """Asks and prints. Raises InputError."""
    if args.live:
        return asyncio.run(ask_live(load_settings(), yes=args.yes, as_json=args.json))
    names = args.judges.split(",")
    if unknown := [n for n in names if n not in COLUMNS]:
        raise InputError(f"there is no judge '{unknown[0]}'. There are: {', '.join(COLUMNS)}.")
    found = {name: asyncio.run(_asked(args, name)) for name in names}
    figures = {name: figures_of(f, args.seed) for name, f in found.items()}
    show(args.json, {"suite": "model", "half": args.half, "judges": figures}, lambda: table(figures))
    return 0


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


async def _asked(args: argparse.Namespace, judge: str) -> Found:
    """Whole runs of all topics until every claim was offered, with one judge."""
    found = Found()
    topics = read_topics(args.data, args.half)
    manner: Manner = "right" if judge == EMBEDDED else judge  # type: ignore[assignment]  # one of COLUMNS
    players = {t.key: Player(t.question, t.statements, t.pages, list(t.claims), manner, args.seed) for t in topics}
    name = f"scripted-{judge}-{uuid.uuid4().hex[:8]}"  # verdicts are kept by name
    asked = "embedded" if judge == EMBEDDED else "batch"
    with data_folder(load_settings()) as folder, ChatServer() as server:
        chosen = load_settings(model=name, provider="chat", judge=asked, openai_base_url=server.url)
        async with Runs(elsewhere(chosen, Path(folder))) as runs:
            for topic in topics:
                await asyncio.to_thread(_fill, runs, topic.pages, topic.key)
            for topic in topics:
                await _until_all_were_offered(runs, server, topic, players[topic.key], found, args.misses)
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
    server.latency = _A_SECOND
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


def figures_of(found: Found, seed: int) -> dict[str, Any]:
    """The measures of one judge, as numbers."""
    ratios = {
        "kept": Ratio.of([(run, shown, 1) for run, kind, shown in found.claims if kind == TRUE]),
        "bad": Ratio.of([(run, shown, 1) for run, kind, shown in found.claims if kind != TRUE]),
        "sources": Ratio.of([(run, sources >= _SOURCES, 1) for run, sources, _ in found.sides]),
    }
    cruxes = {kind: [shown for _, k, shown in found.cruxes if (k == TRUE) == kind] for kind in (True, False)}
    through = Counter(kind for _, kind, shown in found.claims if shown and kind != TRUE)
    calls = [calls for _, calls in found.spent]
    return {
        **with_intervals(ratios, seed),
        "let_through": dict(through),
        "crux": [sum(cruxes[True]), len(cruxes[True]), sum(cruxes[False]), len(cruxes[False])],
        "sentences": sum(n for _, _, n in found.sides) / max(1, len(found.sides)),
        "calls": max(map(len, calls), default=0),
        "tokens": max((sum(c.given for c in of) for of in calls), default=0),
        "chain": max((chain for chain, _ in found.slow), default=None),
        "slowest": max((round(seconds / (chain * _A_SECOND), 2) for chain, seconds in found.slow), default=None),
        "not_offered": found.not_offered,
    }


def table(judges: dict[str, dict[str, Any]]) -> str:
    """A row a judge; of each the figures."""
    shares = ("kept", "bad", "sources")
    rows, told = dict[str, list[str]](), list[str]()
    for name, of in judges.items():
        cells = [f"{percent(of[n]['value'], of[n]['interval'], digits=0)} {of[n]['over']:.0f}" for n in shares]
        rows[name] = [
            *cells, f"{of['sentences']:.1f}", str(of["calls"]), f"{of['tokens']:,}", str(of["chain"] or "-"),
            number(of["slowest"], digits=2),
        ]  # fmt: skip
        kept, true, passed, bad = of["crux"]
        told.append(f"{name}: what the dispute turns on: {kept} of {true} true ones kept, {passed} of {bad} bad shown")
        if of["let_through"]:
            told.append(f"{name}: let through: {', '.join(f'{n} {kind}' for kind, n in of['let_through'].items())}")
        if of["not_offered"]:
            told.append(f"{name}: {of['not_offered']} claims were in no run: their passages were not chosen")
    titles = [*shares, "a side", "calls", "tokens", "chain", "slowest"]
    return "\n".join([*block(titles, rows, "judge"), *told]) + "\n"
