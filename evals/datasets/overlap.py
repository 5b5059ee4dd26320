"""Texts that measure a judge, so that none is trained on them: questions and statements, and passages.

These are the labelled development pairs, the retrieval sets with their gold passages, on which a judge re-ranks and
chooses, and all of LocalNews and of PIR. No suite has a judge read the last two; the judge in use was trained before
they were left out, on nothing of LocalNews and on a few texts that are in PIR too.
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
    """What a file measures with: questions and statements, and passages."""

    name: str
    asked: frozenset[str]
    passages: frozenset[str]


def read_evaluated(data: Path) -> Iterator[Evaluated]:
    """Every file under `data` that a judge is measured with, of those that are there; the pairs have to be. Raises
    InputError for one that is wrong."""
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
