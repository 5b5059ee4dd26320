"""What a follow-up wants, by its wording: intent classification by multinomial logistic regression on the encoder's
vectors, fitted on a hundred wordings of each kind in `evals/training/requests.toml`."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from agent.answer.model import Answer, Citation
from tools.errors import ModelError
from tools.language.question import read_question
from tools.language.speech import UNNAMED
from tools.models.int8 import WEIGHTS
from tools.passages import PROBABLY

Encode = Callable[[Sequence[str]], Awaitable[NDArray[np.float32]]]
KINDS = (
    *("place", "focus", "question"),
    *("summarise", "weigh", "explain", "newer", "from", "side", "challenge", "more", "other"),
)
"""A place or an aspect to look at, a question of its own; what the answer can tell or be searched on for; neither."""
FITTED = WEIGHTS / "requests.npz"
"""Weights (k, dimensions) and offsets (k,) of the kinds, made by `python -m evals.training.ship requests`."""


async def intent_of(texts: Sequence[str], answer: Answer, encode: Encode) -> tuple[str, NDArray[np.float32]]:
    """The kind of a follow-up, and how likely each of the texts is of it, (n,). texts: the whole, then its sentences,
    since a sentence beside another may be mood or reason: the whole and the mean of its sentences tell more together.
    """
    chances = _chances(await encode([masked(text, names_of(answer)) for text in texts]))
    best = int(np.argmax(chances[0] + chances[1:].mean(axis=0)))
    return KINDS[best], chances[:, best]


@cache
def _fitted() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    try:
        with np.load(FITTED) as stored:
            return stored["weights"].astype(np.float32), stored["offsets"].astype(np.float32)
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"{FITTED} cannot be read ({exc}). Restore it from the project.") from exc


def _chances(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The probability of each kind, (n, k)."""
    weights, offsets = _fitted()
    scores = vectors @ weights.T + offsets
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def names_of(answer: Answer) -> dict[str, str]:
    """What the answer names, and the words that stand for any such."""
    sources = {name: "that newspaper" for c in answer.citations for name in (c.publisher, *names_of_source(c))}
    sides = {s.name.removesuffix(" …"): "this side" for s in answer.perspectives if len(s.name) > 3}
    return sources | sides


def names_of_source(citation: Citation) -> list[str]:
    """What a follow-up may call the source: its speaker, by surname alone too ('Faulds'), or its publisher."""
    known = "" if citation.speaker == UNNAMED else citation.speaker.removeprefix(PROBABLY)
    people = [name.strip() for name in re.split(r"[,;&]| and ", known)]
    surnames = [name.split()[-1] for name in people if " " in name]
    return [*people, *(s for s in surnames if s[:1].isupper()), citation.publisher.removeprefix("Sample ")]


def masked(asked: str, names: Mapping[str, str]) -> str:
    """The words with what they name replaced: 'only from the Herald' and 'only from the Gazette' are one wording."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        asked = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], asked, flags=re.I)
    asked = re.sub(r"(?i)\b(?:yes|no|for|against|pro|con|anti)(?= (?:side|camp|case|people|argument)\b)", "this", asked)
    return re.sub(r"\d+", "2", re.sub(r"\b(?:19|20)\d\d\b", "that year", asked))


LIKE_FACTS = ("explain", "newer", "from", "other")  # kinds that a question of fact is taken for
_WANTS_FACT = re.compile(
    r"(?:in )?(?:who|when|(?:what|which) year|what (?:is|was|were)|did|does|has|have|was|were)\b", re.I
)
_OF_ANSWER = re.compile(
    r"\b(?:sources?|stud(?:y|ies)|articles?|papers?|reports?|publi\w+|research|evidence|claims?|answers?|passages?|sides?|"
    r"quot\w+|bit|writ\w+|wrote|says?|said|cover\w*|latest|newe?\w*|one|ones|(?:any|some)thing|this|that|these|those|"
    r"them|they|you\w*|\d{1,3})\b|['‘“]",
    re.I,
)


def asks_for_fact(asked: str) -> bool:
    """Whether it asks for a fact of the matter ('How many call-outs were there in 2024?'), of no source or claim."""
    fact = read_question(asked).kind == "fact" or _WANTS_FACT.match(asked)
    return bool(fact and not _OF_ANSWER.search(asked))
