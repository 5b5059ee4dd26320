"""Measures answers to debatable questions (DebateQA, Xu et al. 2026).

Perspective Diversity: the perplexity of each partial answer (a point of view with its explanation), given the answer,
under a local language model (`--lm`); lower is better. Dispute Awareness: does the answer say that the question is in
dispute, by the configured chat model? `--data` has the published lines: id, question, partial_answers (point_of_view,
explanation). `--answers` has the published lines (id, generation), or lines as for `python -m evals deeptrace`. A
question without an answer is scored with an empty answer.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agent.providers.from_settings import batch_model
from agent.settings import Settings, load_settings
from agent.stages.stage import ask_model
from evals.answering.cited_answers import read_cited_answers
from evals.datasets.rows import Loose, Shape, Text, digest, json_rows
from evals.language_model import LanguageModel
from evals.metrics.debateqa import mean_perplexity
from evals.metrics.measure import Figure, Ratio
from evals.reports.records import Record, Records
from evals.suite import FIRST, ask_each, ask_in_parts, common_options, figure_lines, reported, shuffled
from prompts import as_data
from tools.errors import InputError
from tools.models.chat.model import ChatModel


class PartialAnswer(Shape):
    point_of_view: Text
    explanation: Text


@dataclass(frozen=True, slots=True)
class DebateQuestion:
    """A question with partial answers, one for each point of view."""

    id: Text
    question: Text
    partial_answers: Annotated[tuple[PartialAnswer, ...], Field(min_length=1)]

    @property
    def key(self) -> str:
        return f"{self.id} diversity"

    @property
    def texts(self) -> list[str]:
        """Returns the partial answers as the published script joins their parts."""
        return [f"{part.point_of_view}. {part.explanation}" for part in self.partial_answers]


class Dispute(BaseModel):
    """The chat model's reply."""

    acknowledged: Literal["yes", "no"]


class _Generation(Shape):
    id: Text
    generation: Loose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the published test.jsonl or dev.jsonl")
    add("--answers", type=Path, required=True, metavar="FILE", help="one answer a line")
    add("--lm", metavar="MODEL", help="a folder, or a downloaded model of the hub (extra 'models')")
    add("--no-awareness", action="store_true", help="ask no chat model, measure Perspective Diversity alone")
    add("--out", type=Path, metavar="RECORDS", help="file for the replies and perplexities; a stopped run continues")
    common_options(parser, FIRST, "seed of the sample and the intervals", parallel="simultaneous requests")


def measure(args: argparse.Namespace) -> Record:
    """Scores what has no stored record, then computes the measures. Raises InputError, SettingsError, ModelError,
    ProviderDownError."""
    if args.no_awareness and not args.lm:
        raise InputError("nothing is left to measure. Name a model with --lm, or leave out --no-awareness.")
    settings, every = load_settings(), read_debates(args.data)
    questions = shuffled(every, args.limit, args.seed)
    answers = read_generations(args.answers, every, settings)
    chat, lm = None if args.no_awareness else batch_model(settings), LanguageModel(args.lm) if args.lm else None
    config = {"data": digest(args.data), "answers": digest(args.answers)}
    config |= {"lm": lm.name if lm else "", "model": chat.name if chat else ""}
    with Records(args.out, "debateqa", config) as records:
        if lm:
            ask_in_parts(questions, partial(_losses, lm, answers), records, unit="question")
        if chat:
            asyncio.run(_ask_all(chat, questions, answers, records, args.parallel))
    failed = [f"{key}: {r['failed']}" for key, r in records.done.items() if "failed" in r]
    missing = [f"{q.id}: it has no answer" for q in questions if q.id not in answers]
    counts = {"questions": len(questions), "missing": len(missing)}
    found = _figures(questions, answers, records.done, bool(chat))
    return reported("debateqa", found, counts, records, args) | {"failed": failed + missing}


def read_debates(path: Path) -> list[DebateQuestion]:
    """Reads the questions. Raises InputError with file, line and field."""
    found, seen = list[DebateQuestion](), dict[str, int]()
    for row in json_rows(path):
        found.append(row.read(DebateQuestion))
        row.once("id", found[-1].id, seen)
    if not found:
        raise InputError(f"{path} has no questions. Name another file.")
    return found


def read_generations(path: Path, questions: Sequence[DebateQuestion], settings: Settings) -> dict[str, str]:
    """Returns the answers by the question's id. Like the published script, it skips answers to other questions. Raises
    InputError, for example if no answer is left."""
    if any("generation" in row.values for row in json_rows(path)):
        found, seen = dict[str, str](), dict[str, int]()
        for row in json_rows(path):
            line = row.read(_Generation)
            row.once("id", line.id, seen)
            found[line.id] = line.generation
    else:
        ids = {" ".join(q.question.split()): q.id for q in questions}
        read = read_cited_answers(path, settings)
        found = {ids.get(" ".join(a.question.split()), ""): a.text for a in read}
    if not (kept := {q.id: found[q.id] for q in questions if found.get(q.id, "").strip()}):
        raise InputError(f"{path} answers no question of the data. Name the answers to it, or its other split.")
    return kept


def _losses(lm: LanguageModel, answers: Mapping[str, str], part: Sequence[DebateQuestion]) -> list[Record]:
    """Returns the losses of the partial answers, given the answer and 'Please restate.' as the user's turn (README)."""
    try:
        return [{"losses": lm.losses(f"{answers.get(q.id, '')} Please restate.", q.texts)} for q in part]
    except InputError as exc:
        return [{"failed": str(exc)} for _ in part]


async def _ask_all(
    chat: ChatModel, questions: Sequence[DebateQuestion], answers: Mapping[str, str], records: Records, parallel: int
) -> None:
    async def ask(q: DebateQuestion) -> Record:
        question, answer = as_data("question", q.question), as_data("answer", answers[q.id])
        return (await ask_model(chat, "dispute", Dispute, question=question, answer=answer)).model_dump()

    asked = {f"{q.id} awareness": partial(ask, q) for q in questions if q.id in answers}
    async with aclosing(chat):
        await ask_each(asked, records, parallel, "answer")


def _figures(
    questions: Sequence[DebateQuestion], answers: Mapping[str, str], done: Mapping[str, Record], chat: bool
) -> dict[str, Figure]:
    """Returns the figures. A question for which a model failed is left out; a missing answer acknowledges nothing."""
    diverse = ((q.id, done[q.key]["losses"]) for q in questions if "losses" in done.get(q.key, {}))
    no = {"acknowledged": "no" if chat else ""}
    said = ((q.id, done.get(f"{q.id} awareness", no).get("acknowledged")) for q in questions)
    return {
        "perspective_diversity": Ratio.of((q, mean_perplexity(losses), 1) for q, losses in diverse),
        "dispute_awareness": Ratio.of((q, float(word == "yes"), 1) for q, word in said if word),
    }


def table(result: Record) -> list[str]:
    metrics, config = result["metrics"], result["config"]
    models = f"perplexity by {config['lm'] or 'no model'}; judge {config['model'] or 'none'}; seed {config['seed']}"
    return [
        f"{metrics['questions']} questions, {metrics['missing']} without an answer",
        "",
        *figure_lines(result),
        models,
    ]
