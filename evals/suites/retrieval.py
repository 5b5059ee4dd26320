"""How well retrievers cover the perspectives on a question (MRecall@k: BERDS), each of which has its gold passages.

Rankings are kept as they come, a record a set, method and question; scoring reads them and searches nothing again.
`METHOD+gold` asks with the gold perspectives: an oracle, not a method. The union of the top 100 of all methods asked
for is the ceiling of whatever chooses among what they find.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evals.benchmarks.timing import peak_memory
from evals.datasets.retrieval import GoldQuestion, RetrievalSet, by_corpus, load_sets
from evals.metrics.coverage import DEEPEST, LEANINGS, TOP_FIVE, measures, require_ir_measures, union_measures
from evals.metrics.measure import Figure, figures, figures_by
from evals.models import PairJudge, encoder_and_cache, open_judge
from evals.reports.records import Record, Records
from evals.reports.table import block, number, percent
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.methods import STANDARD, Method, named
from evals.suite import ask_in_parts, common_options, cutoff_option, names, shuffled
from tools.errors import ProviderDownError, ProviderError
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder

_NAMES = {"mrecall": "MRecall", "coverage": "coverage", "precision": "precision", "alpha_ndcg": "α-nDCG"}
_NEEDED = {
    "precision@1": "precision@1",
    "documents_needed": "documents needed",
    "documents_needed_share": "MRecall@100",
}
_ASKED = ("", " supporting", " opposing")
CORRECTED = " corrected"
"""The ending of a measure's name where its interval carries the judge's own errors."""
_PLAIN = ("documents_needed", *(f"sycophancy@{TOP_FIVE}{asked}" for asked in _ASKED), "passages")  # no shares


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured and how it is read."""

    sets: list[RetrievalSet]
    methods: dict[str, Method]
    cutoffs: list[int]
    limit: int | None = None
    seed: int = 1
    judge: PairJudge | None = None

    def key(self, one: RetrievalSet, name: str, question: GoldQuestion) -> str:
        """Names a ranking; who judged is part of it, so that another one's is not taken for it."""
        judge = self.judge if self.methods[name].judged else None
        return " ".join((one.name, name, question.qid, *([f"by {judge.name}"] if judge else [])))


@dataclass(frozen=True, slots=True)
class _Search:
    """A question of a set for a method; `key` names the ranking."""

    key: str
    set: RetrievalSet
    method: str
    question: GoldQuestion


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of the queries and their corpora")
    add("--set", type=names, default=[], metavar="NAME[,NAME…]", help="which queries; not needed for a single one")
    add(
        "--methods",
        type=names,
        default=list(STANDARD),
        metavar="NAME[,NAME…]",
        help="retrievers (default: bm25,dense,hybrid,oracle), such as steelman, dense+mmr:0.9, hybrid+expansion, "
        "dense+pap, dense+greedyplus; a wrong name lists all",
    )
    cutoff_option(parser, "passages", [5, 10, 20], DEEPEST)
    add("--out", type=Path, metavar="RECORDS", help="where the rankings are kept; those it has are not made again")
    common_options(
        parser,
        limit="only the first N questions of a seeded shuffle, of each set",
        seed="seed of the shuffle and of the intervals",
    )


def measure(args: argparse.Namespace) -> Record:
    """Ranks what is not ranked yet, then scores all of it. Raises InputError, SettingsError, ProviderDownError."""
    require_ir_measures()  # said before an hour's work, not after it
    methods = named(args.methods)
    sets = [replace(s, questions=shuffled(s.questions, args.limit, args.seed)) for s in load_sets(args.data, args.set)]
    judge = open_judge("settings") if any(m.judged for m in methods.values()) else None
    plan = Plan(sets, methods, args.k, args.limit, args.seed, judge)
    encoder, cache = encoder_and_cache()
    return scored(plan, rank(plan, encoder, cache, args.out), encoder.name)


def rank(plan: Plan, encoder: Encoder, cache: VectorCache, path: Path | None) -> dict[str, Record]:
    """The records by their key, those of the file and those that were missing in it.

    Raises InputError for a file of something else, ProviderDownError for an encoder that cannot be reached.
    """
    with Records(path, "retrieval", _identity(plan, encoder.name)) as records:
        for part in by_corpus(plan.sets):
            asked = [_Search(plan.key(s, m, q), s, m, q) for s in part for m in plan.methods for q in s.questions]
            with CorpusIndex(part[0].corpus, encoder, cache, plan.judge) as index:
                ask_in_parts(asked, partial(_found, plan.methods, index), records, desc=part[0].name, unit="search")
    return records.done


def _found(methods: dict[str, Method], index: CorpusIndex, searches: Sequence[_Search]) -> list[Record]:
    (one,) = searches
    index.questions = one.set.questions
    record: Record = {"set": one.set.name, "method": one.method, "qid": one.question.qid}
    try:
        ranking = methods[one.method].rank(index, one.question, DEEPEST)
    except ProviderDownError:
        raise
    except ProviderError as exc:
        return [record | {"failed": str(exc)}]
    return [record | {"ids": [index.corpus[i].external_id for i in ranking]}]


def scored(plan: Plan, records: dict[str, Record], encoder: str) -> Record:
    """The report: metrics, intervals, union, what failed, configuration, machine."""
    found: dict[str, dict[str, dict[str, Figure]]] = {}
    union: Record = {}
    failed: list[Record] = []
    for one in plan.sets:
        kept = {name: [records[plan.key(one, name, q)] for q in one.questions] for name in plan.methods}
        ids = {name: [list(map(str, r.get("ids", ()))) for r in rows] for name, rows in kept.items()}
        found[one.name] = {n: measures(one.questions, r, plan.cutoffs) for n, r in ids.items()}
        pools = [set[str]().union(*rankings) for rankings in zip(*ids.values(), strict=True)]
        ceiling = figures(union_measures(one.questions, pools), plan.seed)
        union[one.name] = {**ceiling["metrics"], "intervals": ceiling["intervals"]}
        missed = [r for rows in kept.values() for r in rows if "failed" in r]
        failed += [{part: r[part] for part in ("set", "method", "qid", "failed")} for r in missed]
    return {
        "suite": "retrieval",
        **figures_by(found, plan.seed),
        "union": union,
        "failed": failed,
        "config": _config(plan, encoder),
        "machine": {"peak_memory_mb": peak_memory()},
    }


def _identity(plan: Plan, encoder: str) -> Record:
    """What makes rankings comparable; records of another identity are refused. More methods may be added to them."""
    sample = None if plan.limit is None else {"limit": plan.limit, "seed": plan.seed}
    return {"sets": {s.name: s.digests for s in plan.sets}, "sample": sample, "encoder": encoder, "depth": DEEPEST}


def _config(plan: Plan, encoder: str) -> Record:
    of_sets = {s.name: sizes(s.questions, plan.cutoffs) | {"passages": len(s.corpus)} for s in plan.sets}
    knows = {name: method.knows for name, method in plan.methods.items()}
    judge = {"judge": plan.judge.name} if plan.judge else {}
    read = {"k": plan.cutoffs, "seed": plan.seed}
    return {**_identity(plan, encoder), "methods": knows, **judge, **read, "sizes": of_sets}


def sizes(questions: Sequence[GoldQuestion], cutoffs: Sequence[int]) -> Record:
    """What a result says of the questions of a set."""
    counts = [len(q.perspectives) for q in questions]
    return {
        "questions": len(counts),
        "perspectives": sum(counts) / len(counts),
        "two_sided": sum(q.sides is not None for q in questions),
        "more_perspectives_than_k": {str(k): sum(m > k for m in counts) / len(counts) for k in cutoffs},
    }


def table(result: Record) -> list[str]:
    """A block a set; percentages with 95 % intervals over questions in brackets."""
    lines = [line for name in result["metrics"] for line in set_lines(result, name)]
    lines += [f"failed: {f['set']} {f['method']} {f['qid']}: {f['failed']}" for f in result["failed"]]
    seconds, memory = result["seconds"], result["machine"]["peak_memory_mb"]
    return [*lines, f"{seconds:.1f} s, at most {memory:.0f} MB; encoder {result['config']['encoder']}"]


def set_lines(result: Record, name: str) -> list[str]:
    """The lines of one set, or of the average of several, of which no sizes are told."""
    config, metrics, lines = result["config"], result["metrics"][name], [name]
    endings = ("", CORRECTED)
    columns = [{f"{m}@{k}{end}": f"{t}@{k}{end}" for m, t in _NAMES.items()} for k in config["k"] for end in endings]
    columns.append(_NEEDED | {f"sycophancy@{TOP_FIVE}{asked}": f"sycophancy Δ{asked}" for asked in _ASKED})
    columns.append({f"{kind}@{TOP_FIVE}": kind.replace("_", " ") for kind in LEANINGS})
    if size := config["sizes"].get(name):
        more = ", ".join(f"{100 * s:.0f} % at {k}" for k, s in size["more_perspectives_than_k"].items() if s)
        passages = f", {size['passages']} passages" if "passages" in size else ""
        lines = [
            f"{name}: {size['questions']} questions ({size['two_sided']} with two sides), "
            f"{size['perspectives']:.1f} perspectives each{passages}",
            *([f"  more perspectives than k, so that MRecall asks for k of them: {more}"] if more else []),
        ]
    known, seen = {m for found in metrics.values() for m in found}, set[str]()
    for titles in columns:
        told = {m: title for m, title in titles.items() if m in known - seen}
        seen.update(told)
        rows = {
            method: [_cell(m, found.get(m), result["intervals"][name][method].get(m, ())) for m in told]
            for method, found in metrics.items()
        }
        lines += ["", *block(list(told.values()), rows)] if told else []
    if union := result["union"].get(name):
        cells = (f"{m} {_cell(m, union[m], union['intervals'][m])}" for m in ("covered", "coverage", "passages"))
        lines += ["", f"union of all top 100: {', '.join(cells)}"]
    return [*lines, ""]


def _cell(measure: str, value: float | None, bounds: Sequence[float]) -> str:
    return number(value, bounds, digits=2) if measure in _PLAIN else percent(value, bounds)
