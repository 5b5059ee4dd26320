"""Perspectives mined from what a first search found: third ways beside yes and no, answers to an open question."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.models.inference import Models
from agent.state import Perspective
from tools.language.copies import average_linkage
from tools.language.quotable import stands_alone
from tools.language.sentences import passage_sentences
from tools.passages import Passage, Sentence

MAX_THIRD_WAYS = 2
MAX_ANSWERS = 4
_READ = 24  # retrieved passages that are mined

# A third way words itself as one, in its main clause: a limit, a substitute, a mixture, another who decides.
_THIRD_WAY = re.compile(
    r"\b(?:only|instead|rather than|short of|middle|compromise|mix(?:ed|ture|es)?|both|except|unless|less|fewer|"
    r"partial\w*|part of|charges?|charged|alongside|combin\w+|(?:decide|choose|judge) for|left to|case by case|tax|"
    r"by robots)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"^(?:When|If|While|Although|Where|Unless|Once|As)\b[^,]*,\s*")
_REASON = re.compile(r",? (?:because|since|so that|for the reason|as long as)\b", re.IGNORECASE)
_PROPOSES = re.compile(r"\b(?:should|ought to|best|better)\b(?! not)", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:should|must|is|are|do|does|will|can)(?: not|n't)\b|\bcannot\b|\bwould\b", re.IGNORECASE)
_ANSWERS = re.compile(
    r"(?<!who )(?<!which )(?<!that )\b(?:should|ought to|works? best|is best|best learned|"
    r"(?:best|surest|fastest|quickest|easiest|soundest|better|only|most \w+) (?:way|means|method|route|chance|policy|"
    r"answer|remedy|tool))\b",
    re.IGNORECASE,
)

_NOT_A_STATEMENT = re.compile(
    r"[()\[\]\"“”:;]|\d|\b(?:debat\w+|poll|survey|according|said|says|argues?)\b", re.IGNORECASE
)
_LONGEST_STATEMENT = 32  # words

_NEAR_QUESTION = 0.45  # cosine of an answer to the question, at least
_ON_THE_POINT = 0.5  # cosine of a third way to the question or to one of its sides, at least
_SAME_SIDE = 0.93  # cosine at which a statement says what a planned side says already
_SAME_POINT = 0.85  # cosine at which two sentences make one cluster
_SAME_ANSWER = 0.6


async def mine_third_ways(
    models: Models, question: str, sides: Sequence[Perspective], passages: Sequence[Passage]
) -> list[Perspective]:
    """Perspectives beside yes and no that sentences of the retrieved passages state."""
    sentences = [s for s in _sentences(passages) if proposes_third_way(s.text)]
    if not sentences:
        return []
    vectors = await models.encode_sentences(sentences)
    known = await models.encode([question, *(p["statement"] for p in sides)])
    nearness = vectors @ known.T
    fits = (nearness.max(axis=1) >= _ON_THE_POINT) & (nearness[:, 1:].max(axis=1) < _SAME_SIDE)
    centres = _centres(sentences, vectors, nearness[:, 0], fits, _SAME_POINT)[:MAX_THIRD_WAYS]
    return [_mined(i, s) for i, s in enumerate(centres, start=len(sides) + 1)]


async def mine_answers(models: Models, question: str, passages: Sequence[Passage]) -> list[Perspective]:
    """The different answers to an open question: one statement a cluster of sentences that answer it."""
    sentences = [s for s in _sentences(passages) if _ANSWERS.search(_main_clause(s.text))]
    if not sentences:
        return []
    vectors = await models.encode_sentences(sentences)
    nearness = vectors @ (await models.encode([question]))[0]
    centres = _centres(sentences, vectors, nearness, nearness >= _NEAR_QUESTION, _SAME_ANSWER)[:MAX_ANSWERS]
    return [_mined(i, s) for i, s in enumerate(centres, start=1)]


def proposes_third_way(sentence: str) -> bool:
    """Whether the sentence's main clause proposes something, and neither plain yes nor plain no."""
    main = _main_clause(sentence)
    if _NOT_A_STATEMENT.search(sentence) or len(sentence.split()) > _LONGEST_STATEMENT:
        return False
    named = _THIRD_WAY.search(main) and _PROPOSES.search(main)
    return bool(named) and not _DENIES.search(main) and "better than" not in main


def _main_clause(sentence: str) -> str:
    return _REASON.split(_CONDITION.sub("", sentence))[0]


def _mined(number: int, statement: str) -> Perspective:
    return Perspective(
        id=f"p{number}", name=_name(statement), statement=statement, stance="other", contrary="", origin="sources"
    )


def _name(statement: str) -> str:
    words = statement.rstrip(".").split()
    return " ".join(words) if len(words) <= 7 else " ".join(words[:6]) + " …"


def _sentences(passages: Sequence[Passage]) -> list[Sentence]:
    return [s for p in passages[:_READ] for s in passage_sentences(p) if stands_alone(s.text)]


def _centres(
    sentences: Sequence[Sentence],
    vectors: NDArray[np.float32],
    nearness: NDArray[np.float32],
    fits: NDArray[np.bool_],
    same: float,
) -> list[str]:
    """The texts of the sentences that represent the clusters of those that fit, the best supported cluster first.

    Average-linkage clusters of cosine `same` or more; a cluster counts by its independent sources, then by how near
    it is to the question, and is represented by the sentence nearest to the question among its central half.
    vectors: unit, (n, dimensions). nearness: cosine to the question, (n,). fits: (n,).
    """
    kept = np.flatnonzero(fits)
    if len(kept) < 2:
        return [sentences[int(i)].text for i in kept]
    ranked: list[tuple[int, float, int]] = []
    for members in (kept[cluster] for cluster in average_linkage(vectors[kept] @ vectors[kept].T, same)):
        sources = len({sentences[int(i)].passage.source for i in members})
        centrality = vectors[members] @ vectors[members].mean(axis=0)
        central = members[centrality >= np.median(centrality)]
        best = int(central[np.argmax(nearness[central])])
        ranked.append((sources, float(nearness[members].mean()), best))
    return [sentences[index].text for _, _, index in sorted(ranked, reverse=True)]
