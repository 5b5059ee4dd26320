"""Which cited passages really say a written claim, by `tools.grounding` with the models of the run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent.models import Models, RunJudge
from agent.state import Claim
from tools.grounding import evidence_sentences, is_grounded
from tools.judge import Pair
from tools.passages import Passage
from tools.sentences import split_sentences

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class _Citing:
    """A claim with one of the passages that it cites: the passage's sentences near it, and the best of them."""

    claim: Claim
    passage: Passage
    nearness: list[float]
    evidence: list[str]


async def ground(
    models: Models, judge: RunJudge, claims: Sequence[Claim], passages: dict[int, Passage], seconds: float
) -> dict[str, Claim | None]:
    """For each claim's text the claim, citing only the passages that say it, with the words of each that do; None for a
    claim that no cited passage says. Raises JudgeError."""
    citing = await _citing(models, claims, passages)
    pairs = [Pair(c.claim["text"], sentence) for c in citing for sentence in c.evidence]
    support = iter(await judge.support(pairs, seconds))
    said: dict[str, list[_Citing]] = {}
    for c in citing:
        entailment = float(np.mean([next(support) for _ in c.evidence])) if c.evidence else 0.0
        text = c.claim["text"]
        if verbatim(text, c.passage.text) or is_grounded(text, c.passage.text, entailment, c.nearness, c.passage.title):
            said.setdefault(text, []).append(c)
    return {c["text"]: _held(c, said.get(c["text"], [])) for c in claims}


async def _citing(models: Models, claims: Sequence[Claim], passages: dict[int, Passage]) -> list[_Citing]:
    cited = {i: split_sentences(passages[i].text) for c in claims for i in c["passages"] if i in passages}
    texts = list(dict.fromkeys([*(c["text"] for c in claims), *(s for sentences in cited.values() for s in sentences)]))
    vectors = dict(zip(texts, await models.encode(texts), strict=True))
    found = []
    for claim in claims:
        for i in (i for i in claim["passages"] if i in cited):
            nearness = [float(vectors[claim["text"]] @ vectors[s]) for s in cited[i]]
            evidence = evidence_sentences(claim["text"], passages[i].text, nearness=nearness)
            found.append(_Citing(claim, passages[i], nearness, evidence))
    return found


def _held(claim: Claim, saying: Sequence[_Citing]) -> Claim | None:
    """The claim with the passages that say it; one that stands in them word for word is a quotation."""
    if not saying:
        return None
    ids = [c.passage.id for c in saying]
    if all(verbatim(claim["text"], c.passage.text) for c in saying):
        return Claim(**{**claim, "passages": ids, "written": False})
    return Claim(**{**claim, "passages": ids, "evidence": [c.evidence[0] for c in saying]})


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)
