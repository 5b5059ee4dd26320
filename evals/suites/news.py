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

With `--enough`, the greedy methods choose until that share of the candidates' clusters is covered; the rest of k is
filled by their similarity. Only events with annotations are measured; the paragraphs of the others are in the corpus.
Seconds of stage II are those of clustering, where a method needs it, and of choosing the most paragraphs that `--k`
names; vectors are read from the cache.
"""

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evals.datasets.news import NewsEvent, NewsSet, load_news
from evals.metrics import diversity as metric
from evals.metrics.diversity import COMPARED, figures
from evals.metrics.measure import figures_by, paired
from evals.models import encoder_and_cache
from evals.reports.records import Record
from evals.reports.table import block, number, percent, sure
from evals.retrievers import news as stages
from evals.suite import check_known, common_options, cutoff_option, names, progress, shuffled
from tools.errors import InputError

Rows = dict[str, list[float]]
"""Of one method: measure to a value an event, the `seconds` of stage II among them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how."""

    news: NewsSet
    events: list[NewsEvent]
    methods: dict[str, stages.Choose]
    cutoffs: list[int]
    enough: float = 1.0
    limit: int | None = None
    seed: int = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="ZIP|DIR", help="LocalNews.zip, or the folder unpacked from it")
    beside = f"beside dense; all: {','.join(stages.METHODS)}"
    add("--methods", type=names, default=list(stages.METHODS), metavar="NAME[,NAME…]", help=beside)
    cutoff_option(parser, "paragraphs", [5, 10, 20, 50], stages.CANDIDATES)
    enough = "the greedy methods stop choosing at this share of covered clusters, such as 0.9"
    add("--enough", type=float, default=1.0, metavar="SHARE", help=enough)
    common_options(
        parser, limit="only the first N events of a seeded shuffle", seed="seed of the shuffle and of the intervals"
    )


def measure(args: argparse.Namespace) -> Record:
    """Raises InputError, and what an encoder elsewhere raises."""
    if not 0 <= args.enough <= 1:
        raise InputError(f"--enough has to be a number from 0 to 1, not {args.enough}.")
    methods, news = named(args.methods), load_news(args.data)
    events = shuffled(news.measured, args.limit, args.seed)
    plan = Plan(news, events, methods, args.k, args.enough, args.limit, args.seed)
    encoder, cache = encoder_and_cache()
    return scored(plan, measured(plan, stages.prepared(news, events, encoder, cache)), encoder.name)


def named(methods: Sequence[str]) -> dict[str, stages.Choose]:
    """The methods of these names, dense before all. Raises InputError for a name that is none."""
    check_known(methods, stages.METHODS, "method")
    return {name: stages.METHODS[name] for name in ("dense", *methods)}


def measured(plan: Plan, ready: Iterable[stages.Ready]) -> dict[str, Rows]:
    """What each method chooses, measured; the seconds are those of the most paragraphs asked for."""
    found: dict[str, Rows] = {name: {} for name in plan.methods}
    for event in progress(ready, total=len(plan.events), unit="event"):
        for name, choose in plan.methods.items():
            values: dict[str, float] = {}
            for k in plan.cutoffs:  # DkMIPS weighs by k: its choice of five need not begin its choice of ten
                began = time.perf_counter()
                chosen = choose(event, k, plan.enough)
                values["seconds"] = time.perf_counter() - began
                values |= figures(event, chosen, k)
            values["seconds"] += (name in stages.CLUSTERED) * event.seconds
            for figure, value in values.items():
                found[name].setdefault(figure, []).append(value)
    return found


def scored(plan: Plan, found: Mapping[str, Rows], encoder: str) -> Record:
    """The report: metrics, intervals, differences to dense, ratios to dense, items, seconds, configuration."""
    each, spread = {}, {}
    for data, chosen in _parts(plan).items():
        ids = [plan.events[i].id for i in chosen]
        rows = {name: {m: [v[i] for i in chosen] for m, v in of.items()} for name, of in found.items()}
        seconds = {name: of.pop("seconds") for name, of in rows.items()}
        spread[data] = {n: {"median": np.median(s), "p95": np.percentile(s, 95)} for n, s in seconds.items()}
        each[data] = {name: metric.measures(of, plan.cutoffs, ids) for name, of in rows.items()}
    told = figures_by(each, plan.seed)
    others = [name for name in found if name != "dense"]
    return {
        "suite": "news",
        **told,
        "paired": {data: {n: paired(of["dense"], of[n], plan.seed) for n in others} for data, of in each.items()},
        "ratios": {
            data: {n: metric.ratios(of["dense"], of[n], n, plan.cutoffs) for n in others}
            for data, of in told["metrics"].items()
        },
        "stage_two": spread,
        "config": _config(plan, encoder),
    }


def _parts(plan: Plan) -> dict[str, list[int]]:
    """Which of the events are told of: all, and then those that greedyplus-calibrated was not fitted on."""
    parts = {plan.news.name: list(range(len(plan.events)))}
    if plan.news.name == stages.FITTED_ON and "greedyplus-calibrated" in plan.methods:
        held = stages.held_out(plan.news.measured)
        parts[f"{stages.FITTED_ON}, held out"] = [i for i, e in enumerate(plan.events) if e.id in held]
    return {data: chosen for data, chosen in parts.items() if chosen}


def _config(plan: Plan, encoder: str) -> Record:
    news = plan.news
    return {
        "data": news.name,
        "digest": news.digest,
        "encoder": encoder,
        "enough": plan.enough,
        "candidates": stages.CANDIDATES,
        "methods": list(plan.methods),
        "k": plan.cutoffs,
        "sample": None if plan.limit is None else {"limit": plan.limit, "seed": plan.seed},
        "seed": plan.seed,
        "sizes": {data: {"questions": len(chosen)} | news.sizes for data, chosen in _parts(plan).items()},
    }


_COUNTED = {"precision": "P", "recall": "R", "f1": "F1"}
_RELEVANCE = _COUNTED | {f"published_{m}": f"published {title}" for m, title in _COUNTED.items()}
_DIVERSITY = {"distance": "D", "density": "I", "coverage": "C", "coverage_without_noise": "C without noise"}


def table(result: Record) -> list[str]:
    """Two blocks a k, in percent with 95 % intervals over events in brackets; then the seconds of stage II.

    Those of the events that are held out follow in the same form.
    """
    config = result["config"]
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
        spread, methods = result["stage_two"][data], config["methods"]
        for k in config["k"]:
            for titles in (_RELEVANCE, _DIVERSITY):
                rows = {name: [_cell(result, data, name, f"{m}@{k}") for m in titles] for name in methods}
                lines += ["", *block([f"{title}@{k}" for title in titles.values()], rows)]
            rows = {name: [_ratio(result, data, name, f"{m}@{k}") for m in COMPARED] for name in methods}
            lines += ["", *block([f"{title}@{k} ×" for title in ("F1", "D", "I", "C")], rows)]
        rows = {name: [f"{spread[name][m]:.4f}" for m in ("median", "p95")] for name in methods}
        lines += ["", *block(["stage II: s an event, median", "95th percentile"], rows)]
    told = f"encoder {config['encoder']}; enough {config['enough']}; seed {config['seed']}"
    return [*lines, "", f"{result['seconds']:.1f} s; {told}"]


def _cell(result: Record, data: str, name: str, m: str) -> str:
    paired = result["paired"][data].get(name, {}).get(m, {"interval": (0.0, 0.0)})["interval"]
    return percent(result["metrics"][data][name][m], result["intervals"][data][name][m], sure(paired))


def _ratio(result: Record, data: str, name: str, m: str) -> str:
    ratio = result["ratios"][data].get(name, {}).get(m)
    return f"{number(ratio['here'], digits=2)} ({number(ratio['paper'], digits=2)})" if ratio else "1"
