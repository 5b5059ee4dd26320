"""Reads questions, statements and passages of evaluation data, which must not be in the judge's training data.

The evaluation data are the labelled development pairs, the retrieval sets with their gold passages, LocalNews and PIR.
The shipped judges were trained before LocalNews and PIR were excluded. The judges' training data have no text of
LocalNews, and a few texts of PIR.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evals.datasets.news import load_news
from evals.datasets.pairs import load_pairs
from evals.datasets.pir import load_tasks
from evals.datasets.retrieval import load_sets

_PAIRS = Path("judge") / "berds_pairs.dev.jsonl"
_NEWS = Path("newscope") / "LocalNews.zip"
_PIR = Path("pir") / "demo_pir_dataset.json.gz"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The texts of an evaluation file: questions with statements, and passages."""

    name: str
    asked: frozenset[str]
    passages: frozenset[str]


def read_evaluated(data: Path) -> Iterator[Evaluated]:
    """Reads the evaluation files under `data`. Only the labelled pairs must exist. Raises InputError."""
    pairs = load_pairs(data / _PAIRS)
    asked = frozenset(text for p in pairs for text in (p.question, p.perspective))
    yield Evaluated(_PAIRS.stem, asked, frozenset(p.document for p in pairs))
    folder = data / "retrieval"
    names = sorted(path.name.removesuffix(".queries.jsonl") for path in folder.glob("?*.queries.jsonl"))
    for one in load_sets(folder, names) if names else ():
        sides = [side for question in one.questions for side in question.perspectives]
        texts = {passage.external_id: passage.text for passage in one.corpus}
        asked = frozenset([question.question for question in one.questions] + [side.statement for side in sides])
        yield Evaluated(one.name, asked, frozenset(texts[id_] for side in sides for id_ in side.gold))
    if (data / _NEWS).is_file():
        news = load_news(data / _NEWS)
        headlines = frozenset(e.headline for e in news.events)
        yield Evaluated(news.name, headlines, frozenset(p.text for p in news.corpus))
    for task in load_tasks(data / _PIR) if (data / _PIR).is_file() else ():
        yield Evaluated(f"pir {task.name}", frozenset(task.texts), frozenset(p.text for p in task.corpus))
