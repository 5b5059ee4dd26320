"""A judge that knows which side each document is on: what the other parts would do with a perfect one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from agent.models.inference import Models
from agent.models.providers import Frame, Providers
from agent.settings import Settings
from agent.stages.expand import planned
from agent.state import FramingState
from evals.answering.asking import Build
from evals.datasets.cases import SIDES, Case, CaseSet
from tools.models.judges.judge import LocalJudge, Pair
from tools.store.store import Store

_SURE, _UNSURE = 0.97, 0.03
_END = 60  # letters at the end of a text by which its document is known


def with_gold_verdicts(build: Build, chosen: CaseSet) -> Build:
    """Providers as `build` makes them, whose judge knows the sides of the set's documents."""

    def built(settings: Settings, store: Store) -> Providers:
        providers = build(settings, store)
        gold = GoldJudge(chosen)
        models = providers.models
        judged = Models(models.encoder, gold, models.cache, retrieval_encoder=models.retrieval_encoder, store=store)
        return replace(providers, models=judged, frame=partial(_noted, providers.frame, gold))

    return built


@dataclass
class GoldJudge(LocalJudge):
    """Sure of what is in a document that is known for one side of the question, and of nothing else.

    Whose statements the sides have is told by the framing of the questions of the set.
    """

    chosen: CaseSet
    name: str = "gold-judge"
    threshold: float = 0.5
    sentence_threshold: float = 0.5
    sides: dict[str, tuple[Case, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._letters = {d.external_id: _letters(d.text) for d in self.chosen.documents}
        self._cases = {c.question: c for c in self.chosen.cases}
        self.name = f"gold-judge-{self.chosen.name}"

    def note(self, question: str, framing: FramingState) -> None:
        """Which statement stands for which side."""
        if case := self._cases.get(question):
            statements = [p["statement"] for p in planned(framing)[:2]]
            self.sides |= {statement: (case, side) for side, statement in enumerate(statements)}

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return self.score_both(pairs)[:, 0]

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        return np.array([self._stance(pair) for pair in pairs], np.float32).reshape(len(pairs), 2)

    def _stance(self, pair: Pair) -> tuple[float, float]:
        case, side = self.sides.get(pair.statement, (None, 0))
        if case is None:
            return _UNSURE, _UNSURE
        end = _letters(pair.text)[-_END:]
        own, other = (any(end in self._letters[d] for d in case.gold[SIDES[at]]) for at in (side, 1 - side))
        return (_SURE if own and not other else _UNSURE), (_SURE if other and not own else _UNSURE)


async def _noted(frame: Frame, gold: GoldJudge, question: str, earlier: Sequence[str]) -> FramingState:
    """Frames the question, and tells the judge how it was read."""
    framing = await frame(question, earlier)
    gold.note(question, framing)
    return framing


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
