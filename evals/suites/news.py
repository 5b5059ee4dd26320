"""Diverse news retrieval as NEWSCOPE measures it: paragraphs for an event's headline, relevant and unlike each other.

Stage I takes the 100 paragraphs of the whole corpus that are nearest to the headline by the encoder's cosine; stage II
chooses among them. The sentences of these candidates are clustered once an event, for all methods and for I; those of
the event's relevant paragraphs once, for C.

dense                  stage I alone; all others are compared with it
mmr                    maximal marginal relevance, its cosines undivided as in NEWSCOPE's appendix D
dkmips                 diversity-aware maximum inner product search
scs                    GreedySCS as printed: most clusters not yet covered, then the cosine
scs-released           GreedySCS as its code has it: 0.04 a cluster, and the cosine
greedyplus             GreedyPlus, λ = 0.5, by the encoder's cosine or by a re-ranker
greedyplus-calibrated  ours: GreedyPlus by a logistic function of the highest cosine in the paragraph's article

The last was fitted on one half of LocalNews; the other half's figures follow those of all its events. `--fit` fits it
again: it prints what settings do on that half, and the one to take.

With `--enough`, a method chooses until that share of the candidates' clusters is covered; the rest of k is filled by
its similarity. Only events with annotations are measured; the paragraphs of the others are in the corpus. Seconds of
stage II are those of clustering, where a method needs it, and of choosing the most paragraphs that `--k` names; vectors
and a re-ranker's scores are read from the cache, and kept there event by event.
"""

import argparse
import importlib
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evals.datasets.news import NewsEvent, NewsSet, load_news
from evals.metrics import diversity as measure
from evals.reports.news import table
from evals.reports.records import Record
from evals.retrievers.calibration import FITTED_ON, READINGS, calibrations, halves, methods_of, middle
from evals.retrievers.corpus_index import CorpusIndex, Ranking
from evals.retrievers.news import METHODS, Choose, Dials, Ready, needs_clusters
from evals.suite import common_options, cutoffs, names, open_encoder, progress, retrieval_cache, show, shuffled
from tools.diversity.published import Clustered, cluster_sentences, clustered_sentences
from tools.errors import InputError
from tools.inference.cache import VectorCache
from tools.inference.encoders.encoder import Encoder
from tools.passages import SourceDocument

CANDIDATES = 100


class Scorer(Protocol):
    """A re-ranker: how well texts answer a query, from 0 to 1, shape (n,)."""

    name: str

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]: ...


@dataclass(slots=True)
class Measured:
    """Of one method: measure to a value an event, and the seconds of stage II an event."""

    rows: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how."""

    news: NewsSet
    events: list[NewsEvent]
    methods: dict[str, Choose]
    cutoffs: list[int]
    dials: Dials = field(default_factory=Dials)
    limit: int | None = None
    seed: int = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="ZIP|DIR", help="LocalNews.zip, or the folder unpacked from it")
    one = parser.add_mutually_exclusive_group()
    beside = f"beside dense; all: {','.join(METHODS)}"
    one.add_argument("--methods", type=names, default=list(METHODS), metavar="NAME[,NAME…]", help=beside)
    one.add_argument("--fit", action="store_true", help="fit greedyplus-calibrated on one half of the events")
    add(
        "--k",
        type=cutoffs(CANDIDATES),
        default=[5, 10, 20, 50],
        metavar="K[,K…]",
        help="paragraphs that count (5,10,20,50)",
    )
    add("--enough", type=_share, metavar="SHARE", help="stop choosing at this share of covered clusters, such as 0.9")
    add("--trade-off", type=_share, default=0.75, metavar="λ", help="of mmr and dkmips, unpublished (default: 0.75)")
    add("--weight", type=_weight, default=1.0, metavar="μ", help="of dkmips, unpublished (default: 1)")
    add("--divided", action="store_true", help="divide dkmips' relevance by k, as its authors do")
    add("--reranker", metavar="MODEL", help="a cross-encoder on this machine, for greedyplus (extra 'models')")
    common_options(
        parser, limit="only the first N events of a seeded shuffle", seed="seed of the shuffle and of the intervals"
    )


def run(args: argparse.Namespace) -> int:
    """Measures and prints. Raises InputError, and what a re-ranker or an encoder elsewhere raises."""
    began = time.perf_counter()
    methods, news = named(args.methods), load_news(args.data)
    dials = Dials(args.trade_off, args.weight, args.divided, args.enough)
    events = shuffled(halves(news.measured)[0] if args.fit else news.measured, args.limit, args.seed)
    plan = Plan(news, events, methods, args.k, dials, args.limit, args.seed)
    reranker = _reranker(args.reranker)
    encoder = open_encoder()
    ready = prepared(plan, encoder, retrieval_cache(), reranker)
    models = {"encoder": encoder.name, "reranker": reranker and reranker.name}
    report = fitted(plan, list(ready), models) if args.fit else scored(plan, measured(plan, ready), models)
    report["seconds"]["total"] = time.perf_counter() - began
    show(args.json, report, lambda: table(report))
    return 0


def named(methods: Sequence[str]) -> dict[str, Choose]:
    """The methods of these names, dense before all. Raises InputError for a name that is none."""
    if unknown := [n for n in methods if n not in METHODS]:
        raise InputError(f"there is no method '{unknown[0]}'. There are: {', '.join(METHODS)}.")
    return {name: METHODS[name] for name in ("dense", *methods)}


class Sentences:
    """The sentences of texts that are clustered, and their vectors, made or read from the cache at once."""

    def __init__(self, texts: Sequence[str], encoder: Encoder, cache: VectorCache) -> None:
        bar = progress(dict.fromkeys(texts), desc="sentences", unit="paragraph", leave=False)
        self._of = {text: clustered_sentences(text) for text in bar}
        every = dict.fromkeys(s for found in self._of.values() for s in found)
        self._at = {sentence: row for row, sentence in enumerate(every)}
        self._vectors = np.zeros((0, 0), np.float32)
        if every:
            with CorpusIndex([SourceDocument(s, s) for s in every], encoder, cache) as index:
                self._vectors = index.vectors

    def clustered(self, texts: Sequence[str]) -> tuple[Clustered, float]:
        """The clusters of the sentences of some of the texts, these numbered from 0, and the seconds that it took."""
        found = [(i, self._at[s]) for i, text in enumerate(texts) for s in self._of[text]]
        vectors = self._vectors[[row for _, row in found]]
        began = time.perf_counter()
        clusters = cluster_sentences(vectors, [i for i, _ in found])
        return clusters, time.perf_counter() - began


def prepared(plan: Plan, encoder: Encoder, cache: VectorCache, reranker: Scorer | None = None) -> Iterator[Ready]:
    """The events after stage I. Raises ProviderError of an encoder elsewhere, ModelError of a re-ranker."""
    corpus = plan.news.corpus
    with CorpusIndex(corpus, encoder, cache) as index:
        queries, vectors = index.query_vectors([e.headline for e in plan.events]), index.vectors
    cosines = queries @ vectors.T
    found = [np.argsort(-row, kind="stable")[:CANDIDATES] for row in cosines]
    texts = [corpus[i].text for candidates in found for i in candidates]
    texts += [p.text for e in plan.events for p in e.positives]
    article = {p.id: p.article for e in plan.news.events for p in e.paragraphs}
    sentences = Sentences(texts, encoder, cache)
    importlib.import_module("sklearn.cluster")  # else the first event's seconds would be those of the import
    for event, row, candidates in zip(plan.events, cosines, found, strict=True):
        held, ids = [corpus[i].text for i in candidates], [corpus[i].external_id for i in candidates]
        clusters, seconds = sentences.clustered(held)
        yield Ready(
            event=event,
            ids=ids,
            articles=[article[i] for i in ids],
            vectors=vectors[candidates],
            cosine=row[candidates],
            similarity=row[candidates] if reranker is None else reranked(reranker, cache, event.headline, held),
            clusters=clusters,
            positives=sentences.clustered([p.text for p in event.positives])[0],
            place={p.id: i for i, p in enumerate(event.positives)},
            seconds=seconds,
        )


def reranked(reranker: Scorer, cache: VectorCache, headline: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """A re-ranker's scores of texts for a headline, shape (n,), from the cache as far as they are there."""
    space = f"{reranker.name}:{headline}"
    rows = cache.rows(space, texts, lambda missing: reranker.scores(headline, [texts[i] for i in missing]))
    return rows.reshape(-1)


def measured(plan: Plan, ready: Iterable[Ready]) -> dict[str, Measured]:
    """What each method chooses, measured; the seconds are those of the most paragraphs asked for."""
    found = {name: Measured() for name in plan.methods}
    for event in progress(ready, total=len(plan.events), unit="event"):
        for name, choose in plan.methods.items():
            for k in plan.cutoffs:  # DkMIPS weighs by k: its choice of five need not begin its choice of ten
                began = time.perf_counter()
                chosen = choose(event, k, plan.dials)
                seconds = time.perf_counter() - began
                for figure, value in figures(event, chosen, k).items():
                    found[name].rows.setdefault(figure, []).append(value)
            found[name].seconds.append(seconds + needs_clusters(name, plan.dials) * event.seconds)
    return found


def figures(ready: Ready, chosen: Ranking, k: int) -> dict[str, float]:
    """Measure to its value for the candidates at these positions, at most k of them."""
    ids, relevant = [ready.ids[i] for i in chosen], ready.place.keys()
    found = [ready.place[i] for i in ids if i in relevant]
    return {
        f"precision@{k}": measure.precision(ids, relevant, k),
        f"recall@{k}": measure.recall(ids, relevant, k),
        f"published_precision@{k}": measure.precision(ids, ready.event.annotated, k),
        f"published_recall@{k}": measure.recall(ids, ready.event.annotated, k),
        f"distance@{k}": measure.distance(ready.vectors[chosen]),
        f"density@{k}": measure.density(ready.clusters, chosen),
        f"coverage@{k}": measure.coverage(ready.positives, found),
        f"coverage_without_noise@{k}": measure.coverage(ready.positives, found, noise=False),
    }


def scored(plan: Plan, found: dict[str, Measured], models: Record) -> Record:
    """The report: metrics, intervals, differences to dense, ratios to dense, items, seconds, configuration."""
    parts = {data: _part(plan, found, chosen) for data, chosen in _parts(plan).items()}
    sections = {section: {data: part[section] for data, part in parts.items()} for section in parts[plan.news.name]}
    seconds = {"search": sections.pop("search")}
    settings = {"config": _config(plan, models), "seconds": seconds, "machine": {"cpus": os.cpu_count()}}
    return {"suite": "news", **sections, **settings}


def fitted(plan: Plan, ready: Sequence[Ready], models: Record) -> Record:
    """The report on every setting, and in its configuration the one to take of each reading, None where none does.

    Raises InputError where there is nothing to fit on.
    """
    tried = calibrations(ready)
    every = replace(plan, methods=named([]) | methods_of(tried))
    report, data = scored(every, measured(every, ready), models), plan.news.name
    best = {reading: middle(report["metrics"][data], reading, plan.cutoffs[0]) for reading in READINGS}
    report["config"]["fitted"] = {reading: name and asdict(tried[name]) for reading, name in best.items()}
    return report


def _parts(plan: Plan) -> dict[str, list[int]]:
    """Which of the events are told of: all, and then those that greedyplus-calibrated was not fitted on."""
    parts = {plan.news.name: list(range(len(plan.events)))}
    if plan.news.name == FITTED_ON and "greedyplus-calibrated" in plan.methods:
        held = {e.id for e in halves(plan.news.measured)[1]}
        parts[f"{FITTED_ON}, held out"] = [i for i, e in enumerate(plan.events) if e.id in held]
    return {data: chosen for data, chosen in parts.items() if chosen}


def _part(plan: Plan, found: dict[str, Measured], chosen: Sequence[int]) -> Record:
    """What the report has of these events, section by section."""
    everything, events = np.arange(len(chosen)), [plan.events[i] for i in chosen]
    rows = {name: {m: np.asarray(values)[chosen] for m, values in one.rows.items()} for name, one in found.items()}
    seconds = {name: [one.seconds[i] for i in chosen] for name, one in found.items()}
    statistics = {name: measure.statistics(of, plan.cutoffs) for name, of in rows.items()}
    metrics = {name: {m: s(everything) for m, s in of.items()} for name, of in statistics.items()}
    others, size = [name for name in found if name != "dense"], len(chosen)
    return {
        "metrics": metrics,
        "intervals": {name: measure.intervals(of, size, plan.seed) for name, of in statistics.items()},
        "paired": {n: measure.paired(statistics["dense"], statistics[n], size, plan.seed) for n in others},
        "ratios": {n: measure.ratios(metrics["dense"], metrics[n], n, plan.cutoffs) for n in others},
        "items": {name: _items(events, of) for name, of in rows.items()},
        "stage_two": {name: _spread(of) for name, of in seconds.items()},
        "search": {name: sum(of) for name, of in seconds.items()},
    }


def _items(events: Sequence[NewsEvent], rows: dict[str, measure.Floats]) -> dict[str, list[tuple[str, float, float]]]:
    """Rows of (event, value, 1), for comparing two results event by event; F1 is no mean over events and has none."""
    return {
        name: [(e.id, float(v), 1.0) for e, v in zip(events, values, strict=True) if not math.isnan(v)]
        for name, values in rows.items()
    }


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    return {"median": float(np.median(seconds)), "p95": float(np.percentile(seconds, 95))}


def _config(plan: Plan, models: Record) -> Record:
    news, dials = plan.news, plan.dials
    size = {
        "annotated": len(news.measured),
        "events": len(news.events),
        "paragraphs": len(news.corpus),
        "sources": len({p.publisher for p in news.corpus if p.publisher}),
        "without_text": news.without_text,
    }
    settings = asdict(dials) | {"candidates": CANDIDATES, "methods": list(plan.methods), "k": plan.cutoffs}
    sample = None if plan.limit is None else {"limit": plan.limit, "seed": plan.seed}
    sizes = {data: {"questions": len(chosen)} | size for data, chosen in _parts(plan).items()}
    read = {"digest": news.digest, "sample": sample, "seed": plan.seed, "sizes": sizes}
    return {"data": news.name, **models, **settings, **read}


def _reranker(model: str | None) -> Scorer | None:
    if model is None:
        return None
    from tools.inference.encoders.reranker import Reranker

    return Reranker(model)


def _share(text: str) -> float:
    return _number(text, 1.0)


def _weight(text: str) -> float:
    return _number(text, sys.float_info.max)


def _number(text: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise argparse.ArgumentTypeError("give a number from 0 to 1" if most == 1 else "give a number of 0 or more")
    return number
