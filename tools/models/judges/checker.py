"""A chat model that checks written claims: do the passages that a claim cites say it, and does it serve its side?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from prompts import as_data, load_prompt
from tools.models.batching import batches, run_within
from tools.models.chat.model import ChatModel
from tools.models.judges.together import Halving, labelled
from tools.passages import Passage

TOGETHER = 20
"""Claims of a call at most."""
_CONCURRENT = 8  # calls
_ATTEMPTS = 2
_PROBABILITY = {"yes": 0.95, "partly": 0.3, "no": 0.05}


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """A written claim to check.

    side: the statement of the side that it stands under, empty for a claim of no side. objection: it is to argue
    against that side. passages: those that it cites. hints: what rules did not find in them.
    """

    text: str
    side: str
    passages: tuple[Passage, ...]
    objection: bool = False
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """How surely the passages say a claim, and it serves its side: probabilities, NaN without an answer. corrected: the
    claim as the passages say it, where they say it only in part."""

    said: float = math.nan
    serves: float = math.nan
    corrected: str = ""


class Checked(BaseModel):
    """What the model says of a claim."""

    claim: str = Field(max_length=20)
    said: Literal["yes", "partly", "no"]
    serves: Literal["yes", "no"]


class CheckedClaims(BaseModel):
    """What the model is asked for."""

    claims: list[Checked] = Field(max_length=4 * TOGETHER)


class ClaimChecker:
    """Any chat model; belongs to the event loop that first uses it, as its ChatModel does."""

    def __init__(self, model: ChatModel, concurrency: int = _CONCURRENT) -> None:
        self._model = model
        self.name = model.name
        self.address = model.address
        self.local = model.local
        self._concurrency = min(concurrency, _CONCURRENT)
        self._halving = Halving(TOGETHER)

    async def check(self, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> list[ClaimVerdict]:
        """A verdict for each claim. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        found = [ClaimVerdict()] * len(claims)
        ask = partial(self._check, claims, found)
        calls = [partial(self._halving.ask, ask, part) for part in batches(range(len(claims)), self._halving.together)]
        await run_within(seconds, calls, self._concurrency)
        return found

    async def _check(self, claims: Sequence[ClaimCheck], found: list[ClaimVerdict], places: Iterable[int]) -> None:
        missing = list(places)
        for _ in range(_ATTEMPTS):
            if not missing:
                return
            passages = labelled(dict.fromkeys(p for i in missing for p in claims[i].passages), "P")
            label_of = {passage.id: label for label, passage in passages.items()}
            asked = labelled(missing, "C")
            side = claims[missing[0]].side
            system, user = load_prompt("check").render(
                side=f"The side that they are to serve: {as_data('side', side)}" if side else "",
                passages="\n".join(as_data("passage", p.text, label=label) for label, p in passages.items()),
                claims="\n".join(
                    as_data(
                        "claim", claims[i].text, label=label, cites=" ".join(label_of[p.id] for p in claims[i].passages)
                    )
                    for label, i in asked.items()
                ),
            )
            for one in (await self._model.ask(system, user, CheckedClaims)).claims:
                if one.claim in asked:
                    said, serves = _PROBABILITY[one.said], _PROBABILITY[one.serves]
                    found[asked[one.claim]] = ClaimVerdict(said, serves)
            missing = [i for i in missing if np.isnan(found[i].said)]
