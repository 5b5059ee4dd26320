"""Measures diverse news retrieval (NEWSCOPE): relevant and different paragraphs for an event's headline.

Stage I retrieves the 100 paragraphs of the whole corpus with the highest cosine to the headline. Stage II chooses among
these candidates. For each event the suite clusters the candidates' sentences once; all methods and the metric I use
these clusters. For the metric C it clusters the sentences of relevant paragraphs.

bm25                   the agent's BM25 in the whole corpus, instead of both stages
dense                  stage I alone, the baseline of all others
mmr                    maximal marginal relevance on the cosines themselves, as in NEWSCOPE's appendix D
dkmips                 diversity-aware maximum inner product search
scs                    GreedySCS as printed: most uncovered clusters, then the cosine
scs-released           GreedySCS as in the released code: the cosine, plus 0.04 for each uncovered cluster
greedyplus             GreedyPlus, λ = 0.5, by the encoder's cosine
greedyplus-calibrated  ours: GreedyPlus; its similarity is a logistic function of the article's highest cosine

We fitted greedyplus-calibrated on one half of LocalNews. The suite prints the figures of the other half after those of
all events. A name may have parameters: mmr:0.9 (λ), dkmips:0.5:5 (λ and μ), greedyplus:0 (no similarity),
greedyplus:inf (no clusters). greedyplus+enough:0.8 chooses by similarity once 80 % of the candidates' clusters are
covered; greedyplus+stop:0.8 stops there. `--sweep` and `--ablations` each stand for a list of such names.

The suite measures only events with annotations. Paragraphs of other events stay in the corpus. The reported seconds
cover the search (with the headline's encoding), the clustering if the method needs it, and the choice for the largest
`--k`. The corpus's vectors come from the cache.
"""

import argparse
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from evals.datasets.news import NewsEvent, NewsSet, load_news
from evals.metrics import diversity as metric
from evals.metrics.diversity import figures
from evals.metrics.measure import figures_by, paired
from evals.models import encoder_and_cache
from evals.reports.records import Record
from evals.reports.table import STAR, block, number, percent, sure
from evals.retrievers.news import (
    ABLATIONS,
    CANDIDATES,
    FITTED_ON,
    METHODS,
    SWEEP,
    EventCandidates,
    held_out,
    named,
    with_candidates,
)
from evals.retrievers.selections import Selection
from evals.suite import common_options, cutoff_option, names, progress, shuffled

STAGES = ("search", "clustering", "selection", "all")
_COUNTED = {"precision": "P", "recall": "R", "f1": "F1"}
_PUBLISHED = {f"published_{m}": f"published {title}" for m, title in _COUNTED.items()}
_DIVERSITY = {"distance": "D", "density": "I", "coverage": "C"}
_BLOCKS = (_COUNTED | _PUBLISHED, _DIVERSITY | {"coverage_without_noise": "C without noise"})
_SHORT = (_PUBLISHED | _COUNTED | _DIVERSITY | {"chosen": "chosen"},)
Rows = dict[str, list[float]]
"""Maps a measure of one method to its values, one for each event. The seconds of each stage are measures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    data = "LocalNews.zip, or a folder in its layout (DSGlobal)"
    add("--data", type=Path, required=True, metavar="ZIP|DIR", help=data)
    beside = f"methods compared with dense; all: {','.join(METHODS)}"
    add("--methods", type=names, metavar="NAME[,NAME…]", help=beside)
    add("--sweep", action="store_true", help="λ of mmr and greedyplus, λ and μ of dkmips, in one table")
    add("--ablations", action="store_true", help="greedyplus without clusters, without similarity, with stop rules")
    cutoff_option(parser, "paragraphs", [5, 10, 20, 50], CANDIDATES)
    common_options(parser, "only the first N events of a seeded shuffle", "seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Measures all methods. Raises InputError, and errors of a remote encoder."""
    listed = [*(args.methods or ()), *(SWEEP if args.sweep else ()), *(ABLATIONS if args.ablations else ())]
    methods, news = named(listed or METHODS), load_news(args.data)
    events = shuffled(news.measured, args.limit, args.seed)
    encoder, cache = encoder_and_cache()
    ready = with_candidates(news, events, encoder, cache, "bm25" in methods)
    found = measured(events, methods, args.k, ready)
    return scored(args, news, events, found, encoder.name) | {"one_table": args.sweep or args.ablations}


def measured(
    events: Sequence[NewsEvent],
    methods: Mapping[str, Selection],
    cutoffs: Sequence[int],
    ready: Iterable[EventCandidates],
) -> dict[str, Rows]:
    """Measures each method's choice. The seconds are for the largest k."""
    found: dict[str, Rows] = {name: {} for name in methods}
    for event in progress(ready, total=len(events), unit="event"):
        for name, method in methods.items():
            values, of = dict[str, float](), (event.by_words or event) if name == "bm25" else event
            for k in cutoffs:  # the choice of DkMIPS depends on k
                began = time.perf_counter()
                chosen = method.choose(of, k)
                selection = time.perf_counter() - began
                values |= figures(of, chosen, k)
            seconds = (of.seconds["search"], method.clustered * of.seconds["clustering"], selection)
            values |= {f"{s}_seconds": v for s, v in zip(STAGES, (*seconds, sum(seconds)), strict=True)}
            for figure, value in values.items():
                found[name].setdefault(figure, []).append(value)
    return found


def scored(
    args: argparse.Namespace, news: NewsSet, events: Sequence[NewsEvent], found: Mapping[str, Rows], encoder: str
) -> Record:
    """Returns metrics, intervals, differences from dense, items and configuration."""
    each, parts = {}, _parts(news, events, found)
    for data, chosen in parts.items():
        ids = [events[i].id for i in chosen]
        rows = {name: {m: [v[i] for i in chosen] for m, v in of.items()} for name, of in found.items()}
        each[data] = {name: metric.measures(of, args.k, ids) for name, of in rows.items()}
    others = [name for name in found if name != "dense"]
    return {
        "suite": "news",
        **figures_by(each, args.seed),
        "paired": {data: {n: paired(of["dense"], of[n], args.seed) for n in others} for data, of in each.items()},
        "config": {
            "data": news.name,
            "digest": news.digest,
            "encoder": encoder,
            "candidates": CANDIDATES,
            "methods": list(found),
            "k": args.k,
            "sample": None if args.limit is None else {"limit": args.limit, "seed": args.seed},
            "seed": args.seed,
            "sizes": {data: {"questions": len(chosen)} | news.sizes for data, chosen in parts.items()},
        },
    }


def _parts(news: NewsSet, events: Sequence[NewsEvent], methods: Collection[str]) -> dict[str, list[int]]:
    """Returns all events, and the events outside the fit of greedyplus-calibrated."""
    parts = {news.name: list(range(len(events)))}
    if news.name == FITTED_ON and "greedyplus-calibrated" in methods:
        held = held_out(news.measured)
        parts[f"{FITTED_ON}, held out"] = [i for i, e in enumerate(events) if e.id in held]
    return {data: chosen for data, chosen in parts.items() if chosen}


def table(result: Record) -> list[str]:
    """Returns two blocks for each k, in percent with 95 % intervals over events, then the seconds. `one_table` gives
    one block for each k, without intervals. The held-out events follow in the same form."""
    config = result["config"]
    lines = [f"* the paired interval of the difference to dense, by event, {STAR}"]
    for data, size in config["sizes"].items():
        lines += [
            "",
            f"{data}: {size['questions']} of {size['annotated']} annotated events; {size['paragraphs']} paragraphs "
            f"on {size['events']} events, {size['without_text']} without text excluded",
            *_tables(result, data),
        ]
        methods = result["metrics"][data].items()
        rows = {name: [number(of[f"{s}_seconds"], digits=4) for s in STAGES] for name, of in methods}
        lines += ["", *block(STAGES, rows, "seconds an event")]
    return [*lines, "", f"{result['seconds']:.1f} s; encoder {config['encoder']}; seed {config['seed']}"]


def _tables(result: Record, data: str) -> list[str]:
    methods, short = result["metrics"][data], result["one_table"]
    lines = list[str]()
    for k in result["config"]["k"]:
        for titles in _SHORT if short else _BLOCKS:
            rows = {name: [_cell(result, data, name, f"{m}@{k}") for m in titles] for name in methods}
            lines += ["", *block([f"{title}@{k}" for title in titles.values()], rows)]
    return lines


def _cell(result: Record, data: str, name: str, m: str) -> str:
    value, over = result["metrics"][data][name][m], result["config"]["sizes"][data]["questions"]
    if m.startswith("chosen"):
        return number(value, digits=1)
    paired = result["paired"][data].get(name, {}).get(m, {"interval": (0.0, 0.0)})["interval"]
    return percent(value, () if result["one_table"] else result["intervals"][data][name][m], sure(paired, over))
