"""The answers to an open question, mined from what a first search found."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.models.inference import Models
from agent.state import Perspective
from tools.language.copies import average_linkage
from tools.language.polarity import takes_no_side
from tools.language.quotable import stands_alone
from tools.language.sentences import passage_sentences
from tools.passages import Passage, Sentence

MAX_ANSWERS = 4
_READ = 24  # retrieved passages that are mined

_CONDITION = re.compile(r"^(?:When|If|While|Although|Where|Unless|Once|As)\b[^,]*,\s*")
_REASON = re.compile(r",? (?:because|since|so that|for the reason|as long as)\b", re.IGNORECASE)
_ANSWERS = re.compile(
    r"(?<!who )(?<!which )(?<!that )\b(?:should|ought to|works? best|is best|best learned|"
    r"(?:best|surest|fastest|quickest|easiest|soundest|better|only|most \w+) (?:way|means|method|route|chance|policy|"
    r"answer|remedy|tool))\b",
    re.IGNORECASE,
)

_NEAR_QUESTION = 0.45  # cosine of an answer to the question, at least
_SAME_ANSWER = 0.6


async def mine_answers(models: Models, question: str, passages: Sequence[Passage]) -> list[Perspective]:
    """The different answers to an open question: one statement a cluster of sentences that answer it."""
    read = (s for p in passages[:_READ] for s in passage_sentences(p))
    alone = (s for s in read if stands_alone(s.text) and not takes_no_side(s.text))
    sentences = [s for s in alone if _ANSWERS.search(_REASON.split(_CONDITION.sub("", s.text))[0])]  # main clauses
    if not sentences:
        return []
    vectors = await models.encode_sentences(sentences)
    nearness = vectors @ (await models.encode([question]))[0]
    centres = _centres(sentences, vectors, nearness)[:MAX_ANSWERS]
    return [
        Perspective(id=f"p{i}", name=_name(s), statement=s, stance="other", contrary="", origin="sources")
        for i, s in enumerate(centres, start=1)
    ]


def _name(statement: str) -> str:
    words = statement.rstrip(".").split()
    return " ".join(words) if len(words) <= 7 else " ".join(words[:6]) + " …"


def _centres(sentences: Sequence[Sentence], vectors: NDArray[np.float32], nearness: NDArray[np.float32]) -> list[str]:
    """The texts of the sentences that represent the clusters of those near the question, the best supported first.

    Average-linkage clusters of cosine _SAME_ANSWER or more; a cluster counts by its independent sources, then by how
    near it is to the question, and is represented by the sentence nearest to the question among its central half.
    vectors: unit, (n, dimensions). nearness: cosine to the question, (n,).
    """
    kept = np.flatnonzero(nearness >= _NEAR_QUESTION)
    if len(kept) < 2:
        return [sentences[int(i)].text for i in kept]
    ranked: list[tuple[int, float, int]] = []
    for members in (kept[cluster] for cluster in average_linkage(vectors[kept] @ vectors[kept].T, _SAME_ANSWER)):
        sources = len({sentences[int(i)].passage.source for i in members})
        centrality = vectors[members] @ vectors[members].mean(axis=0)
        central = members[centrality >= np.median(centrality)]
        best = int(central[np.argmax(nearness[central])])
        ranked.append((sources, float(nearness[members].mean()), best))
    return [sentences[index].text for _, _, index in sorted(ranked, reverse=True)]
