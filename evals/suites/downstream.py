"""What retrieval is worth downstream (PIR, §3.3): answers to questions and essays for a stance, written by the chat model
that is set, without passages, with gold ones, and with those that each form of query retrieves.

--questions names a task whose queries are questions (ambigqa), each asked with the best passage; their answers are not in
the PIR data and come from --answers. --essays names one whose perspectives are stances (perspectrum): a root is a topic,
and each side gets an essay with the five best passages. Accuracy is exact match; QA-F1 as in `evals/metrics/qa.py`. An
essay's alignment is Pearson's r of its TextBlob polarity with that of 'topic, stance' (as published) and with ±1 for the
stance, and of the judge's lean, P(agree) − P(disagree), with ±1; 'on side' are essays that the judge finds to lean as
asked. What failed counts as wrong, and as not on its side; a correlation has only what was written.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, Field

from agent.models.from_settings import build_stage_model
from agent.settings import load_settings
from evals.datasets.pir import PirTask, Root, RootPerspective, load_tasks
from evals.datasets.rows import Shape, Text, digest, json_rows
from evals.metrics.measure import Figure, Ratio, figures_by
from evals.metrics.qa import answer_measures
from evals.metrics.stance_alignment import Essay, essay_alignment
from evals.models import CHOICES, PairJudge, encoder_and_cache, open_judge
from evals.reports.records import Record, Records
from evals.reports.table import block, percent
from evals.retrievers.corpus_index import highest
from evals.retrievers.leaning import Column, columns_of, search
from evals.suite import ask_beside, common_options, names, shuffled
from prompts import as_data, load_prompt
from tools.budget import Budget, budget_scope
from tools.errors import InputError, SteelmanError
from tools.models.cache import VectorCache
from tools.models.chat.model import ChatModel
from tools.models.encoders.encoder import Encoder

QUESTIONS, ESSAYS = "questions", "essays"
_BEST = {QUESTIONS: 1, ESSAYS: 5}
_STANCES = {"support": ("Support", 1), "undermine": ("Oppose", -1)}  # the words of the paper
Answers = Mapping[str, Sequence[str]]


class Written(BaseModel):
    """What the chat model writes."""

    text: str = Field(max_length=10_000)


class _Answered(Shape):
    question: Text
    answers: list[Text] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Writing:
    """A text to write. `condition`: where its passages are from. `key`: names it among the records."""

    kind: str
    condition: str
    root: Root
    one: RootPerspective
    passages: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.kind}, {self.condition}: {self.root.text.strip()} | {self.one.query.strip()}"

    def prompt(self) -> tuple[str, str]:
        """System and user turn."""
        passages = "\n".join(as_data("passage", text) for text in self.passages) or "There are no passages."
        if self.kind == QUESTIONS:
            question = as_data("question", self.one.query)
            return load_prompt("answer_briefly").render(question=question, passages=passages)
        stance = as_data("stance", _STANCES[self.one.label][0])
        return load_prompt("essay").render(topic=as_data("topic", self.root.text), stance=stance, passages=passages)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the PIR data: one JSON object of tasks, plain or .gz")
    add("--questions", metavar="TASK", help="the task whose queries are asked, such as ambigqa")
    add("--answers", type=Path, metavar="FILE", help='its answers: {"question": …, "answers": […]} a line')
    add("--essays", metavar="TASK", help="the task on whose roots essays are written, such as perspectrum")
    add("--forms", type=names, default=["none", "pap", "pap+"], metavar="NAME[,NAME…]", help="default: none,pap,pap+")
    add("--judge", choices=CHOICES, default="embedded", help="who reads the essays (default: embedded)")
    add("--out", type=Path, metavar="RECORDS", help="keep what is written; a stopped run goes on")
    limit = "only the first N root queries of a seeded shuffle, of each task"
    common_options(parser, limit, "seed of the shuffle and of the intervals", parallel="texts at once")


def measure(args: argparse.Namespace) -> Record:
    """Asks for what is not written yet, then scores it all. Raises InputError, SettingsError, ModelError."""
    if not (args.questions or args.essays) or bool(args.questions) != bool(args.answers):
        raise InputError("name --essays, or --questions with the --answers to them, or all three.")
    answers = _answers(args.answers) if args.answers else {}
    model = build_stage_model(load_settings(provider="chat"), "write")
    encoder, cache = encoder_and_cache()
    writings: list[Writing] = []
    for kind, name in ((QUESTIONS, args.questions), (ESSAYS, args.essays)):
        if name:
            task = _kept(load_tasks(args.data, [name])[0], kind, answers, args)
            writings += plan(task, kind, columns_of(args.forms, [1.0]), encoder, cache)
    identity = {"data": args.data.name, "sha256": digest(args.data), "model": model.name, "encoder": encoder.name}
    with Records(args.out, "downstream", identity) as records:
        asyncio.run(_write(writings, model, records, args.parallel))
    judge = open_judge(args.judge) if args.essays else None
    told = figures_by(measures(writings, records.done, answers, judge), args.seed)
    failed = [f"{w.key}: {records.done[w.key]['failed']}" for w in writings if "failed" in records.done[w.key]]
    config = records.config | {"limit": args.limit, "seed": args.seed, "judge": judge.name if judge else None}
    return {"suite": "downstream", **told, "config": config, "failed": failed}


def _answers(path: Path) -> dict[str, list[str]]:
    """The accepted answers by question, as `_asked` has it. Raises InputError with file, line and field."""
    rows = [row.read(_Answered) for row in json_rows(path)]
    return {_asked(row.question): row.answers for row in rows}


def _asked(question: str) -> str:
    return " ".join(question.casefold().split())


def _kept(task: PirTask, kind: str, answers: Answers, args: argparse.Namespace) -> PirTask:
    """The sampled roots with the perspectives that have answers, or a stance. Raises InputError where none has."""

    def counts(one: RootPerspective) -> bool:
        return _asked(one.query) in answers if kind == QUESTIONS else one.label in _STANCES

    found = (replace(r, perspectives=tuple(filter(counts, r.perspectives))) for r in task.roots)
    roots = [root for root in found if root.perspectives]
    if not roots:
        wants = "a query of --answers" if kind == QUESTIONS else f"a stance in 'query_labels' ({', '.join(_STANCES)})"
        raise InputError(f"{args.data} '{task.name}': no perspective has {wants}. Name another task for --{kind}.")
    return replace(task, roots=tuple(shuffled(roots, args.limit, args.seed)))


def plan(task: PirTask, kind: str, columns: Sequence[Column], encoder: Encoder, cache: VectorCache) -> list[Writing]:
    """Every text to write, with its passages. Raises ProviderError of an encoder elsewhere."""
    planned, best = [], _BEST[kind]
    for root, one, found in search(task, columns, encoder, cache):
        top = {"no passages": (), "gold": one.gold[:best]}
        top |= {f"retrieved, {c.name}": tuple(highest(s, best)) for c, s in zip(columns, found, strict=True)}
        planned += [
            Writing(kind, name, root, one, tuple(task.corpus[i].text for i in positions))
            for name, positions in top.items()
        ]
    return planned


async def _write(writings: Sequence[Writing], model: ChatModel, records: Records, parallel: int) -> None:
    turn = asyncio.Semaphore(parallel)

    async def one(writing: Writing) -> tuple[str, Record]:
        async with turn:
            try:
                with budget_scope(Budget()):
                    return writing.key, (await model.ask(*writing.prompt(), Written)).model_dump()
            except SteelmanError as exc:
                return writing.key, {"failed": str(exc)}

    try:
        waiting = [one(writing) for writing in writings if writing.key not in records.done]
        await ask_beside(waiting, records, len(writings), "text")
    finally:
        await model.aclose()


def measures(
    writings: Sequence[Writing], records: Mapping[str, Record], answers: Answers, judge: PairJudge | None
) -> dict[str, dict[str, dict[str, Figure]]]:
    """By kind, condition and measure."""
    found: dict[str, dict[str, dict[str, Figure]]] = {}
    for kind, condition in dict.fromkeys((w.kind, w.condition) for w in writings):
        of = [(w, str(records[w.key].get("text", ""))) for w in writings if (w.kind, w.condition) == (kind, condition)]
        if kind == QUESTIONS:
            each = [(w.root.key, answer_measures(text, answers[_asked(w.one.query)])) for w, text in of]
            made: dict[str, Figure] = {name: Ratio.of((key, t[name], 1) for key, t in each) for name in each[0][1]}
        else:
            assert judge is not None  # there is one wherever there are essays
            essays = [Essay(w.root.key, w.root.text.strip(), *_STANCES[w.one.label], text) for w, text in of]
            made = essay_alignment(essays, judge.score)
        found.setdefault(kind, {})[condition] = made
    return found


def table(result: Record) -> list[str]:
    """A block for the questions and one for the essays: conditions down."""
    lines: list[str] = []
    for kind, conditions in result["metrics"].items():
        titles = next(iter(conditions.values()))
        rows = {
            name: [percent(value, result["intervals"][kind][name][m]) for m, value in of.items()]
            for name, of in conditions.items()
        }
        texts = len(next(iter(next(iter(result["items"][kind].values())).values())))
        lines += [*block([m.replace("_", " ") for m in titles], rows, f"{texts} {kind}"), ""]
    lines += [f"failed: {name}" for name in result["failed"]]
    config = result["config"]
    told = [
        f"model {config['model']}",
        f"encoder {config['encoder']}",
        *([f"judge {config['judge']}"] if config["judge"] else []),
    ]
    return [*lines, "Per cent, with 95 % intervals by root query", "; ".join(told)]
