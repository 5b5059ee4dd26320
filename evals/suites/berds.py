"""Measures how rankings cover the perspectives on contentious questions (BERDS). The passages have no labels.

A judge decides which perspectives each retrieved passage supports. The suite computes MRecall@k, precision@k and
coverage@k from the judge's verdicts.

`--corpus` is `ctxs` (the ranking in the data), a file of passages, or `collection:NAME` of the agent's store. The
methods are the methods of `python -m evals retrieval`, and `ctxs`, which keeps the corpus's order. `+expansion` uses
the data's `expansions`.

The cache stores vectors and verdicts. So a stopped run continues, and a second run sends no requests. Intervals do not
include the judge's errors.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agent.settings import Settings, load_settings
from evals.datasets.perspectives import GoldRow, load_perspectives
from evals.datasets.retrieval import GoldPerspective, GoldQuestion, read_corpus
from evals.metrics.perspective_coverage import DEEPEST, TOP_FIVE
from evals.metrics.verdicts import judged_gold
from evals.models import CHOICES, encoder_and_cache, open_judge
from evals.reports.records import Record
from evals.retrievers.methods import QUERIES, Method, named
from evals.retrievers.ranker import Corpora, Ranker, Rankings
from evals.suite import FIRST, common_options, cutoff_option, names, shuffled
from evals.suites.retrieval import scored, set_lines
from tools.errors import InputError
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.store import Store

CTXS, _COLLECTION = "ctxs", "collection:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", nargs="+", type=Path, required=True, metavar="FILE", help="questions with perspectives (*.jsonl)")
    corpus = "ctxs, FILE.jsonl[.gz] or collection:NAME (default: ctxs)"
    add("--corpus", default=CTXS, metavar="CORPUS", help=corpus)
    retrievers = (
        "ctxs, bm25, dense+mmr:0.9, hybrid+expansion, …; an unknown name lists all (default: ctxs, or bm25,dense)"
    )
    add("--methods", type=names, metavar="NAME[,NAME…]", help=retrievers)
    judges = [name for name in CHOICES if name != "cosine"]
    add("--judge", choices=judges, default="settings", help="the judge (default: the configured one)")
    add("--deep", action="store_true", help="judge the top 100: documents needed, union of the methods")
    cutoff_option(parser, "passages", [1, 5, 10], DEEPEST)
    common_options(parser, f"{FIRST}, of each set", "seed of the sample and intervals")


def measure(args: argparse.Namespace) -> Record:
    """Ranks, judges the pairs without a verdict, then scores the rankings. Raises the errors of these steps."""
    settings, loaded = load_settings(), load_perspectives(args.data)
    sets = {name: shuffled(rows, args.limit, args.seed) for name, rows in loaded.items()}
    every = [row for rows in sets.values() for row in rows]
    methods = _methods_of(args.methods or ([CTXS] if args.corpus == CTXS else ["bm25", "dense"]), every)
    judge = open_judge(args.judge)
    threshold = judge.threshold or 0.5
    encoder, cache = encoder_and_cache()
    corpora = open_corpora(args.corpus, every, settings)
    depth = DEEPEST if args.deep else max(*args.k, TOP_FIVE)
    data = {name: hashlib.sha256(repr(rows).encode()).hexdigest()[:12] for name, rows in sets.items()}
    ranker, gold = Ranker(methods, encoder, cache, judge), dict[str, list[GoldQuestion]]()
    found, failed, unjudged = dict[str, Rankings](), list[str](), 0
    for name, rows in sets.items():
        found[name], missing = ranker.rank(_unjudged(rows), corpora, depth)
        failed += [f"{name} {one}" for one in missing]
        pools = {r.key: {p.external_id: p for of in found[name].values() for p in of[r.key]} for r in rows}
        gold[name], without = judged_gold(rows, pools, judge, threshold, cache)
        unjudged += without
    config: Record = {"data": data, "corpus": args.corpus, "encoder": encoder.name, "depth": depth}
    config |= {"judge": judge.name, "threshold": threshold}
    read = {name: getattr(args, name) for name in ("k", "limit", "seed")}
    result: Record = {"suite": "berds"} | scored(args, gold, found, judged=True)
    result["config"] = config | read | {"sizes": result.pop("sizes")}
    return result | {"failed": failed, "unjudged": unjudged}


def _methods_of(names: Sequence[str], rows: Sequence[GoldRow]) -> dict[str, Method]:
    """Returns the methods of these names. `ctxs` keeps the corpus's order. Raises InputError for an unknown name, and
    for `expansion` if a row has no 'expansions'."""
    widened = {row.key: row.expansions for row in rows}
    found = {CTXS: Method(lambda index, _, k: list(range(len(index.corpus)))[:k])} if CTXS in names else {}
    if others := [name for name in names if name != CTXS]:
        found |= named(others, QUERIES | {"expansion": lambda q: [f"{q.question} {e}" for e in widened[q.qid]]})
    if any("+expansion" in name for name in found) and (bare := [key for key, texts in widened.items() if not texts]):
        raise InputError(
            f"{bare[0]} has no 'expansions', the perspectives to search for. Add them, or leave out the method."
        )
    return found


def open_corpora(name: str, rows: Sequence[GoldRow], settings: Settings) -> Corpora:
    """Opens the corpora of that name. Raises InputError."""
    if name == CTXS:
        if missing := [row.key for row in rows if row.ctxs is None]:
            raise InputError(f"{missing[0]} has no 'ctxs', the ranking to measure. Add it, or give another --corpus.")
        brought = {row.key: _brought(row) for row in rows}
        return brought.__getitem__
    stored = name.startswith(_COLLECTION)
    corpus = _stored(name.removeprefix(_COLLECTION), settings) if stored else read_corpus(Path(name))
    return lambda _: corpus


def _brought(row: GoldRow) -> list[SourceDocument]:
    """Returns the ranking of the data file, with empty places. The passages keep the file's ids if the ids are
    unique."""
    ctxs = row.ctxs or ()
    named = len({c.id for c in ctxs} - {""}) == len(ctxs)
    return [SourceDocument(c.id if named else str(n), c.text, title=c.title) for n, c in enumerate(ctxs, start=1)]


def _stored(name: str, settings: Settings) -> list[SourceDocument]:
    with closing(Database(settings.database)) as database:
        store = Store(database)
        wanted, _ = store.collection(name)
        rows = store.scan(0, sys.maxsize)
        return [SourceDocument(str(p.id), p.text, title=p.title) for number, p in rows if number == wanted]


def _unjudged(rows: Sequence[GoldRow]) -> list[GoldQuestion]:
    nothing = frozenset[str]()
    return [GoldQuestion(r.key, r.question, tuple(GoldPerspective(p, nothing) for p in r.gold)) for r in rows]


def table(result: Record) -> list[str]:
    config = result["config"]
    return [
        *(line for name in result["metrics"] for line in set_lines(result, name)),
        *([f"{result['unjudged']} pairs have no verdict and count as No"] if result["unjudged"] else []),
        f"corpus {config['corpus']}; encoder {config['encoder']}; "
        f"judge {config['judge']}, threshold {config['threshold']:.3f}",
        f"{result['seconds']:.1f} s",
    ]
