"""Measures how rankings cover the perspectives on contentious questions (BERDS). The passages have no labels.

A judge decides which perspectives each retrieved passage supports. The suite computes MRecall@k, precision@k and
coverage@k from the judge's verdicts.

`--corpus` is `ctxs` (the ranking in the data), a file of passages, or `collection:NAME` of the agent's store. The
methods are the methods of `python -m evals retrieval`, and `ctxs`, which keeps the corpus's order. `+expansion` uses
the data's `expansions`.

`--out` stores rankings, and the cache stores vectors and verdicts. So a stopped run continues, and a second run sends
no requests. Intervals do not include the judge's errors.
"""

import argparse
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from agent.settings import load_settings
from evals.datasets.perspectives import GoldRow, load_perspectives
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.datasets.rows import fingerprint
from evals.metrics.perspective_coverage import DEEPEST, TOP_FIVE
from evals.metrics.verdicts import Verdicts, gold_of
from evals.models import CHOICES, encoder_and_cache, open_judge
from evals.reports.records import Record, Records
from evals.retrievers.corpora import CTXS, open_corpora
from evals.retrievers.methods import QUERIES, Method, named
from evals.retrievers.ranker import Corpora, Ranker
from evals.suite import FIRST, common_options, cutoff_option, names, shuffled
from evals.suites.retrieval import Rankings, scored, set_lines
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.passages import SourceDocument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    places = "files or folders of *.jsonl, of questions with perspectives"
    add("--data", nargs="+", type=Path, required=True, metavar="FILE|DIR", help=places)
    corpus = "ctxs, FILE.jsonl[.gz] or collection:NAME (default: ctxs)"
    add("--corpus", default=CTXS, metavar="CORPUS", help=corpus)
    retrievers = (
        "ctxs, bm25, dense+mmr:0.9, hybrid+expansion, …; an unknown name lists all (default: ctxs, or bm25,dense)"
    )
    add("--methods", type=names, metavar="NAME[,NAME…]", help=retrievers)
    judges = [name for name in CHOICES if name != "cosine"]
    add("--judge", choices=judges, default="settings", help="the judge (default: the configured one)")
    add("--deep", action="store_true", help="judge the top 100: documents needed, union of the methods")
    add("--out", type=Path, metavar="RECORDS", help="file for the rankings; stored ones are reused")
    cutoff_option(parser, "passages", [1, 5, 10], DEEPEST)
    common_options(parser, f"{FIRST}, of each set", "seed of the sample and intervals")


def measure(args: argparse.Namespace) -> Record:
    """Adds the missing corpora, rankings and verdicts, then scores all rankings. Raises the errors of these steps."""
    settings, loaded = load_settings(), load_perspectives(args.data)
    sets = {name: shuffled(rows, args.limit, args.seed) for name, rows in loaded.items()}
    every = [row for rows in sets.values() for row in rows]
    methods = _methods_of(args.methods or ([CTXS] if args.corpus == CTXS else ["bm25", "dense"]), every)
    verdicts = Verdicts(open_judge(args.judge))
    encoder, cache = encoder_and_cache()
    corpora = open_corpora(args.corpus, every, settings)
    depth = DEEPEST if args.deep else max(*args.k, TOP_FIVE)
    data = {name: hashlib.sha256(repr(rows).encode()).hexdigest()[:12] for name, rows in sets.items()}
    config: Record = {"data": data, "corpus": args.corpus, "encoder": encoder.name, "depth": depth}
    config |= {"passages": fingerprint(corpora.of(every[0].key))} if corpora.shared else {}
    with Records(args.out, "berds", config) as to, Ranker(methods, encoder, cache, verdicts.judge, to) as ranker:
        found = {name: ranker.rank(name, _unjudged(rows), corpora, depth) for name, rows in sets.items()}
    gold = dict[str, list[GoldQuestion]]()
    for name, rows in sets.items():
        pools = _pools(rows, found[name], corpora)
        verdicts.ask(rows, pools, VectorCache(settings.cache_dir / "verdicts.db"))
        gold[name] = gold_of(rows, pools, verdicts)
    read = {name: getattr(args, name) for name in ("k", "limit", "seed")}
    result: Record = {"suite": "berds"} | scored(args, gold, found, judged=True)
    result["config"] = config | verdicts.told | read | {"sizes": result.pop("sizes")}
    unjudged = sum(map(math.isnan, verdicts.scores.values()))
    return result | {"failed": ranker.failed, "unjudged": unjudged}


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


def _unjudged(rows: Sequence[GoldRow]) -> list[GoldQuestion]:
    nothing = frozenset[str]()
    return [GoldQuestion(r.key, r.question, tuple(GoldPerspective(p, nothing) for p in r.gold)) for r in rows]


def _pools(rows: Sequence[GoldRow], found: Rankings, corpora: Corpora) -> dict[str, dict[str, SourceDocument]]:
    """Returns for each row the passages of all rankings, by id."""
    everybodys = {p.external_id: p for p in corpora.of(rows[0].key)} if corpora.shared else None
    pools = dict[str, dict[str, SourceDocument]]()
    for row in rows:
        known = everybodys or {p.external_id: p for p in corpora.of(row.key)}
        pools[row.key] = {i: known[i] for ids in found.values() for i in ids[row.key]}
    return pools


def table(result: Record) -> list[str]:
    config = result["config"]
    return [
        *(line for name in result["metrics"] for line in set_lines(result, name)),
        *([f"{result['unjudged']} pairs have no verdict and count as No"] if result["unjudged"] else []),
        f"corpus {config['corpus']}; encoder {config['encoder']}; "
        f"judge {config['judge']}, threshold {config['threshold']:.3f}",
        f"{result['seconds']:.1f} s",
    ]
