"""Which cited passages really say a written claim, by `tools.grounding` with the models of the run."""

from collections.abc import Sequence

from agent.models import Models, RunJudge
from agent.state import Claim
from tools.grounding import evidence_sentences, is_grounded
from tools.judge import Pair
from tools.passages import Passage


async def ground(
    models: Models, judge: RunJudge, claims: Sequence[Claim], passages: dict[int, Passage], seconds: float
) -> dict[str, Claim | None]:
    """For each claim's text the claim, citing only the passages that say it, with the words of each that do; None for a
    claim that no cited passage says. Raises JudgeError."""
    asked = [(c, i) for c in claims for i in c["passages"] if i in passages]
    support = await judge.support([Pair(c["text"], passages[i].text) for c, i in asked], seconds)
    vectors = await models.encode([*(c["text"] for c, _ in asked), *(passages[i].text for _, i in asked)])
    said: dict[str, list[int]] = {}
    for n, (claim, i) in enumerate(asked):
        nearness = float(vectors[n] @ vectors[len(asked) + n])
        if is_grounded(claim["text"], _with_title(passages[i]), float(support[n]), nearness):
            said.setdefault(claim["text"], []).append(i)
    return {c["text"]: _citing(c, said.get(c["text"], []), passages) for c in claims}


def _citing(claim: Claim, ids: Sequence[int], passages: dict[int, Passage]) -> Claim | None:
    if not ids:
        return None
    evidence = [" ".join(evidence_sentences(claim["text"], passages[i].text, limit=1)) for i in ids]
    return Claim(**{**claim, "passages": list(ids), "evidence": evidence})


def _with_title(passage: Passage) -> str:
    return f"{passage.title}. {passage.text}" if passage.title else passage.text
