"""Measures answers to debatable questions (DebateQA, Xu et al. 2026), as the authors' repository defines the measures:
https://github.com/pillowsofwind/DebateQA. Of the paper only the abstract was read.

Perspective Diversity: the perplexity of each partial answer (a point of view with its explanation), given the answer
and 'Please restate.', under a local language model (`--lm`); the mean over partial answers, then over questions. Lower
is better. Dispute Awareness: the share of answers that say that the question is in dispute, by the chat model.

`--data` has the published lines: id, question, partial_answers (point_of_view, explanation). `--answers` has the
published lines (id, generation), or lines as for `deeptrace`. A missing answer is scored as an empty answer.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agent.providers.from_settings import batch_model
from agent.settings import Settings, load_settings
from agent.stages.stage import ask_model
from evals.answering.cited_answers import read_cited_answers
from evals.datasets.rows import Loose, Shape, Text, digest, json_rows, read_by
from evals.metrics.measure import Ratio
from evals.metrics.perplexity import LanguageModel, mean_perplexity
from evals.reports.records import Record, Records
from evals.suite import FIRST, ask_chat, common_options, figure_lines, progress, reported, shuffled
from prompts import as_data
from tools.errors import InputError
from tools.models.chat.model import ChatModel


class PartialAnswer(Shape):
    point_of_view: Text
    explanation: Text


@dataclass(frozen=True, slots=True)
class DebateQuestion:
    """A question with a partial answer for each point of view."""

    key: Annotated[Text, Field(validation_alias="id")]
    question: Text
    partial_answers: Annotated[tuple[PartialAnswer, ...], Field(min_length=1)]


class Dispute(BaseModel):
    """The chat model's reply."""

    acknowledged: Literal["yes", "no"]


class _Generation(Shape):
    id: Text
    generation: Loose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the published test.jsonl or dev.jsonl")
    add("--answers", type=Path, required=True, metavar="FILE", help="one answer a line (docs/evals.md)")
    add("--lm", metavar="MODEL", help="a folder, or a downloaded model of the hub (extra 'models')")
    add("--no-awareness", action="store_true", help="ask no chat model, measure Perspective Diversity alone")
    add("--out", type=Path, metavar="RECORDS", help="file for the models' replies; a stopped run continues")
    common_options(parser, FIRST, "seed of the sample and the intervals", parallel="simultaneous requests")


def measure(args: argparse.Namespace) -> Record:
    """Scores what has no stored record, then computes the measures; a question for which a model failed is left out.
    Raises InputError, SettingsError, ModelError, ProviderDownError."""
    if args.no_awareness and not args.lm:
        raise InputError("nothing is left to measure. Name a model with --lm, or leave out --no-awareness.")
    settings, every = load_settings(), read_by(args.data, "id", DebateQuestion, "questions")
    asked, answers = shuffled([*every.values()], args.limit, args.seed), read_generations(args.answers, every, settings)
    chat, lm = None if args.no_awareness else batch_model(settings), LanguageModel(args.lm) if args.lm else None
    config: Record = {"data": args.data.name, "sha256": [digest(args.data), digest(args.answers)]}
    config |= {"lm": lm.name if lm else "", "model": chat.name if chat else ""}
    with Records(args.out, "debateqa", config) as records:
        for q in progress(asked if lm else (), unit="question"):
            if lm and q.key not in records.done:
                records.add(q.key, _losses(lm, q, answers.get(q.key, "")))
        scored = [records.done[q.key] for q in asked] if lm else []
        said = _disputes(chat, asked, answers, records, args.parallel) if chat else {}
    missing = [q.key for q in asked if q.key not in answers]
    failed = [f"{r['key']}: {r['failed']}" for r in (*scored, *said.values()) if "failed" in r]
    aware = ((key, float(r["acknowledged"] == "yes"), 1) for key, r in said.items() if "failed" not in r)
    found = {
        "perspective_diversity": Ratio.of((r["key"], mean_perplexity(r["losses"]), 1) for r in scored if "losses" in r),
        "dispute_awareness": Ratio.of(aware),
    }
    result = reported("debateqa", found, {"questions": len(asked), "missing": len(missing)}, records, args)
    return result | {"failed": [*failed, *(f"{key}: it has no answer" for key in missing)]}


def read_generations(path: Path, questions: Mapping[str, DebateQuestion], settings: Settings) -> dict[str, str]:
    """Returns the answers by the question's id. Like the published script, it skips answers to other questions. Raises
    InputError, for example if no answer is left."""
    if any("generation" in row.values for row in json_rows(path)):
        found = {key: line.generation for key, line in read_by(path, "id", _Generation, "answers").items()}
    else:
        said = {" ".join(a.question.split()): a.text for a in read_cited_answers(path, settings)}
        found = {key: said.get(" ".join(q.question.split()), "") for key, q in questions.items()}
    if not (kept := {key: text for key, text in found.items() if key in questions and text.strip()}):
        raise InputError(f"{path} answers no question of the data. Name the answers to it, or its other split.")
    return kept


def _losses(lm: LanguageModel, question: DebateQuestion, answer: str) -> Record:
    """Returns the losses of a question's partial answers, joined as the published script joins their parts."""
    try:
        texts = [f"{p.point_of_view}. {p.explanation}" for p in question.partial_answers]
        return {"losses": lm.losses(f"{answer} Please restate.", texts)}
    except InputError as exc:
        return {"failed": str(exc)}


def _disputes(
    chat: ChatModel, asked: Sequence[DebateQuestion], answers: Mapping[str, str], records: Records, parallel: int
) -> dict[str, Record]:
    """Returns the chat model's replies by the question's id. A missing answer acknowledges nothing."""

    async def ask(q: DebateQuestion) -> Record:
        values = {"question": as_data("question", q.question), "answer": as_data("answer", answers[q.key])}
        return (await ask_model(chat, "dispute", Dispute, **values)).model_dump()

    calls = {f"{q.key} awareness": partial(ask, q) for q in asked if q.key in answers}
    done = ask_chat(chat, calls, records, parallel)
    return {q.key: done.get(f"{q.key} awareness", {"acknowledged": "no"}) for q in asked}


def table(result: Record) -> list[str]:
    metrics, config = result["metrics"], result["config"]
    models = f"perplexity by {config['lm'] or 'no model'}; judge {config['model'] or 'none'}; seed {config['seed']}"
    counted = f"{metrics['questions']} questions, {metrics['missing']} without an answer"
    return [counted, "", *figure_lines(result), models]
