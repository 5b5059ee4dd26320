"""Which cited passages really say a written claim, by `tools.language.grounding.grounding` with the models of the run.
Which cited passages really say a written claim, by `tools.language.grounding.grounding` with the models of the run."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.inference import Models
from agent.state import Claim
from tools.language.grounding.grounding import evidence_sentences, is_grounded
from tools.language.grounding.intrusions import intrusions
from tools.language.sentences import split_sentences
from tools.passages import Passage

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class _Reading:
    """A claim read against one of the passages that it cites, or against all of them as one text."""

    claim: str
    passages: tuple[Passage, ...]
    nearness: list[float]

    @property
    def text(self) -> str:
        return "\n".join(p.text for p in self.passages)

    @property
    def title(self) -> str:
        return " ".join(f"{p.title}. {p.publisher}." for p in self.passages)


async def ground(
    models: Models, claims: Sequence[Claim], passages: dict[int, Passage], said: Mapping[str, float] | None = None
) -> dict[str, Claim | None]:
    """For each claim's text the claim, citing only the passages that say it, with the words of each that do; None for a
    claim that no cited passage says, nor all of them together.

    said: how surely the judge finds the claim of that text in all that it cites; a claim that it did not check, or None
    where it checks none, stands on what can be looked up.
    """
    holding: dict[str, list[_Reading]] = {}
    for reading in await _readings(models, claims, passages):
        if _holds(reading, None if said is None else said.get(reading.claim)):
            holding.setdefault(reading.claim, []).append(reading)
    return {c["text"]: _held(c, holding.get(c["text"], [])) for c in claims}


def _holds(reading: _Reading, said: float | None) -> bool:
    if verbatim(reading.claim, reading.text):
        return not intrusions(reading.claim)
    return is_grounded(reading.claim, reading.text, reading.nearness, reading.title, said)


async def _readings(models: Models, claims: Sequence[Claim], passages: dict[int, Passage]) -> list[_Reading]:
    """Every claim against each of its passages, and against all of them where there are several."""
    cited = {i: split_sentences(passages[i].text) for c in claims for i in c["passages"] if i in passages}
    texts = list(dict.fromkeys([*(c["text"] for c in claims), *(s for sentences in cited.values() for s in sentences)]))
    vectors = dict(zip(texts, await models.encode(texts), strict=True))
    readings = []
    for claim in claims:
        known = [i for i in claim["passages"] if i in cited]
        for ids in [[i] for i in known] + ([known] if len(known) > 1 else []):
            text = "\n".join(passages[i].text for i in ids)
            sentences = [s for i in ids for s in cited[i]]
            nearness = [float(vectors[claim["text"]] @ vectors[s]) for s in sentences]
            if len(sentences) != len(split_sentences(text)):  # joined, they were cut elsewhere
                continue
            readings.append(_Reading(claim["text"], tuple(passages[i] for i in ids), nearness))
    return readings


def _held(claim: Claim, holding: Sequence[_Reading]) -> Claim | None:
    """The claim with the passages that say it; one that stands in them word for word is a quotation. A crux is said by
    passages of both perspectives together, or not at all."""
    together = [list(r.passages) for r in holding if len(r.passages) > 1]
    alone = [r.passages[0] for r in holding if len(r.passages) == 1] if claim["role"] != "crux" else []
    if not alone and not together:
        return None
    saying = alone or together[0]
    ids = [p.id for p in saying]
    if all(verbatim(claim["text"], p.text) for p in saying):
        return Claim(**{**claim, "passages": ids, "written": False})
    evidence = [" ".join(evidence_sentences(claim["text"], p.text, limit=1)) for p in saying]
    return Claim(**{**claim, "passages": ids, "evidence": evidence})


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)
