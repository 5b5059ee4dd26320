"""What retrieval is worth downstream (PIR, §3.3): answers to questions and essays for a stance, by the chat model that
is set, without passages, with gold ones, and with those that each form of query retrieves.

--questions names a task whose queries are asked (ambigqa), with the best passage; the PIR data has no answers to them,
so these come from --answers (measures: `evals/metrics/qa.py`). --essays names one whose perspectives are stances
(perspectrum): a root is a topic, and each side gets an essay, with the five best passages (`essay_alignment` in
`evals/metrics/stance_alignment.py`). What failed is wrong and on no side; a correlation has only what was written.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from agent.models.from_settings import build_stage_model
from agent.settings import load_settings
from evals.datasets.pir import Root, RootPerspective, load_tasks
from evals.datasets.rows import Shape, Text, digest, json_rows
from evals.metrics.measure import Figure, figures_by
from evals.metrics.qa import answer_measures, words
from evals.metrics.stance_alignment import essay_alignment
from evals.models import CHOICES, PairJudge, ask_chat, encoder_and_cache, open_judge
from evals.reports.records import Record, Records
from evals.reports.table import block, percent
from evals.retrievers.corpus_index import highest
from evals.retrievers.leaning import columns_of, search
from evals.suite import common_options, names, shuffled
from evals.suites.pir import LIMIT, SEED
from prompts import as_data, load_prompt
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder

_BEST = {"questions": 1, "essays": 5}
_STANCES = {"support": ("Support", 1), "undermine": ("Oppose", -1)}  # label: the paper's word, sign
Answers = Mapping[tuple[str, ...], Sequence[str]]  # by the question's words


class _Answered(Shape):
    question: Text
    answers: list[Text] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Writing:
    """A text to write, its passages from where `condition` says. `key`: names it among the records."""

    kind: str
    condition: str
    root: Root
    one: RootPerspective
    passages: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.kind}, {self.condition}, {self.root.key}: {self.one.query.strip()}"

    def prompt(self) -> tuple[str, str]:
        """System and user turn."""
        passages = "\n".join(as_data("passage", text) for text in self.passages) or "There are no passages."
        if self.kind == "questions":
            return load_prompt("answer_briefly").render(asked=as_data("question", self.one.query), passages=passages)
        asked = as_data("topic", self.root.text, stance=_STANCES[self.one.label][0])
        return load_prompt("essay").render(asked=asked, passages=passages)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the PIR data: one JSON object of tasks, plain or .gz")
    add("--questions", metavar="TASK", help="the task whose queries are asked, such as ambigqa")
    add("--answers", type=Path, metavar="FILE", help='its answers: {"question": …, "answers": […]} a line')
    add("--essays", metavar="TASK", help="the task on whose roots essays are written, such as perspectrum")
    add("--forms", type=names, default=["none", "pap", "pap+"], metavar="NAME[,NAME…]", help="default: none,pap,pap+")
    add("--judge", choices=CHOICES, default="embedded", help="who reads the essays (default: embedded)")
    add("--out", type=Path, metavar="RECORDS", help="keep what is written; a stopped run goes on")
    common_options(parser, LIMIT, SEED, parallel="texts at once")


def measure(args: argparse.Namespace) -> Record:
    """Asks for what is not written yet, then scores it all. Raises InputError, SettingsError, ModelError."""
    if not (args.questions or args.essays) or bool(args.questions) != bool(args.answers):
        raise InputError("name --essays, or --questions with the --answers to them, or all three.")
    given = [row.read(_Answered) for row in json_rows(args.answers)] if args.answers else []
    answers = {tuple(words(row.question)): row.answers for row in given}
    model, judge = build_stage_model(load_settings(provider="chat"), "write"), open_judge(args.judge)
    encoder, cache = encoder_and_cache()
    planned = [one for kind in _BEST if getattr(args, kind) for one in plan(args, kind, answers, encoder, cache)]
    config = {"data": args.data.name, "sha256": digest(args.data), "model": model.name, "encoder": encoder.name}
    with Records(args.out, "downstream", config) as records:
        texts = ask_chat(model, {one.key: one.prompt() for one in planned}, records, args.parallel)
    told = figures_by(measures(planned, texts, answers, judge), args.seed)
    failed = [f"{one.key}: {records.done[one.key]['failed']}" for one in planned if "failed" in records.done[one.key]]
    told["config"] = records.config | {"limit": args.limit, "seed": args.seed, "judge": judge.name}
    return {"suite": "downstream", **told, "failed": failed}


def plan(args: argparse.Namespace, kind: str, known: Answers, encoder: Encoder, cache: VectorCache) -> list[Writing]:
    """Every text of a kind to write, with its passages, where a perspective has answers, or a stance. Raises InputError
    where none has, ProviderError of an encoder elsewhere."""
    (task,) = load_tasks(args.data, [getattr(args, kind)])

    def counts(one: RootPerspective) -> bool:
        return tuple(words(one.query)) in known if kind == "questions" else one.label in _STANCES

    found = (replace(root, perspectives=tuple(filter(counts, root.perspectives))) for root in task.roots)
    if not (roots := [root for root in found if root.perspectives]):
        wanted = "no query is in --answers" if kind == "questions" else f"no label is one of {', '.join(_STANCES)}"
        raise InputError(f"{args.data} '{task.name}': {wanted}. Name another task for --{kind}.")
    task = replace(task, roots=tuple(shuffled(roots, args.limit, args.seed)))
    planned, best, columns = list[Writing](), _BEST[kind], columns_of(args.forms, [1.0])
    for root, one, scores in search(task, columns, encoder, cache):
        tops: dict[str, Sequence[int]] = {"no passages": (), "gold": one.gold[:best]}
        tops |= {f"retrieved, {c.name}": highest(of, best) for c, of in zip(columns, scores, strict=True)}
        texts = {condition: tuple(task.corpus[i].text for i in top) for condition, top in tops.items()}
        planned += [Writing(kind, condition, root, one, of) for condition, of in texts.items()]
    return planned


def measures(
    planned: Sequence[Writing], texts: Mapping[str, str], answers: Answers, judge: PairJudge
) -> dict[str, dict[str, dict[str, Figure]]]:
    """By kind, condition and measure."""
    found: dict[str, dict[str, dict[str, Figure]]] = {}
    for kind, condition in dict.fromkeys((w.kind, w.condition) for w in planned):
        of = [(w.one, w.root, texts[w.key]) for w in planned if (w.kind, w.condition) == (kind, condition)]
        if kind == "questions":
            made = answer_measures((root.key, text, answers[tuple(words(one.query))]) for one, root, text in of)
        else:
            essays = [(root.key, root.text.strip(), *_STANCES[one.label], text) for one, root, text in of]
            made = essay_alignment(essays, judge.score)
        found.setdefault(kind, {})[condition] = made
    return found


def table(result: Record) -> list[str]:
    """A block for the questions and one for the essays: conditions down."""
    config, lines = result["config"], list[str]()
    for kind, conditions in result["metrics"].items():
        ends, asked = result["intervals"][kind], len(next(iter(result["items"][kind]["gold"].values())))
        rows = {name: [percent(value, ends[name][m]) for m, value in of.items()] for name, of in conditions.items()}
        lines += [*block([m.replace("_", " ") for m in conditions["gold"]], rows, f"{asked} {kind}"), ""]
    told = ", ".join(f"{part} {config[part]}" for part in ("model", "encoder", "judge", "seed"))
    return [*lines, f"Per cent, with 95 % intervals by root query; {told}"]
