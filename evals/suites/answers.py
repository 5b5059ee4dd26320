"""Whole answers over documents of known sides: sides shown (DeepTRACE, own), claims supported (ALCE), stance (PIR).

Each question is asked over all documents and, with `--missing`, without one side's gold documents. Answers are stored;
a stopped run continues, and scoring asks nobody. `evals/metrics/` defines the measures.
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
from evals.metrics.answers import AgentReply, missing_side, of_plain, supported
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
        help="which queries (default: samples). Without --data: samples; wordings-dev, -last and -later, reworded "
        "questions of the samples; elsewhere-dev and -last, which the samples do not answer; or a file of questions "
        "over the samples, {\"question\": …} a line",
    )  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="file for the answers, one a line")
    add("--missing", action="store_true", help="ask again without one side's gold documents, alternating")
    add("--score-only", action="store_true", help="score the stored answers, ask nothing")
    theirs = "score these answers of another agent, ask nothing (evals/answering/external_answers.py)"
    add("--answers", type=Path, metavar="FILE", help=theirs)
    common_options(
        parser, FIRST, "seed of the sample, the excluded sides and the intervals", parallel="simultaneous questions"
    )


def measure(args: argparse.Namespace) -> Record:
    """Asks the questions without an answer, then scores all. Raises InputError."""
    if args.answers and (args.out or args.missing or args.score_only):
        raise InputError("--answers asks nothing and stores nothing. Leave out --out, --missing and --score-only.")
    if not args.out and not args.answers:
        raise InputError("--out is missing: the file for the answers.")
    if args.data and is_own(args.set):
        raise InputError(f"the set '{args.set}' is the project's own. Leave out --data, or name a set of it as --set.")
    return asyncio.run(evaluate(args, load_settings()))


async def evaluate(args: argparse.Namespace, settings: Settings, build: Build = build_providers) -> Record:
    """The suite with these settings. build: makes the providers."""
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


async def measures_of(replies: Sequence[AgentReply], models: Models) -> dict[str, Figure]:
    """All measures that these replies allow. The judge reads their claims."""
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
    cost = "an unknown price (STEELMAN_PRICES)" if spent["cost_usd"] is None else f"${spent['cost_usd']:.2f}"
    took = f"{number(spent['median_seconds'], digits=1)} s an answer (median)"
    return [*lines, f"spent: {spent['calls']} calls, {spent['tokens']:,} tokens, {cost}; {took}"]


def _reply(path: Path, record: Record, case: Case) -> AgentReply:
    """Raises InputError for a record without answer and failure."""
    try:
        answer = None if "failed" in record else Answer.model_validate(record.get("answer"))
    except ValidationError as exc:
        raise InputError(f"{path}: the record '{record['key']}' has no complete answer: {problem(exc)}.") from exc
    gold: dict[str, frozenset[str]] = {str(side): ids for side, ids in case.gold.items()}
    passages = {int(i): text for i, text in record.get("passages", {}).items()}
    return AgentReply(case.key, gold, record["variant"], answer, record["left_out"] or "", passages, case.either_way)


def _spent(answers: Sequence[Answer]) -> Record:
    """Calls, tokens, cost (None with a model without a price) and seconds."""
    costs = [a.usage.cost_usd for a in answers]
    seconds = [a.timings["total"] for a in answers if "total" in a.timings]
    return {
        "calls": sum(a.usage.calls for a in answers),
        "tokens": sum(a.usage.input_tokens + a.usage.output_tokens for a in answers),
        "cost_usd": None if None in costs else sum(c for c in costs if c),
        "median_seconds": statistics.median(seconds) if seconds else math.nan,
    }
