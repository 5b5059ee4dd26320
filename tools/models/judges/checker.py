"""A chat model that checks written claims: do the passages that a claim cites say it, and does it serve its side?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import BaseModel, Field

from prompts import as_data, load_prompt
from tools.budget import run_within
from tools.models.chat.model import ChatModel
from tools.models.judges.batch import Halving, as_documents, as_line, labelled
from tools.passages import Passage

TOGETHER = 64
"""Claims of a call at most."""
_CHARACTERS = 40_000  # of the passages and claims of a call, about
_CONCURRENT = 8  # calls
_ATTEMPTS = 2
_PROBABILITY = {"yes": 0.95, "partly": 0.3, "no": 0.05}


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """A written claim to check.

    side: the statement of the side that it stands under, empty for a claim of no side. objection: it is to argue
    against that side. passages: those that it cites. hints: what rules found against it. elsewhere: names and numbers
    of the claim that the cited passages lack and their documents have.
    """

    text: str
    side: str
    passages: tuple[Passage, ...]
    objection: bool = False
    hints: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """How surely the passages say a claim, and it serves its side: probabilities, NaN without an answer. corrected: the
    claim as the passages say it, where they say it only in part."""

    said: float = math.nan
    serves: float = math.nan
    corrected: str = ""

    @property
    def answered(self) -> bool:
        return not math.isnan(self.said)


class Checked(BaseModel):
    """What the model says of a claim that does not hold as it is."""

    claim: str = Field(max_length=20)
    said: Literal["yes", "partly", "no"]
    serves: Literal["yes", "no"]
    corrected: str = Field(default="", max_length=600)


class CheckedClaims(BaseModel):
    """What the model is asked for."""

    hold: list[str] = Field(default_factory=list, max_length=4 * TOGETHER)
    others: list[Checked] = Field(default_factory=list, max_length=4 * TOGETHER)


class ClaimChecker:
    """Any chat model; belongs to the event loop that first uses it, as its ChatModel does."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self._halving = Halving(TOGETHER)

    async def check(
        self, claims: Sequence[ClaimCheck], planted: ClaimCheck | None = None
    ) -> tuple[list[ClaimVerdict], bool]:
        """A verdict for each claim; and whether the model took the planted claim, which stands in every call and cites
        a passage that does not say it, for said. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        every = [*claims, *([planted] if planted else [])]
        found = [ClaimVerdict()] * len(every)
        fooled: list[bool] = []

        async def ask(places: Sequence[int]) -> None:
            missing = list(places)
            for _ in range(_ATTEMPTS):
                if missing:
                    await self._ask(every, [*missing, *range(len(claims), len(every))], found)
                    fooled.extend(v.said > _PROBABILITY["partly"] for v in found[len(claims) :])
                    missing = [i for i in missing if not found[i].answered]

        cited = {p for claim in claims for p in claim.passages}
        characters = sum(len(as_line(p)) for p in cited) + sum(len(claim.text) for claim in claims)
        parts = self._halving.parts(range(len(claims)), characters, _CHARACTERS)
        await run_within([partial(self._halving.ask, ask, part) for part in parts], _CONCURRENT)
        return found[: len(claims)], any(fooled)

    async def _ask(self, claims: Sequence[ClaimCheck], places: Iterable[int], found: list[ClaimVerdict]) -> None:
        asked = labelled(places, "C")
        passages = labelled(dict.fromkeys(p for i in asked.values() for p in claims[i].passages), "P")
        sides = labelled(dict.fromkeys(claims[i].side for i in asked.values() if claims[i].side), "S")
        label_of = {passage.id: label for label, passage in passages.items()}
        of_side = {side: label for label, side in sides.items()}

        def shown(label: str, claim: ClaimCheck) -> str:
            side = {"against" if claim.objection else "for": of_side.get(claim.side, "")}
            cites = " ".join(label_of[p.id] for p in claim.passages)
            rules = {"elsewhere": "; ".join(claim.elsewhere), "hint": "; ".join(claim.hints)}
            return as_data("claim", claim.text, label=label, cites=cites, **side, **rules)

        told = [as_data("side", side, label=label) for label, side in sides.items()]
        system, user = load_prompt("check").render(
            sides="\n".join(["The sides:", *told]) if told else "",
            passages=as_documents(passages),
            claims="\n".join(shown(label, claims[i]) for label, i in asked.items()),
        )
        checked = await self._model.ask(system, user, CheckedClaims)
        for label in filter(asked.__contains__, checked.hold):
            found[asked[label]] = ClaimVerdict(_PROBABILITY["yes"], _PROBABILITY["yes"])
        for one in checked.others:
            if one.claim in asked:  # what stands in both lists does not hold
                corrected = one.corrected.strip() if one.said == "partly" else ""
                verdict = ClaimVerdict(_PROBABILITY[one.said], _PROBABILITY[one.serves], corrected)
                found[asked[one.claim]] = verdict
