"""Audits answers with citations (DeepTRACE, Narayanan Venkit et al. 2025): eight measures, with a chat model as judge.

`--answers` has this agent's answers (`python -m agent batch QUESTIONS --out FILE`) or another system's
(evals/answering/cited_answers.py). The judge reads an answer's statements once (which are relevant, which agree or
disagree, how confident the language is), and each readable source once with all relevant statements. The published
prompts ask for each statement and source separately, and let the judge split the answer into sentences. Only full
support counts, as published. A missing answer is one-sided, not overconfident, and has no figure on sources.
"""

import argparse
import math
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel

from agent.providers.from_settings import batch_model
from agent.settings import load_settings
from agent.stages.stage import ask_model
from evals.answering.cited_answers import CitedAnswer, read_cited_answers
from evals.datasets.rows import digest
from evals.metrics.deeptrace import audit_sides, audit_sources
from evals.metrics.measure import mean
from evals.reports.records import Record, Records
from evals.suite import ask_chat, common_options, figure_lines, reported, shuffled
from prompts import as_data
from tools.budget import batches
from tools.errors import ProviderReplyError
from tools.models.chat.model import ChatModel

_PIECE = 40_000  # characters of a source in one request


class AnswerReading(BaseModel):
    """The judge's reply on an answer: numbers of statements, and the confidence of its language."""

    filler: list[int]
    agree: list[int]
    disagree: list[int]
    confidence: Literal[1, 2, 3, 4, 5]


class SourceReading(BaseModel):
    """The judge's reply on a source: numbers of the statements that it supports fully, and partially."""

    full: list[int]
    partial: list[int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--answers", type=Path, required=True, metavar="FILE", help="one answer a line (docs/evals.md)")
    parser.add_argument("--out", type=Path, metavar="RECORDS", help="file for the judge's replies")
    limit, seed = "only the first N answers of a seeded shuffle", "seed of the sample and the intervals"
    common_options(parser, limit, seed, parallel="simultaneous answers")


def measure(args: argparse.Namespace) -> Record:
    """Judges the answers without a stored reply, then computes the measures. Raises InputError, SettingsError,
    ProviderDownError, StoreError."""
    settings = load_settings()
    answers = shuffled(read_cited_answers(args.answers, settings), args.limit, args.seed)
    model = batch_model(settings)
    config = {"data": args.answers.name, "sha256": digest(args.answers), "model": model.name}
    with Records(args.out, "deeptrace", config) as records:
        asked = {a.question: partial(judge_answer, model, a) for a in answers if a.statements}
        done = ask_chat(model, asked, records, args.parallel)
    failed = {question: f"{question}: {r['failed']}" for question, r in done.items() if "failed" in r}
    missing = [f"{a.question}: it has no answer" for a in answers if not a.statements]
    found = {a.question: audit(a, done.get(a.question, {})) for a in answers if a.question not in failed}
    names = list(dict.fromkeys(name for of in found.values() for name in of))
    measures = {name: mean([of.get(name, math.nan) for of in found.values()], list(found)) for name in names}
    counts = {"answers": len(answers), "missing": len(missing), "unjudged": len(failed)}
    return reported("deeptrace", measures, counts, records, args) | {"failed": [*failed.values(), *missing]}


async def judge_answer(model: ChatModel, answer: CitedAnswer) -> Record:
    """Returns the judge's replies. full: the fully supported statements by source. Raises ProviderError."""
    every = range(1, len(answer.statements) + 1)
    shown = {n: as_data("statement", text, number=n) for n, (text, _) in zip(every, answer.statements, strict=True)}
    question, listed = as_data("question", answer.question), "\n".join(shown.values())
    read = await ask_model(model, "trace_answer", AnswerReading, question=question, statements=listed)
    _check_offered([*read.filler, *read.agree, *read.disagree], every)
    full, relevant = dict[str, list[int]](), [n for n in every if n not in read.filler]
    wanted = "\n".join(shown[n] for n in relevant)
    for source, text in answer.sources.items() if relevant else ():
        for piece in batches(text, _PIECE):
            document = as_data("document", "".join(piece))
            said = await ask_model(model, "trace_support", SourceReading, document=document, statements=wanted)
            _check_offered(said.full, relevant)
            full.setdefault(str(source), []).extend(said.full)
    return read.model_dump() | {"full": full}


def _check_offered(named: Sequence[int], offered: Collection[int]) -> None:
    if unknown := sorted(set(named).difference(offered)):
        raise ProviderReplyError(f"the judge named statement {unknown[0]}, which it was not asked about.")


def audit(answer: CitedAnswer, record: Record) -> dict[str, float]:
    """Returns the measures of an answer. record: the judge's replies, empty for a missing answer. A statement in both
    lists of sides, or among the filler, has no side."""
    filler, agree, disagree = (set(record.get(name, ())) for name in ("filler", "agree", "disagree"))
    relevant = [(n, cited) for n, (_, cited) in enumerate(answer.statements, start=1) if n not in filler]
    readable = [source for source, text in answer.sources.items() if text]
    shape, all_cited = (len(relevant), len(readable)), {n for _, cited in answer.statements for n in cited}
    cites = np.array([[source in cited for source in readable] for _, cited in relevant], bool).reshape(shape)
    full = [[n in record["full"].get(str(source), ()) for source in readable] for n, _ in relevant]
    supports = np.array(full, bool).reshape(shape)
    counts = len(answer.statements), len(answer.sources), len(answer.sources.keys() - all_cited)
    sides = len(agree - disagree - filler), len(disagree - agree - filler)
    found = audit_sources(*counts, cites, supports) if answer.statements else {}
    return (audit_sides(*sides, record.get("confidence", 0)) if answer.debate else {}) | found


def table(result: Record) -> list[str]:
    metrics = result["metrics"]
    counted = ", ".join(f"{name} {metrics[name]}" for name in ("answers", "missing", "unjudged"))
    return [counted, "", *figure_lines(result), f"judge {result['config']['model']}; seed {result['config']['seed']}"]
