"""Whole answers over documents of known sides: one-sided (DeepTRACE), claims held (ALCE), aligned (PIR), sides (own).

Each question is asked as it is, and with `--missing` once more without one side's gold documents. Answers are kept as
they come, and a run that was stopped goes on; scoring reads them and never asks the agent again. `evals/metrics/` says
how each measure is made.
"""

import argparse
import asyncio
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from agent.answer.model import Answer
from agent.models.inference import Models
from agent.runs.build import build_providers
from agent.settings import Settings, load_settings
from evals.answering.asking import MISSING, PLAIN, Build, ask_all, in_force, plan, providers_of
from evals.answering.checks import check_claims, judge_claims
from evals.answering.external_answers import read_answers
from evals.datasets.cases import SAMPLES_SET, Case, is_own, load_cases
from evals.datasets.rows import digest, fingerprint, problem
from evals.metrics.answers import Reply, missing_side, of_plain, supported
from evals.metrics.measure import Figure, figures
from evals.metrics.stance_alignment import judged_alignment, stance_alignment
from evals.reports.records import Record, Records
from evals.reports.table import number
from evals.suite import FIRST, common_options, figure_lines
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of NAME.queries.jsonl and CORPUS.corpus.jsonl[.gz]")
    add(
        "--set", default=SAMPLES_SET, metavar="NAME",
        help="which queries (default: samples, which need no --data; nor do wordings-dev, -last and -later, the "
        "samples' questions in other people's words, and elsewhere-dev and -last, which the samples do not answer); or "
        "a file of questions to ask over the samples, {\"question\": …} a line",
    )  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="where the answers are kept, a line each")
    add("--missing", action="store_true", help="ask again without one side's gold documents, the sides in turn")
    add("--score-only", action="store_true", help="measure the answers that are there, and ask nothing")
    theirs = "measure these answers of another agent, and ask nothing (evals/answering/external_answers.py)"
    add("--answers", type=Path, metavar="FILE", help=theirs)
    common_options(parser, FIRST, "of the shuffle, the sides left out, the intervals", parallel="questions at once")


def measure(args: argparse.Namespace) -> Record:
    """Asks what is not answered yet, then scores it all. Raises InputError."""
    if args.answers and (args.out or args.missing or args.score_only):
        raise InputError("--answers asks nothing and keeps nothing. Leave out --out, --missing and --score-only.")
    if not args.out and not args.answers:
        raise InputError("--out is missing: the file in which the answers are kept.")
    if args.data and is_own(args.set):
        raise InputError(f"the set '{args.set}' is the project's own. Leave out --data, or name a set of it as --set.")
    return asyncio.run(evaluate(args, load_settings()))


async def evaluate(args: argparse.Namespace, settings: Settings, build: Build = build_providers) -> Record:
    """The suite with these settings; `build` makes the providers."""
    chosen = load_cases(args.data, args.set)
    cases = {case.key: case for case in chosen.drawn(args.limit, args.seed)}
    asks = plan(list(cases.values()), args.missing, args.seed)
    config = {"set": chosen.name, "documents": fingerprint(chosen.documents), "seed": args.seed}
    if args.answers:
        file = Records(None, "answers", config | {"answers": args.answers.name, "sha256": digest(args.answers)})
        for key, record in read_answers(args.answers, chosen.drawn(None, args.seed), chosen.documents).items():
            file.add(key, record)
    elif args.score_only:
        file = Records.stored(args.out, "answers", config)
    else:
        with Records(args.out, "answers", config | in_force(settings)) as file:
            await ask_all(asks, chosen.documents, file, settings, args.parallel, build)
    records = [r for r in file.done.values() if r.get("case") in cases]
    replies = [_reply(args.out, r, cases[r["case"]]) for r in records]
    async with providers_of(settings, build) as providers:
        measures = await measures_of(replies, providers.models)
        scored_by = {"judge": providers.models.judge().name, "encoder": providers.models.encoder.name}
    told = figures(measures, args.seed)
    return {
        "suite": "answers",
        **told,
        "metrics": {
            "questions": len(cases),
            "questions_without_known_sides": chosen.unsided,
            "not_asked": len({a.key for a in asks} - {r["key"] for r in records}),
            "asked": len(records),
            "asked_without_a_side": sum(r["variant"] == MISSING for r in records),
            "failed": sum("failed" in r for r in records),
            **told["metrics"],
        },
        "over": {name: m.total for name, m in measures.items()},
        "spent": _spent([r.answer for r in replies if r.answer]),
        "config": file.config | {"limit": args.limit, "scored_by": scored_by},
        "failed": [f"{r['asked']} [{r['variant']}]: {r['failed']}" for r in records if "failed" in r],
    }


async def measures_of(replies: Sequence[Reply], models: Models) -> dict[str, Figure]:
    """Every measure of which there are replies. Questions are asked of nobody; the judge reads their claims."""
    plain = [r for r in replies if r.variant == PLAIN]
    return {
        **of_plain(plain),
        **supported(check_claims(plain)),
        **stance_alignment(plain),
        "alignment_judge": judged_alignment(await judge_claims(plain, models)),
        **(missing_side(replies) if any(r.left_out for r in replies) else {}),
    }


def table(result: Record) -> list[str]:
    metrics = result["metrics"]
    counted = [f"{name.replace('_', ' ')} {n}" for name, n in metrics.items() if name not in result["over"]]
    lines = [", ".join(counted), "", *figure_lines(result)]
    spent = result["spent"]
    cost = "a price not known (STEELMAN_PRICES)" if spent["cost_usd"] is None else f"${spent['cost_usd']:.2f}"
    took = f"{number(spent['median_seconds'], digits=1)} s an answer (median)"
    return [*lines, f"spent: {spent['calls']} calls, {spent['tokens']:,} tokens, {cost}; {took}"]


def _reply(path: Path, record: Record, case: Case) -> Reply:
    """Raises InputError for a record that holds no answer and no failure."""
    try:
        answer = None if "failed" in record else Answer.model_validate(record.get("answer"))
    except ValidationError as exc:
        raise InputError(f"{path}: the record '{record['key']}' holds no whole answer: {problem(exc)}.") from exc
    gold: dict[str, frozenset[str]] = {str(side): ids for side, ids in case.gold.items()}
    passages = {int(i): text for i, text in record.get("passages", {}).items()}
    return Reply(case.key, gold, record["variant"], answer, record["left_out"] or "", passages, case.either_way)


def _spent(answers: Sequence[Answer]) -> Record:
    """What the answers took. Nothing is known of the cost where a model without a price was asked."""
    costs = [a.usage.cost_usd for a in answers]
    seconds = [a.timings["total"] for a in answers if "total" in a.timings]
    return {
        "calls": sum(a.usage.calls for a in answers),
        "tokens": sum(a.usage.input_tokens + a.usage.output_tokens for a in answers),
        "cost_usd": None if None in costs else sum(c for c in costs if c),
        "median_seconds": statistics.median(seconds) if seconds else math.nan,
    }
