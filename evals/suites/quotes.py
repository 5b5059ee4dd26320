"""Shows for each threshold how many quotations are on the right side and how many sides have quotations (our own
measures).

The suite asks each question as the agent does. The suite records all quotable parts (sentences that a reader
understands without context) and their documents, some of which have a known side. For each part it records how much the
part, its passage and its document lean to a side (`tools/models/judges/quoting.py`). Then the suite computes the
measures for the threshold in use ('case') and for other thresholds:

right     quotations from known documents on their document's side
sides     sides with a quotation from a document known for that side
both      questions with such a quotation on both sides
missing   sides that would have a quotation without their known documents
swapped   `missing` sides with a quotation from a document known for the other side

A sentence may argue against its document's side, so `right` is underestimated. We fitted the weights on the samples and
arguana_2way, so figures on these sets are optimistic.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
from langgraph.config import get_config

from agent.runs.build import build_providers
from agent.settings import Settings, load_settings
from agent.stage_interfaces import Brief, Providers
from agent.state import Claim
from evals.answering.asking import ask_all, in_force, isolated_runs
from evals.datasets.cases import SAMPLES_SET, SIDES, Case, load_cases
from evals.metrics.measure import figures_by
from evals.metrics.quoting import QuotableParts, measures
from evals.reports.records import Record, Records
from evals.reports.table import block, percent
from evals.suite import FIRST, common_options, names
from tools.errors import InputError
from tools.models.judges.quoting import RELEVANCE_FEATURES, load_quoting_weights
from tools.store.store import Store

_LEAST = (0.98, 0.96, 0.94, 0.92, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of NAME.queries.jsonl and CORPUS.corpus.jsonl[.gz]")
    add("--set", default=SAMPLES_SET, metavar="NAME[,NAME…]", help="queries (default: samples)")
    common_options(
        parser, f"{FIRST}, of each set", "seed of the sample and the intervals", parallel="simultaneous questions"
    )


def measure(args: argparse.Namespace) -> Record:
    """Asks the questions, then computes the measures. Raises InputError."""
    read = {name: asyncio.run(_read(args, name, load_settings())) for name in names(args.set)}
    quoting = load_quoting_weights()
    weights = {"case": quoting} | {f"{least:g}": replace(quoting, case=least) for least in _LEAST}
    found = figures_by({n: {w: measures(q, of) for w, of in weights.items()} for n, q in read.items()}, args.seed)
    return {"suite": "quotes", "quoting": asdict(quoting), "metrics": found["metrics"], "intervals": found["intervals"]}


async def _read(args: argparse.Namespace, name: str, settings: Settings) -> list[QuotableParts]:
    """Returns the quotable parts that the agent read for each question of the set."""
    chosen = load_cases(args.data, name)
    if not all(case.sides for case in chosen.cases):
        raise InputError(f"the sides of the documents are unknown for '{name}'. Use '{SAMPLES_SET}', or give --data.")
    cases = chosen.drawn(args.limit, args.seed)
    seen: dict[str, tuple[Brief, ...]] = {}
    with Records(None, "quotes", in_force(settings)) as records:
        async with isolated_runs(settings, partial(_recording, seen)) as runs:
            await ask_all(runs, cases, chosen.documents, records, args.parallel)
        answered = {key: r["answer"]["run_id"] for key, r in records.done.items() if "answer" in r}
    return [_question(case, seen.get(answered.get(case.key, ""), ())) for case in cases]


def _recording(seen: dict[str, tuple[Brief, ...]], settings: Settings, store: Store) -> Providers:
    """Returns the usual providers, with a writer that records its input by run."""
    providers = build_providers(settings, store)

    async def write(brief: Brief) -> list[Claim]:
        run = str(get_config()["configurable"]["thread_id"])
        seen[run] = (*seen.get(run, ()), brief)
        return await providers.write(brief)

    return replace(providers, write=write)


def _question(case: Case, briefs: Sequence[Brief]) -> QuotableParts:
    """Returns the parts that the agent read for the first of two opposing sides. Without an answer or such sides,
    returns no parts."""
    brief = next((b for b in briefs if b.contrary and b.sentence_scores), None)
    if brief is None or brief.sentence_scores is None:
        none = np.zeros(0)
        empty = (np.zeros((0, 3)), np.zeros((0, RELEVANCE_FEATURES)), none, (), none.astype(int), none > 0)
        return QuotableParts(case.key, *empty)
    reading = brief.sentence_scores
    sign = -1.0 if brief.perspective["stance"] == "opposes" else 1.0
    told = np.flatnonzero(reading.on_topic & ~np.isnan(reading.confidence))
    first, second = (case.gold[side] - case.gold[SIDES[1 - i]] for i, side in enumerate(SIDES))
    documents = [reading.units[i].passage.document_id for i in told]
    return QuotableParts(
        key=case.key,
        features=sign * reading.features[told],
        grounds=reading.grounds[told],
        rank=reading.quality[told] / np.maximum(reading.confidence[told], 1e-6),
        documents=tuple(documents),
        sides=np.array([(d in first) - (d in second) for d in documents], int),
        closely=reading.rescored[told],
    )


def table(result: Record) -> list[str]:
    """Returns the weights in use, and a block for each set."""
    lines = [", ".join(f"{name} {value:g}" for name, value in result["quoting"].items())]
    for name, curve in result["metrics"].items():
        rows = {
            least: [percent(value, result["intervals"][name][least][m]) for m, value in found.items()]
            for least, found in curve.items()
        }
        lines += ["", *block(list(curve["case"]), rows, name)]
    return lines
