"""A chat model checks written claims: do the cited passages say the claim, and does the claim support its side?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import BaseModel, Field

from prompts import as_data, load_prompt
from tools.budget import run_within
from tools.limits import CLAIMS_PER_CALL, CONCURRENT_CALLS
from tools.models.chat.model import ChatModel
from tools.models.judges.batch import BatchSplitter, documents_as_data, passage_line, with_random_labels
from tools.passages import Passage

_CHARACTERS = 40_000  # about the most characters of the passages and claims in a call
_ATTEMPTS = 2
_FOCUS = "The reader asks only about {}. A claim for or against a side serves only if it speaks of that."
_PROBABILITY = {"yes": 0.95, "partly": 0.3, "no": 0.05}


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """A written claim to check.

    side: the statement of the claim's side, empty without a side. objection: the claim should argue against that side.
    passages: the cited passages. hints: problems that rules have found. elsewhere: names and numbers of the claim that
    the cited documents contain but the cited passages do not.
    """

    text: str
    side: str
    passages: tuple[Passage, ...]
    objection: bool = False
    hints: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The probabilities that the passages say the claim and that the claim supports its side; NaN without a verdict.
    corrected: the claim as the passages say it, if they support the claim only in part."""

    said: float = math.nan
    serves: float = math.nan
    corrected: str = ""

    @property
    def answered(self) -> bool:
        return not math.isnan(self.said)


class Checked(BaseModel):
    """The model's verdict on a claim that does not hold."""

    claim: str = Field(max_length=20)
    said: Literal["yes", "partly", "no"]
    serves: Literal["yes", "no"]
    corrected: str = Field(default="", max_length=600)


class CheckedClaims(BaseModel):
    """The model's reply: the claims that hold, and verdicts on the others."""

    hold: list[str] = Field(default_factory=list, max_length=4 * CLAIMS_PER_CALL)
    others: list[Checked] = Field(default_factory=list, max_length=4 * CLAIMS_PER_CALL)


class ClaimChecker:
    """A checker that works with any chat model. Checker and ChatModel belong to the event loop that first uses them."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self._splitter = BatchSplitter(CLAIMS_PER_CALL)

    async def check(
        self, claims: Sequence[ClaimCheck], planted: ClaimCheck | None = None, focus: str = ""
    ) -> tuple[list[ClaimVerdict], bool]:
        """Returns a verdict for each claim, and whether the model accepted the planted claim. Every call contains the
        planted claim, which its cited passage does not say. A trustworthy model refuses it. focus: the topic that each
        claim of a side must speak of. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        every = [*claims, *([planted] if planted else [])]
        found = [ClaimVerdict()] * len(every)
        fooled: list[bool] = []

        async def ask(places: Sequence[int]) -> None:
            missing = list(places)
            for _ in range(_ATTEMPTS):
                if missing:
                    await self._ask(every, [*missing, *range(len(claims), len(every))], found, focus)
                    fooled.extend(v.said > _PROBABILITY["partly"] for v in found[len(claims) :])
                    missing = [i for i in missing if not found[i].answered]

        cited = {p for claim in claims for p in claim.passages}
        characters = sum(len(passage_line(p)) for p in cited) + sum(len(claim.text) for claim in claims)
        parts = self._splitter.parts(range(len(claims)), characters, _CHARACTERS)
        await run_within([partial(self._splitter.ask, ask, part) for part in parts], CONCURRENT_CALLS)
        return found[: len(claims)], any(fooled)

    async def _ask(
        self, claims: Sequence[ClaimCheck], places: Iterable[int], found: list[ClaimVerdict], focus: str
    ) -> None:
        asked = with_random_labels(places, "C")
        passages = with_random_labels(dict.fromkeys(p for i in asked.values() for p in claims[i].passages), "P")
        sides = with_random_labels(dict.fromkeys(claims[i].side for i in asked.values() if claims[i].side), "S")
        label_of = {passage.id: label for label, passage in passages.items()}
        of_side = {side: label for label, side in sides.items()}

        def shown(label: str, claim: ClaimCheck) -> str:
            side = {"against" if claim.objection else "for": of_side.get(claim.side, "")}
            cites = " ".join(label_of[p.id] for p in claim.passages)
            rules = {"elsewhere": "; ".join(claim.elsewhere), "hint": "; ".join(claim.hints)}
            return as_data("claim", claim.text, label=label, cites=cites, **side, **rules)

        side_lines = [as_data("side", side, label=label) for label, side in sides.items()]
        side_lines += [_FOCUS.format(as_data("focus", focus))] if focus else []
        system, user = load_prompt("check").render(
            sides="\n".join(["The sides:", *side_lines]) if sides else "",
            passages=documents_as_data(passages),
            claims="\n".join(shown(label, claims[i]) for label, i in asked.items()),
        )
        checked = await self._model.ask(system, user, CheckedClaims)
        for label in filter(asked.__contains__, checked.hold):
            found[asked[label]] = ClaimVerdict(_PROBABILITY["yes"], _PROBABILITY["yes"])
        for one in checked.others:
            if one.claim in asked:  # a claim in both lists does not hold
                corrected = one.corrected.strip() if one.said == "partly" else ""
                verdict = ClaimVerdict(_PROBABILITY[one.said], _PROBABILITY[one.serves], corrected)
                found[asked[one.claim]] = verdict
