"""Providers that answer at once, and ones that wait, fail or count, for tests of what the agent makes of them."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from instant_providers import InstantEncoder, instant_providers
from numpy.typing import NDArray

from agent.providers.inference import Models
from agent.settings import Settings
from agent.stage_interfaces import Brief, Providers
from agent.state import Claim, Perspective
from tools.models.cache import VectorCache
from tools.models.judges.judge import LocalJudge, Pair
from tools.store.hybrid import SearchHit
from tools.store.store import Store

Build = Callable[[Settings, Store], Providers]


class ScriptedJudge(LocalJudge):
    """Scores each pair by a function."""

    threshold = 0.5

    def __init__(self, score: Callable[[Pair], float]) -> None:
        self.name = f"scripted-{uuid.uuid4().hex}"
        self.pairs: list[Pair] = []
        self._score = score

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        self.pairs += pairs
        return np.array([self._score(p) for p in pairs], np.float32)


class WatchedSearch:
    """The real search, with something that happens before each query."""

    def __init__(self, inner: Any, before: Callable[[str], object]) -> None:
        self._inner = inner
        self._before = before
        self.encoder = inner.encoder
        self.queries: list[str] = []

    def search(self, text: str, vector: NDArray[np.float32], collections: Sequence[str], k: int) -> list[SearchHit]:
        self.queries.append(text)
        self._before(text)
        return list(self._inner.search(text, vector, collections, k))

    def word_scores(self, text: str, collections: Sequence[str]) -> dict[int, float]:
        return dict(self._inner.word_scores(text, collections))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # what stores and refreshes is as it is


class ReadingWriter:
    """Quotes of each passage the first sentence that is of a side's case."""

    async def write(self, brief: Brief) -> list[Claim]:
        reading = brief.sentence_scores
        assert reading is not None
        first: dict[int, Claim] = {}
        for quote in (reading.quote(int(i)) for i in np.flatnonzero(reading.case)):
            claim = Claim(
                perspective=brief.perspective["id"],
                text=quote["text"],
                shown=quote["shown"],
                passages=[quote["passage"]],
                support=quote["support"],
                role="case",
            )
            first.setdefault(quote["passage"], claim)
        return [*first.values()][: brief.limit]


def with_judge(providers: Providers, settings: Settings, judge: Any) -> Providers:
    cache = VectorCache(settings.cache_dir / "scripted.db")
    return replace(providers, models=Models(InstantEncoder(), judge, cache))


def build(
    judge: ScriptedJudge | None = None, before_search: Callable[[str], object] | None = None, **stages: Any
) -> Build:
    """The instant providers with some of them replaced. What a judge is given for is quoted as it finds it."""

    def made(settings: Settings, store: Store) -> Providers:
        providers = instant_providers(settings, store)
        if judge is not None:
            providers = with_judge(providers, settings, judge)
            if stages.get("quote") is None:
                providers = replace(providers, write=ReadingWriter().write)
        if before_search is not None:
            providers = replace(providers, search=WatchedSearch(providers.search, before_search))  # type: ignore[arg-type]
        return replace(providers, **stages)

    return made


def side(number: int, statement: str = "", stance: Any = "other", contrary: str = "") -> Perspective:
    return Perspective(
        id=f"p{number}",
        name=f"side {number}",
        statement=statement or f"Bridges should be number {number}.",
        stance=stance,
        contrary=contrary,
        origin="question",
    )
