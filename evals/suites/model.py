"""With a chat model: are its true sentences kept and the bad ones refused, from how many sources, at what price (own)?

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
from collections import Counter
from pathlib import Path

from agent.settings import load_settings
from evals.datasets.rows import GOLD
from evals.metrics.measure import Ratio
from evals.reports.records import Record
from evals.reports.table import block, number, percent
from evals.scripted.live import ask_live, row_line
from evals.scripted.runs import A_SECOND, JUDGES, TRUE, Found, ask, read_topics
from evals.suite import check_known, common_options, names

_SOURCES = 3  # of a side
_SHARES = ("kept", "bad", "sources")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--half", choices=("dev", "last"), default="dev", help="which half of the claims (default: dev)")
    add("--judges", type=names, default=list(JUDGES), metavar="NAME[,NAME…]", help="which judges (default: all)")
    add("--data", type=Path, default=GOLD / "claims", metavar="DIR", help="folder of topics, pages and claims (.jsonl)")
    add("--misses", action="store_true", help="print the true claims that are lost and the bad ones let through")
    common_options(parser, seed="of the random tenth and the intervals")
    add("--live", action="store_true", help="ask ten questions on your own model and key instead")
    add("--yes", action="store_true", help="with --live: do not wait for a word after the price is told")


def measure(args: argparse.Namespace) -> Record:
    """Asks with each judge. Raises InputError."""
    if args.live:
        return asyncio.run(ask_live(load_settings(), yes=args.yes))
    check_known(args.judges, JUDGES, "judge")
    topics = read_topics(args.data, args.half)
    found = {judge: asyncio.run(ask(topics, judge, args.seed, args.misses)) for judge in args.judges}
    judges = {judge: figures_of(runs, args.seed) for judge, runs in found.items()}
    return {"suite": "model", "half": args.half, "judges": judges}


def figures_of(found: Found, seed: int) -> Record:
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
        **{n: {"value": m.value, "over": m.total, "interval": m.interval(seed)} for n, m in ratios.items()},
        "let_through": dict(through),
        "crux": [sum(cruxes[True]), len(cruxes[True]), sum(cruxes[False]), len(cruxes[False])],
        "sentences": sum(n for _, _, n in found.sides) / max(1, len(found.sides)),
        "calls": max(map(len, calls), default=0),
        "tokens": max((sum(c.given for c in of) for of in calls), default=0),
        "chain": max((chain for chain, _ in found.slow), default=None),
        "slowest": max((round(seconds / (chain * A_SECOND), 2) for chain, seconds in found.slow), default=None),
        "not_offered": found.not_offered,
    }


def table(result: Record) -> list[str]:
    """A row a judge; of each the figures. Of one's own model a line a question."""
    if "questions" in result:
        return [row_line(row) for row in result["questions"]]
    rows, told = dict[str, list[str]](), list[str]()
    for name, of in result["judges"].items():
        cells = [f"{percent(of[n]['value'], of[n]['interval'], digits=0)} {of[n]['over']:.0f}" for n in _SHARES]
        spent = [str(of["calls"]), f"{of['tokens']:,}", str(of["chain"] or "-"), number(of["slowest"], digits=2)]
        rows[name] = [*cells, f"{of['sentences']:.1f}", *spent]
        kept, true, passed, bad = of["crux"]
        told.append(f"{name}: what the dispute turns on: {kept} of {true} true ones kept, {passed} of {bad} bad shown")
        if of["let_through"]:
            told.append(f"{name}: let through: {', '.join(f'{n} {kind}' for kind, n in of['let_through'].items())}")
        if of["not_offered"]:
            told.append(f"{name}: {of['not_offered']} claims were in no run: their passages were not chosen")
    return [*block([*_SHARES, "a side", "calls", "tokens", "chain", "slowest"], rows, "judge"), *told]
