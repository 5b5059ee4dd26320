"""Diverse news retrieval as NEWSCOPE measures it: paragraphs for an event's headline, relevant and unlike each other.

Stage I takes the 100 paragraphs of the whole corpus that are nearest to the headline by the encoder's cosine; stage II
chooses among them. The sentences of these candidates are clustered once an event, for all methods and for I; those of
the event's relevant paragraphs once, for C.

dense                  stage I alone; all others are compared with it
mmr                    maximal marginal relevance, its cosines undivided as in NEWSCOPE's appendix D
dkmips                 diversity-aware maximum inner product search
scs                    GreedySCS as printed: most clusters not yet covered, then the cosine
scs-released           GreedySCS as its code has it: 0.04 a cluster, and the cosine
greedyplus             GreedyPlus, λ = 0.5, by the encoder's cosine
greedyplus-calibrated  ours: GreedyPlus by a logistic function of the highest cosine in the paragraph's article

The last was fitted on one half of LocalNews; the other half's figures follow those of all its events.

With `--enough`, a method chooses until that share of the candidates' clusters is covered; the rest of k is filled by
its similarity. Only events with annotations are measured; the paragraphs of the others are in the corpus. Seconds of
stage II are those of clustering, where a method needs it, and of choosing the most paragraphs that `--k` names; vectors
are read from the cache.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from evals.datasets.news import NewsEvent, NewsSet, load_news
from evals.metrics import diversity as measure
from evals.metrics.diversity import COMPARED
from evals.metrics.measure import Figure, figures_by
from evals.reports.records import Record
from evals.reports.table import block, number, percent, sure
from evals.retrievers import news as stages
from evals.retrievers.corpus_index import Ranking
from evals.suite import common_options, cutoff_option, encoder_and_cache, names, progress, show, shuffled
from tools.errors import InputError


@dataclass(slots=True)
class Measured:
    """Of one method: measure to a value an event, and the seconds of stage II an event."""

    rows: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def of(self, chosen: Sequence[int]) -> "Measured":
        """Of these events alone."""
        rows = {name: [values[i] for i in chosen] for name, values in self.rows.items()}
        return Measured(rows, [self.seconds[i] for i in chosen])


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how."""

    news: NewsSet
    events: list[NewsEvent]
    methods: dict[str, stages.Choose]
    cutoffs: list[int]
    dials: stages.Dials = field(default_factory=stages.Dials)
    limit: int | None = None
    seed: int = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="ZIP|DIR", help="LocalNews.zip, or the folder unpacked from it")
    beside = f"beside dense; all: {','.join(stages.METHODS)}"
    add("--methods", type=names, default=list(stages.METHODS), metavar="NAME[,NAME…]", help=beside)
    cutoff_option(parser, "paragraphs", [5, 10, 20, 50], stages.CANDIDATES)
    add("--enough", type=float, metavar="SHARE", help="stop choosing at this share of covered clusters, such as 0.9")
    add("--trade-off", type=float, default=0.75, metavar="λ", help="of mmr and dkmips, unpublished (default: 0.75)")
    add("--weight", type=float, default=1.0, metavar="μ", help="of dkmips, unpublished (default: 1)")
    add("--divided", action="store_true", help="divide dkmips' relevance by k, as its authors do")
    common_options(
        parser, limit="only the first N events of a seeded shuffle", seed="seed of the shuffle and of the intervals"
    )


def run(args: argparse.Namespace) -> int:
    """Measures and prints. Raises InputError, and what an encoder elsewhere raises."""
    for name, most in (("enough", 1.0), ("trade_off", 1.0), ("weight", sys.float_info.max)):
        if (value := getattr(args, name)) is not None and not 0 <= value <= most:
            bounds = "from 0 to 1" if most == 1 else "of 0 or more"
            raise InputError(f"--{name.replace('_', '-')} has to be a number {bounds}, not {value}.")
    began = time.perf_counter()
    methods, news = named(args.methods), load_news(args.data)
    dials = stages.Dials(args.trade_off, args.weight, args.divided, args.enough)
    events = shuffled(news.measured, args.limit, args.seed)
    plan = Plan(news, events, methods, args.k, dials, args.limit, args.seed)
    encoder, cache = encoder_and_cache()
    report = scored(plan, measured(plan, stages.prepared(news, events, encoder, cache)), encoder.name)
    report["seconds"] = time.perf_counter() - began
    show(args.json, report, lambda: table(report))
    return 0


def named(methods: Sequence[str]) -> dict[str, stages.Choose]:
    """The methods of these names, dense before all. Raises InputError for a name that is none."""
    if unknown := [n for n in methods if n not in stages.METHODS]:
        raise InputError(f"there is no method '{unknown[0]}'. There are: {', '.join(stages.METHODS)}.")
    return {name: stages.METHODS[name] for name in ("dense", *methods)}


def measured(plan: Plan, ready: Iterable[stages.Ready]) -> dict[str, Measured]:
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
            found[name].seconds.append(seconds + stages.needs_clusters(name, plan.dials) * event.seconds)
    return found


def figures(ready: stages.Ready, chosen: Ranking, k: int) -> dict[str, float]:
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


def scored(plan: Plan, found: dict[str, Measured], encoder: str) -> Record:
    """The report: metrics, intervals, differences to dense, ratios to dense, items, seconds, configuration."""
    parts = {data: {name: one.of(chosen) for name, one in found.items()} for data, chosen in _parts(plan).items()}
    ids = {data: [plan.events[i].id for i in chosen] for data, chosen in _parts(plan).items()}
    each = {
        data: {name: measure.measures(one.rows, plan.cutoffs, ids[data]) for name, one in of.items()}
        for data, of in parts.items()
    }
    told = figures_by(each, plan.seed)
    others = [name for name in found if name != "dense"]
    return {
        "suite": "news",
        **told,
        "paired": {data: {n: _paired(of["dense"], of[n], plan.seed) for n in others} for data, of in each.items()},
        "ratios": {
            data: {n: measure.ratios(of["dense"], of[n], n, plan.cutoffs) for n in others}
            for data, of in told["metrics"].items()
        },
        "stage_two": {data: {n: _spread(one.seconds) for n, one in of.items()} for data, of in parts.items()},
        "config": _config(plan, encoder),
        "machine": {"cpus": os.cpu_count()},
    }


def _paired(dense: dict[str, Figure], other: dict[str, Figure], seed: int) -> Record:
    """Of each measure the difference to dense retrieval's, the same events drawn for both."""
    differences = {name: other[name].less(dense[name]) for name in dense}
    return {name: {"difference": d.value, "interval": d.interval(seed)} for name, d in differences.items()}


def _parts(plan: Plan) -> dict[str, list[int]]:
    """Which of the events are told of: all, and then those that greedyplus-calibrated was not fitted on."""
    parts = {plan.news.name: list(range(len(plan.events)))}
    if plan.news.name == stages.FITTED_ON and "greedyplus-calibrated" in plan.methods:
        held = stages.held_out(plan.news.measured)
        parts[f"{stages.FITTED_ON}, held out"] = [i for i, e in enumerate(plan.events) if e.id in held]
    return {data: chosen for data, chosen in parts.items() if chosen}


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    return {"median": float(np.median(seconds)), "p95": float(np.percentile(seconds, 95))}


def _config(plan: Plan, encoder: str) -> Record:
    news, dials = plan.news, plan.dials
    size = {
        "annotated": len(news.measured),
        "events": len(news.events),
        "paragraphs": len(news.corpus),
        "sources": len({p.publisher for p in news.corpus if p.publisher}),
        "without_text": news.without_text,
    }
    settings = asdict(dials) | {"candidates": stages.CANDIDATES, "methods": list(plan.methods), "k": plan.cutoffs}
    sample = None if plan.limit is None else {"limit": plan.limit, "seed": plan.seed}
    sizes = {data: {"questions": len(chosen)} | size for data, chosen in _parts(plan).items()}
    read = {"digest": news.digest, "sample": sample, "seed": plan.seed, "sizes": sizes}
    return {"data": news.name, "encoder": encoder, **settings, **read}


_RELEVANCE = {
    f"{reading}{m}": f"{told}{title}"
    for reading, told in (("", ""), ("published_", "published "))
    for m, title in (("precision", "P"), ("recall", "R"), ("f1", "F1"))
}
_DIVERSITY = {"distance": "D", "density": "I", "coverage": "C", "coverage_without_noise": "C without noise"}


def table(report: Record) -> str:
    """Two blocks a k, in percent with 95 % intervals over events in brackets; then the seconds of stage II.

    Those of the events that are held out follow in the same form.
    """
    config = report["config"]
    lines = [
        "* the paired interval of the difference to dense leaves zero out",
        "× a method's figure / dense retrieval's, in brackets the paper's ratio on its own clusters and encoder",
    ]
    for data, size in config["sizes"].items():
        lines += [
            "",
            f"{data}: {size['questions']} of {size['annotated']} annotated events; {size['paragraphs']} paragraphs "
            f"from {size['sources']} sources on {size['events']} events, {size['without_text']} without text left out",
        ]
        for k in config["k"]:
            for titles in (_RELEVANCE, _DIVERSITY):
                rows = {name: [_cell(report, data, name, f"{m}@{k}") for m in titles] for name in config["methods"]}
                lines += ["", *block([f"{title}@{k}" for title in titles.values()], rows)]
            rows = {name: [_ratio(report, data, name, f"{m}@{k}") for m in COMPARED] for name in config["methods"]}
            lines += ["", *block([f"{title}@{k} ×" for title in ("F1", "D", "I", "C")], rows)]
        spread = report["stage_two"][data]
        rows = {name: [f"{spread[name][m]:.4f}" for m in ("median", "p95")] for name in config["methods"]}
        lines += ["", *block(["stage II: s an event, median", "95th percentile"], rows)]
    told = f"encoder {config['encoder']}; enough {config['enough']}; seed {config['seed']}"
    return "\n".join([*lines, "", f"{report['seconds']:.1f} s; {told}"]) + "\n"


def _cell(report: Record, data: str, name: str, m: str) -> str:
    paired = report["paired"][data].get(name, {}).get(m, {"interval": (0.0, 0.0)})["interval"]
    return percent(report["metrics"][data][name][m], report["intervals"][data][name][m], sure(paired))


def _ratio(report: Record, data: str, name: str, m: str) -> str:
    ratio = report["ratios"][data].get(name, {}).get(m)
    return f"{number(ratio['here'], digits=2)} ({number(ratio['paper'], digits=2)})" if ratio else "1"
