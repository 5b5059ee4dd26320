"""Does evaluation data overlap what a judge is trained on? By question and statement, and by runs of words of passages.

The evaluation data are the labelled development pairs, the retrieval sets with their gold passages, on which a judge
re-ranks and chooses, and all of LocalNews and of PIR. No suite has a judge read these two; the judge in use was trained
before they were left out, on nothing of LocalNews and on a few texts that are in PIR too.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evals.datasets.news import load_news
from evals.datasets.pairs import load_pairs
from evals.datasets.pir import load_tasks
from evals.datasets.retrieval import RetrievalSet, load_sets
from evals.training.text import key, shingles

if TYPE_CHECKING:
    from evals.training.data import Example

_PAIRS = Path("judge") / "berds_pairs.dev.jsonl"
_NEWS = Path("newscope") / "LocalNews.zip"
_PIR = Path("pir") / "demo_pir_dataset.json.gz"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a file measures with: questions and statements, and passages."""

    name: str
    asked: frozenset[str]
    passages: frozenset[str]


def data_folder() -> Path | None:
    """STEELMAN_EVAL_DATA, else `../shared/data` beside the checkout; None where there is no such folder."""
    folder = Path(os.environ.get("STEELMAN_EVAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
    return folder if folder.is_dir() else None


def read_evaluated(data: Path) -> list[Evaluated]:
    """Every file under `data` that a judge is measured with. Raises InputError for one that is wrong."""
    pairs = load_pairs(data / _PAIRS)
    asked = frozenset(text for p in pairs for text in (p.question, p.perspective))
    first = Evaluated(_PAIRS.stem, asked, frozenset(p.document for p in pairs))
    return [first, *read_retrieval(data), *read_news(data), *read_pir(data)]


def read_retrieval(data: Path) -> list[Evaluated]:
    """The sets in `data`/retrieval with their gold passages; none without that folder. Raises InputError."""
    folder = data / "retrieval"
    names = sorted(path.name.removesuffix(".queries.jsonl") for path in folder.glob("?*.queries.jsonl"))
    return [_evaluated(one) for one in load_sets(folder, names)] if names else []


def read_news(data: Path) -> list[Evaluated]:
    """LocalNews' headlines and paragraphs; none without its file. Raises InputError."""
    if not (data / _NEWS).is_file():
        return []
    news = load_news(data / _NEWS)
    return [Evaluated(news.name, frozenset(e.headline for e in news.events), frozenset(p.text for p in news.corpus))]


def read_pir(data: Path) -> list[Evaluated]:
    """PIR's tasks, all that they ask and their passages; none without its file. Raises InputError."""
    tasks = load_tasks(data / _PIR) if (data / _PIR).is_file() else []
    return [Evaluated(f"pir {t.name}", frozenset(t.texts), frozenset(p.text for p in t.corpus)) for t in tasks]


def _evaluated(one: RetrievalSet) -> Evaluated:
    sides = [side for question in one.questions for side in question.perspectives]
    texts = {passage.external_id: passage.text for passage in one.corpus}
    asked = frozenset([question.question for question in one.questions] + [side.statement for side in sides])
    return Evaluated(one.name, asked, frozenset(texts[id_] for side in sides for id_ in side.gold))


def overlaps(training: "Mapping[str, Iterable[Example]]", evaluated: Iterable[Evaluated]) -> Iterator[str]:
    """A line for every file and data set that share something: a question or statement, or a passage's run of words.

    Questions are compared by their words alone, passages by the runs of `SHINGLE` words that only copies share.
    """
    files = [(one, {key(text) for text in one.asked}, _runs(one.passages)) for one in evaluated]
    for name, examples in training.items():
        taught = list(examples)
        asked = {key(text) for text in {text for e in taught for text in (e.group, e.statement)}}
        runs = _runs({e.text for e in taught})
        for one, questions, passages in files:
            for what, shared in (
                ("questions or statements", asked & questions),
                ("passages", {passages[run] for run in passages.keys() & runs.keys()}),
            ):
                if shared:
                    yield f"{one.name} and {name} share {len(shared)} {what}, such as {min(shared)[:80]!r}."


def _runs(texts: Iterable[str]) -> dict[int, str]:
    """Each run of words to a text that has it."""
    return {run: text for text in texts for run in shingles(text)}
