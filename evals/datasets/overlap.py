"""What must not stand on both sides, of training and measuring, or of a set that is split.

What a judge is measured with, so that none is trained on it, are questions and statements, and passages.
These are the labelled development pairs, the retrieval sets with their gold passages, on which a judge re-ranks and
chooses, and all of LocalNews and of PIR. No suite has a judge read the last two; the judge in use was trained before
they were left out, on nothing of LocalNews and on a few texts that are in PIR too.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evals.datasets.news import load_news
from evals.datasets.pairs import load_pairs
from evals.datasets.pir import load_tasks
from evals.datasets.retrieval import load_sets
from tools.errors import InputError
from tools.models.encoders.encoder import Encoder

_PAIRS = Path("judge") / "berds_pairs.dev.jsonl"
_NEWS = Path("newscope") / "LocalNews.zip"
_PIR = Path("pir") / "demo_pir_dataset.json.gz"
ALIKE = 0.75
"""The cosine from which questions are alike. By the embedded encoder, what hangs together in BERDS' development
questions is then 6 of 234 at most (OpinionQA); from 0.65 half of them."""
_NAMED = 10  # pairs that are on both sides


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


def split_topics(rows: Sequence[tuple[str, set[str], str]], encoder: Encoder, share: float, seed: int) -> list[str]:
    """'dev' or 'test' for each question, of which the texts and the topic are given too: for development whole topics
    of a seeded shuffle, as many as fit the share. Without topics, one is what hangs together by questions that are
    alike: near each other, or with a text in common.

    Raises InputError where none or all fit, and, with the pairs, where alike ones would be on two sides.
    """
    from scipy.sparse.csgraph import connected_components

    asked, texts, topics = zip(*rows, strict=True)
    vectors = encoder.encode(asked)
    alike = (vectors @ vectors.T >= ALIKE) | np.array([[not one.isdisjoint(other) for other in texts] for one in texts])
    of = topics if any(topics) else connected_components(alike)[1].tolist()
    names, chosen = sorted(set(of)), set[object]()
    for name in random.Random(seed).sample(names, len(names)):
        if sum(topic in chosen or topic == name for topic in of) <= round(share * len(of)):
            chosen.add(name)
    if not 0 < len(chosen) < len(names):
        raise InputError(f"{len(of)} questions of {len(names)} topics have no part of {share:g}. Split otherwise.")
    dev = np.array([name in chosen for name in of])
    if len(shared := np.argwhere(alike & dev[:, None] & ~dev)):
        pairs = "; ".join(f"'{asked[i]}' and '{asked[j]}'" for i, j in shared[:_NAMED])
        raise InputError(
            f"{len(shared)} pairs of questions are alike and on two sides: {pairs}{' …' * (len(shared) > _NAMED)}. "
            "Give them one topic, or take the topics out, so that nearness makes them. Nothing was written."
        )
    return ["dev" if one else "test" for one in dev]
