"""A chat model as the judge of many passages in one call: each is read once, for all sides at a time.

Passages stand under the headings of their documents. Labels and the order of documents and sides are random for each
call, so that a model which favours a place in the list favours nothing. A passage of which the model says nothing is
asked about once more; what has no answer then is not judged. The grades stand for probabilities: what is clear is
surely support, what is weak just is.
"""

import math
import time
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from prompts import as_data, load_prompt
from tools.models.batching import batches, run_within
from tools.models.chat.model import ChatModel
from tools.models.judges.judge import Judge, Pair, PassageVerdicts, Side, verdicts_of
from tools.models.judges.together import Halving, as_documents, as_line, labelled
from tools.passages import Passage

TOGETHER = 25
"""Passages of a call at most."""
_CHARACTERS = 24_000  # of the passages of a call at most
_SIDES = 12  # statements of a call at most
_MOST_CONCURRENT = 8  # calls
_ATTEMPTS = 2
_PROBABILITY = {"clear": 0.95, "weak": 0.65}
_NOTHING = 0.05

Floats = NDArray[np.float32]


class Verdict(BaseModel):
    """A side that the model finds a passage to take, or to argue against."""

    passage: str = Field(max_length=20)
    side: str = Field(max_length=20)
    stance: Literal["for", "against"]
    grade: Literal["clear", "weak"]


class Verdicts(BaseModel):
    """What the model is asked for: verdicts, and the labels of the other passages."""

    verdicts: list[Verdict] = Field(default=[], max_length=2 * _SIDES * TOGETHER)
    no_side: list[str] = Field(default=[], max_length=4 * TOGETHER)
    off_question: list[str] = Field(default=[], max_length=4 * TOGETHER)


class _Found:
    """The verdicts so far, as in `PassageVerdicts`; NaN where there is none yet."""

    def __init__(self, sides: int, passages: int) -> None:
        self.support, self.opposition = (np.full((sides, passages), np.nan, np.float32) for _ in range(2))
        self.on_question = np.full(passages, np.nan, np.float32)

    def take(self, said: Verdicts, sides: dict[str, int], passages: dict[str, int]) -> None:
        """Adds a reply; sides, passages: places by label. Labels that were not given say nothing."""
        told = [v for v in said.verdicts if v.passage in passages and v.side in sides]
        off, on = {*said.off_question}, {*said.no_side, *(v.passage for v in told)}
        for label in (off | on).intersection(passages):
            at = passages[label]
            self.support[:, at] = self.opposition[:, at] = _NOTHING
            self.on_question[at] = label in on
        for v in told:
            of = self.support if v.stance == "for" else self.opposition
            place = sides[v.side], passages[v.passage]
            of[place] = max(of[place], _PROBABILITY[v.grade])


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

    async def read(
        self, question: str, sides: Sequence[Side], passages: Sequence[Passage], seconds: float = math.inf
    ) -> PassageVerdicts:
        """In steps of the grades. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        found = _Found(len(sides), len(passages))
        order = sorted(range(len(passages)), key=lambda i: (passages[i].document, passages[i].position))
        calls = [
            partial(self._halving.ask, partial(self._ask, question, sides, passages, found), part)
            for part in _of_bounded_length(order, passages, self._halving.together)
        ]
        await run_within(seconds, calls, self._concurrency)
        return verdicts_of(sides, found.support, found.opposition, found.on_question)

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> Floats:
        """Each text is read as a document of its own, for up to _SIDES statements in a call."""
        end, question = time.monotonic() + seconds, next((p.question for p in pairs if p.question), "")
        both = [Side(*two, p.form) for p in pairs for two in ((p.statement, p.contrary), (p.contrary, p.statement))]
        found: dict[tuple[str, str], float] = {}
        for sides in batches([side for side in dict.fromkeys(both) if side.statement], _SIDES):
            said = [side.statement for side in sides]
            texts = list(dict.fromkeys(p.text for p in pairs if p.statement in said))
            passages = [Passage(n, str(n), "", text) for n, text in enumerate(texts)]
            read = await self.read(question, sides, passages, end - time.monotonic())
            found |= zip(product(said, texts), map(float, read.support.flat), strict=True)
        return np.array([found[p.statement, p.text] for p in pairs], np.float32)

    async def _ask(
        self, question: str, sides: Sequence[Side], passages: Sequence[Passage], found: _Found, given: Sequence[int]
    ) -> None:
        missing = list(given)
        for _ in range(_ATTEMPTS):
            if not missing:
                return
            sides_of, places_of = labelled(range(len(sides)), "S"), labelled(missing, "P")
            system, user = load_prompt("judge_batch").render(
                question=as_data("question", question) if question else "",
                sides="\n".join(as_data("side", sides[i].statement, label=label) for label, i in sides_of.items()),
                passages=as_documents({label: passages[i] for label, i in places_of.items()}),
            )
            found.take(await self._model.ask(system, user, Verdicts), sides_of, places_of)
            missing = [i for i in missing if np.isnan(found.on_question[i])]


def _of_bounded_length(order: Sequence[int], passages: Sequence[Passage], together: int) -> Iterator[list[int]]:
    part: list[int] = []
    length = 0
    for i in order:
        own = len(as_line(passages[i]))
        if part and (len(part) == together or length + own > _CHARACTERS):
            yield part
            part, length = [], 0
        part.append(i)
        length += own
    if part:
        yield part
