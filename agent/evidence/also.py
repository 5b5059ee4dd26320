"""Sentences on the question that stand under no side, best fit to the question first.

A sentence fits by the cosine of its vector to the question, by that of the nearest sentence of its passage, and by the
question's words in it, rare words counting more (inverse document frequency over the sentences).
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.evidence.sentences import best_of_passage, part_vectors
from agent.models.inference import Models
from agent.state import Claim, RunState, with_focus
from tools.language.quotable import QuotablePart, quotable_parts
from tools.language.words import analyzer
from tools.passages import Passage
from tools.store.store import SAMPLES

MOST = 15
_OF_A_DOCUMENT = 2
_ON_QUESTION = 0.35  # cosine of a sentence to the question, at least
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_BY_PASSAGE, _BY_WORDS = 0.5, 0.3  # weights beside the sentence's own cosine
_SURE = 0.6  # cosine of a sentence to the question that alone shows that its document is on the question
_NEAREST, _HELD, _KNOWN, _AMONG_MANY = 3, 0.3, 0.56, 0.47
"""Else the documents are on a question where the mean cosine of its _NEAREST sentences, and _HELD times the share of
its words that they hold, come to _KNOWN. The samples have thirty topics, where something is near to every question:
there the mean cosine must come to _AMONG_MANY as well. `tests/test_off_topic.py` measures it."""


async def also_claims(
    models: Models, searched: str, typed: str, passages: Sequence[Passage], quoted: Sequence[str] = ()
) -> list[Claim]:
    """Up to MOST sentences of the passages, of no side; none that repeats another one or a text that is quoted. None
    where the documents are not on the question. searched: the question as it was read, which may be another one
    than was `typed`."""
    question = with_focus(searched, typed)
    parts = [part for passage in passages for part in quotable_parts(passage) if part.clear]
    if not parts:
        return []
    vectors, known = await part_vectors(models, parts), await models.encode([question, *quoted])
    near, (shared, held) = vectors @ known[0], _shared_words(question, parts)
    if not _on_question(near, held, samples=all(passage.collection == SAMPLES for passage in passages)):
        return []
    fit = near + _BY_PASSAGE * best_of_passage(parts, near) + _BY_WORDS * shared
    said, documents, chosen = list(known[1:]), Counter[tuple[str, str]](), list[Claim]()
    for i in (int(i) for i in np.argsort(-fit, kind="stable") if near[i] >= _ON_QUESTION):
        part = parts[i]
        repeats = any(float(vectors[i] @ other) >= _REPEATS for other in said)
        if len(chosen) < MOST and documents[part.passage.document] < _OF_A_DOCUMENT and not repeats:
            documents[part.passage.document] += 1
            said.append(vectors[i])
            claim = Claim(perspective="", text=part.text, passages=[part.passage.id], support=0.0, role="also")
            chosen.append(Claim(**{**claim, "shown": part.shown}))
    return chosen


def _on_question(near: NDArray[np.float32], held: float, *, samples: bool) -> bool:
    """Whether the documents are on the question. near: its cosine to each sentence, (n,); held: the share of its words
    that they hold."""
    nearest = float(np.sort(near)[-_NEAREST:].mean())
    known = nearest + _HELD * held >= _KNOWN and (nearest >= _AMONG_MANY or not samples)
    return known or bool(near.max() >= _SURE)


def sideless_passages(state: RunState) -> set[int]:
    """The passages that the judge found on the question and for no side."""
    support, sides = state.get("support", {}), {p["id"]: p["contrary"] for p in state["perspectives"]}
    against = (s for p, s in state.get("opposition", {}).items() if sides.get(p) not in sides)
    argued = {i for scores in (*support.values(), *against) for i, s in scores.items() if s >= state["threshold"]}
    return {i for scores in support.values() for i in scores} - argued - {*state.get("off_question", [])}


def _shared_words(question: str, parts: Sequence[QuotablePart]) -> tuple[NDArray[np.float64], float]:
    """The share of the question's words that each part has, (n,), and that all parts together have; rare ones count
    more."""
    asked, texts = set(analyzer().analyze(question)), [set(analyzer().analyze(part.text)) for part in parts]
    weights = {w: math.log(1 + len(texts) / (1 + sum(w in t for t in texts))) for w in asked}
    total, known = max(sum(weights.values()), 1e-9), asked & set().union(*texts)
    shared = np.array([sum(weights[w] for w in asked & t) for t in texts]) / total
    return shared, sum(weights[w] for w in known) / total
