"""A chat model as the judge of many passages in one call: each is read once, for all sides at a time.

A call holds up to TOGETHER passages under labels that are random for each call, in random order, as the sides are, so
that a model which favours a place in the list favours nothing. A passage without a verdict, or with a side that was not
offered, is asked about once more; what has no answer then is not judged. The grades stand for probabilities: what is
clear is surely support, what is weak just is. Claims are checked the same way, a call a side (`check`).

A call that is longer than the model reads, which its server refuses or cuts, is made again in halves, down to one
passage; no later call is as large.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from random import SystemRandom
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from prompts import as_data, load_prompt
from tools.errors import PromptTooLongError
from tools.models.batching import batches, run_within
from tools.models.chat.model import ChatModel
from tools.models.chat.servers import refuse_cut_prompts
from tools.models.judges.judge import ClaimCheck, Judge, Pair

TOGETHER = 20
"""Passages of a call at most."""
_CHARACTERS = 24_000  # of the passages of a call at most
_SIDES = 8  # statements of a call at most
_MOST_CONCURRENT = 8  # calls
_ATTEMPTS = 2
_SUPPORT = {"clear": 0.95, "weak": 0.65}
_NOTHING = 0.05
_PROBABILITY = {"yes": 0.95, "partly": 0.3, "no": 0.05}
_NONE = "none"
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_random = SystemRandom()

Floats = NDArray[np.float32]
T = TypeVar("T")


class Verdict(BaseModel):
    """What the model says of a passage."""

    passage: str = Field(max_length=20)
    side: str = Field(max_length=20)
    grade: Literal["clear", "weak"]


class Verdicts(BaseModel):
    """What the model is asked for."""

    verdicts: list[Verdict] = Field(max_length=_SIDES * TOGETHER)


class Checked(BaseModel):
    """What the model says of a claim."""

    claim: str = Field(max_length=20)
    said: Literal["yes", "partly", "no"]
    serves: Literal["yes", "no"]


class CheckedClaims(BaseModel):
    """What the model is asked for."""

    claims: list[Checked] = Field(max_length=4 * TOGETHER)


class BatchJudge(Judge):
    """Any chat model; belongs to the event loop that first uses it, as its ChatModel does."""

    checks_claims = True

    def __init__(self, model: ChatModel, threshold: float = 0.5, concurrency: int = _MOST_CONCURRENT) -> None:
        """concurrency: calls at once, of which there are never more than _MOST_CONCURRENT."""
        self.chat = self._model = model
        self.threshold = self.sentence_threshold = threshold
        self._concurrency = min(concurrency, _MOST_CONCURRENT)
        self._together = TOGETHER
        self.address = model.address
        prompts = "".join(load_prompt(name).digest for name in ("judge_batch", "check"))
        self.name = f"batch-judge-{model.name}-{sha256(f'{prompts}{model.address}'.encode()).hexdigest()[:8]}"

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._model.aclose()

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> Floats:
        """Probabilities, shape (n,), in steps of the grades; NaN for a text that was not answered within the seconds,
        or not with a verdict. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        found = np.full(len(pairs), np.nan, np.float32)
        places: dict[tuple[str, str], list[int]] = {}
        for at, pair in enumerate(pairs):
            places.setdefault((pair.statement, pair.text), []).append(at)

        def take(statement: str, text: str, support: float) -> None:
            found[places.get((statement, text), [])] = support

        question = next((p.question for p in pairs if p.question), "")
        calls = [
            partial(self._in_halves, partial(self._judge, question, statements, take), texts)
            for statements, texts in _calls(pairs, self._together)
        ]
        await run_within(seconds, calls, self._concurrency)
        return found

    async def check(self, side: str, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> Floats:
        """For each claim how surely the passages say it, and how surely it serves the side, shape (n, 2); NaN for one
        without an answer. Raises as `support`."""
        found = np.full((len(claims), 2), np.nan, np.float32)
        ask = partial(self._check, side, claims, found)
        calls = [partial(self._in_halves, ask, part) for part in batches(range(len(claims)), self._together)]
        await run_within(seconds, calls, self._concurrency)
        return found

    async def _in_halves(self, ask: Callable[[Sequence[T]], Awaitable[None]], items: Sequence[T]) -> None:
        """Asks about the items together or, where that is longer than the model reads, about each half of them."""
        half = (len(items) + 1) // 2
        if len(items) <= self._together:
            try:
                with refuse_cut_prompts(len(items) > 1):  # one that is cut even so is judged by what was read of it
                    await ask(items)
                return
            except PromptTooLongError:
                if len(items) == 1:
                    raise
        for part in batches(items, half):
            await self._in_halves(ask, part)
        self._together = min(self._together, half)

    async def _judge(
        self,
        question: str,
        statements: Sequence[str],
        take: Callable[[str, str, float], None],
        given: Sequence[str],
    ) -> None:
        missing = list(given)
        for _ in range(_ATTEMPTS):
            if not missing:
                return
            sides, texts = _labelled(statements, "S"), _labelled(missing, "P")
            system, user = load_prompt("judge_batch").render(
                question=as_data("question", question) if question else "",
                sides="\n".join(as_data("side", text, label=label) for label, text in sides.items()),
                passages="\n".join(as_data("passage", text, label=label) for label, text in texts.items()),
            )
            verdicts = (await self._model.ask(system, user, Verdicts)).verdicts
            known = [v for v in verdicts if v.passage in texts and (v.side in sides or v.side.lower() == _NONE)]
            for label in {v.passage for v in known}:
                said = {v.side: v.grade for v in known if v.passage == label}
                for side, statement in sides.items():
                    take(statement, texts[label], _SUPPORT[said[side]] if side in said else _NOTHING)
            answered = {texts[v.passage] for v in known}
            missing = [text for text in missing if text not in answered]

    async def _check(self, side: str, claims: Sequence[ClaimCheck], found: Floats, places: Iterable[int]) -> None:
        missing = list(places)
        for _ in range(_ATTEMPTS):
            if not missing:
                return
            passages = _labelled(dict.fromkeys(text for i in missing for text in claims[i].passages), "P")
            label_of = {text: label for label, text in passages.items()}
            asked = _labelled(missing, "C")
            system, user = load_prompt("check").render(
                side=f"The side that they are to serve: {as_data('side', side)}" if side else "",
                passages="\n".join(as_data("passage", text, label=label) for label, text in passages.items()),
                claims="\n".join(
                    as_data(
                        "claim", claims[i].text, label=label, cites=" ".join(label_of[t] for t in claims[i].passages)
                    )
                    for label, i in asked.items()
                ),
            )
            for one in (await self._model.ask(system, user, CheckedClaims)).claims:
                if one.claim in asked:
                    found[asked[one.claim]] = _PROBABILITY[one.said], _PROBABILITY[one.serves]
            missing = [i for i in missing if np.isnan(found[i]).any()]


def _calls(pairs: Sequence[Pair], together: int) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Statements and different texts of the calls in which every pair's text is read beside its statement and the other
    sides'."""
    statements = list(dict.fromkeys(s for p in pairs for s in (p.statement, p.contrary) if s))
    for sides in batches(statements, _SIDES):
        texts = dict.fromkeys(p.text for p in pairs if p.statement in sides)
        yield from ((sides, part) for part in _of_bounded_length(list(texts), together))


def _of_bounded_length(texts: Sequence[str], together: int) -> Iterator[list[str]]:
    part: list[str] = []
    for text in texts:
        if part and (len(part) == together or sum(map(len, part)) + len(text) > _CHARACTERS):
            yield part
            part = []
        part.append(text)
    if part:
        yield part


def _labelled(items: Iterable[T], kind: str) -> dict[str, T]:
    """The items in random order by labels that nobody could know before."""
    order = list(items)
    _random.shuffle(order)
    return dict(
        zip(_random.sample([f"{kind}{a}{b}" for a in _LETTERS for b in _LETTERS], len(order)), order, strict=True)
    )
