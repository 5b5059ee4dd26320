"""Evaluates whole answers to questions whose documents have known sides.

The measures are: does an answer show both sides (DeepTRACE, and our own), do the citations support the claims (ALCE),
and does the text of a side agree with the side (PIR)? With `--out` the suite stores answers: the same command continues
a stopped run, and repeats no answered question. `evals/metrics/` defines the measures.
"""

import argparse
import asyncio
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from agent.answer.model import Answer
from agent.runs.build import build_providers
from agent.settings import Settings, load_settings
from evals.answering.asking import Build, ask_all, in_force, isolated_runs
from evals.answering.external_answers import read_answers
from evals.datasets.cases import SAMPLES_SET, Case, load_cases
from evals.datasets.rows import digest, fingerprint, problem
from evals.metrics.answers import AgentReply, answer_measures, supported
from evals.metrics.measure import Figure
from evals.metrics.stance_alignment import judged_alignment, stance_alignment
from evals.reports.records import Record, Records
from evals.reports.table import number
from evals.suite import FIRST, common_options, figure_lines, reported
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of NAME.queries.jsonl and CORPUS.corpus.jsonl[.gz]")
    add(
        "--set", default=SAMPLES_SET, metavar="NAME",
        help="which queries (default: samples). Without --data: samples, or a file of questions over the samples, "
        "{\"question\": …} a line",
    )  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="file for the answers, one a line")
    theirs = "score these answers of another agent, ask nothing (evals/answering/external_answers.py)"
    add("--answers", type=Path, metavar="FILE", help=theirs)
    common_options(parser, FIRST, "seed of the sample and the intervals", parallel="simultaneous questions")


def measure(args: argparse.Namespace) -> Record:
    """Asks the questions that have no stored answer, then scores all answers. Raises InputError."""
    if bool(args.answers) == bool(args.out):
        raise InputError("give either --out, the file for the answers, or --answers, those of another agent.")
    return asyncio.run(evaluate(args, load_settings()))


async def evaluate(args: argparse.Namespace, settings: Settings, build: Build = build_providers) -> Record:
    """Runs the suite with these settings. build: makes the providers."""
    chosen = load_cases(args.data, args.set)
    cases = {case.key: case for case in chosen.drawn(args.limit, args.seed)}
    config = {"set": chosen.name, "documents": fingerprint(chosen.documents), "seed": args.seed}
    config |= {"answers": args.answers.name, "sha256": digest(args.answers)} if args.answers else in_force(settings)
    with Records(args.out, "answers", config) as file:
        async with isolated_runs(settings, build) as runs:
            if args.answers:
                for key, record in read_answers(args.answers, chosen.cases, chosen.documents).items():
                    file.add(key, record)
            else:
                await ask_all(runs, list(cases.values()), chosen.documents, file, args.parallel)
            replies = [_reply(args.out, file.done[key], case) for key, case in cases.items()]
            judge = runs.providers.models.judge()
            scored_by = {"judge": judge.name, "encoder": runs.providers.models.encoder.name}
            aligned = await judged_alignment(replies, judge)
    measures: dict[str, Figure] = {**answer_measures(replies), **supported(replies), **stance_alignment(replies)}
    measures["alignment_judge"] = aligned
    unsided, failed = chosen.unsided, sum(r.answer is None for r in replies)
    counts = {"questions": len(cases), "questions_without_known_sides": unsided, "failed": failed}
    result = reported("answers", measures, counts, file, args)
    result["config"]["scored_by"] = scored_by
    return result | {
        "spent": _spent([r.answer for r in replies if r.answer]),
        "failed": [f"{c.question}: {file.done[k]['failed']}" for k, c in cases.items() if "failed" in file.done[k]],
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
    """Returns the reply of a record. Raises InputError for a record with neither an answer nor a failure."""
    try:
        answer = None if "failed" in record else Answer.model_validate(record.get("answer"))
    except ValidationError as exc:
        raise InputError(f"{path}: the record '{record['key']}' has no complete answer: {problem(exc)}.") from exc
    passages = {int(i): text for i, text in record.get("passages", {}).items()}
    return AgentReply(case.key, case.gold, answer, passages)


def _spent(answers: Sequence[Answer]) -> Record:
    """Returns calls, tokens, cost (None if a model has no price) and seconds."""
    costs = [a.usage.cost_usd for a in answers]
    seconds = [a.timings["total"] for a in answers if "total" in a.timings]
    return {
        "calls": sum(a.usage.calls for a in answers),
        "tokens": sum(a.usage.input_tokens + a.usage.output_tokens for a in answers),
        "cost_usd": None if None in costs else sum(c for c in costs if c),
        "median_seconds": statistics.median(seconds) if seconds else math.nan,
    }
