"""Which cited passages really say a written claim, by `tools.language.grounding` with the models of the run."""

import re
from collections.abc import Mapping, Sequence

from agent.inference import Models
from agent.state import Claim
from tools.language.facts import intrusions
from tools.language.grounding import evidence_sentences, is_grounded
from tools.language.sentences import split_sentences
from tools.passages import Passage

_SPACES = re.compile(r"\s+")


async def ground(
    models: Models, claims: Sequence[Claim], passages: dict[int, Passage], judged: Mapping[str, float] | None = None
) -> dict[str, Claim | None]:
    """For each claim's text the claim, citing only the passages that say it, with the words of each that do; None for a
    claim that no cited passage says, nor all of them together. A crux is said by passages of both perspectives
    together, or not at all.

    judged: how surely the judge finds the claim of that text in all that it cites; a claim that it did not check stands
    on what can be looked up.
    """
    cited = {i: split_sentences(passages[i].text) for c in claims for i in c["passages"] if i in passages}
    texts = list(dict.fromkeys([*(c["text"] for c in claims), *(s for sentences in cited.values() for s in sentences)]))
    vectors = dict(zip(texts, await models.encode(texts), strict=True))

    def is_said(claim: str, ids: Sequence[int]) -> bool:
        """Whether the passages, read as one text, say it."""
        text = "\n".join(passages[i].text for i in ids)
        sentences = [s for i in ids for s in cited[i]]
        if len(sentences) != len(split_sentences(text)):  # joined, they were cut elsewhere
            return False
        if verbatim(claim, text):
            return not intrusions(claim)
        nearness = [float(vectors[claim] @ vectors[s]) for s in sentences]
        title = " ".join(f"{passages[i].title}. {passages[i].publisher}." for i in ids)
        return is_grounded(claim, text, nearness, title, (judged or {}).get(claim))

    grounded: dict[str, Claim | None] = {}
    for claim in claims:
        text, known = claim["text"], [i for i in claim["passages"] if i in cited]
        saying = [i for i in known if claim["role"] != "crux" and is_said(text, [i])]
        if not saying and len(known) > 1 and is_said(text, known):
            saying = known
        grounded[text] = _citing(claim, [passages[i] for i in saying]) if saying else None
    return grounded


def _citing(claim: Claim, saying: Sequence[Passage]) -> Claim:
    """The claim with the passages that say it; one that stands in them word for word is a quotation."""
    ids = [p.id for p in saying]
    if all(verbatim(claim["text"], p.text) for p in saying):
        return Claim(**{**claim, "passages": ids, "written": False})
    evidence = [" ".join(evidence_sentences(claim["text"], p.text, limit=1)) for p in saying]
    return Claim(**{**claim, "passages": ids, "evidence": evidence})


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)
