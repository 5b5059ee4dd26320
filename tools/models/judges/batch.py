"""A chat model as the judge of many passages in one call: each is read once, for all sides at a time.

A call holds up to TOGETHER passages under labels that are random for each call, in random order, as the sides are, so
that a model which favours a place in the list favours nothing. A passage without a verdict, or with a side that was not
offered, is asked about once more; what has no answer then is not judged. The grades stand for probabilities: what is
clear is surely support, what is weak just is.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from prompts import as_data, load_prompt
from tools.models.batching import batches, run_within
from tools.models.chat.model import ChatModel
from tools.models.judges.judge import Judge, Pair
from tools.models.judges.together import Halving, labelled

TOGETHER = 20
"""Passages of a call at most."""
_CHARACTERS = 24_000  # of the passages of a call at most
_SIDES = 8  # statements of a call at most
_MOST_CONCURRENT = 8  # calls
_ATTEMPTS = 2
_SUPPORT = {"clear": 0.95, "weak": 0.65}
_NOTHING = 0.05
_NONE = "none"

Floats = NDArray[np.float32]


class Verdict(BaseModel):
    """What the model says of a passage."""

    passage: str = Field(max_length=20)
    side: str = Field(max_length=20)
    grade: Literal["clear", "weak"]


class Verdicts(BaseModel):
    """What the model is asked for."""

    verdicts: list[Verdict] = Field(max_length=_SIDES * TOGETHER)


class BatchJudge(Judge):
    """Any chat model; belongs to the event loop that first uses it, as its ChatModel does."""

    reads_documents = True

    def __init__(self, model: ChatModel, threshold: float = 0.5, concurrency: int = _MOST_CONCURRENT) -> None:
        """concurrency: calls at once, of which there are never more than _MOST_CONCURRENT."""
        self.chat = self._model = model
        self.threshold = self.sentence_threshold = threshold
        self._concurrency = min(concurrency, _MOST_CONCURRENT)
        self._halving = Halving(TOGETHER)
        self.address = model.address
        digest = load_prompt("judge_batch").digest
        self.name = f"batch-judge-{model.name}-{sha256(f'{digest}{model.address}'.encode()).hexdigest()[:8]}"

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
            partial(self._halving.ask, partial(self._judge, question, statements, take), texts)
            for statements, texts in _calls(pairs, self._halving.together)
        ]
        await run_within(seconds, calls, self._concurrency)
        return found

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
            sides, texts = labelled(statements, "S"), labelled(missing, "P")
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
