"""A chat model as the judge of many passages in one call: each is read once, for all sides at a time.

Passages stand under the headings of their documents. Labels and the order of documents and sides are random for each
call, so that a model which favours a place in the list favours nothing. A passage of which the model says nothing is
asked about once more; what has no answer then is not judged. The grades stand for probabilities: what is clear is
surely support, what is weak just is.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import product
from random import SystemRandom
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field

from prompts import as_data, load_prompt, one_line
from tools.budget import NOT_ALL_JUDGED, batches, current_log, run_within
from tools.errors import BudgetError, PromptTooLongError
from tools.models.chat.model import ChatModel
from tools.models.judges.judge import Judge, Pair, PassageVerdicts, Side, verdicts_of
from tools.models.servers import refuse_cut_prompts
from tools.passages import Passage

_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_random = SystemRandom()
T = TypeVar("T")


class Halving:
    """Asks about up to `together` items in a call.

    A call that is longer than the model reads, which its server refuses or cuts, is made again in halves, down to one
    item. No later call is as large.
    """

    def __init__(self, together: int) -> None:
        self.together = together

    def parts(self, items: Sequence[T], characters: int, most: int) -> Iterator[Sequence[T]]:
        """The items of each call, about as many in each; `characters` in all, of which a call has about `most`."""
        calls = max(1, math.ceil(len(items) / self.together), math.ceil(characters / most))
        return batches(items, max(1, math.ceil(len(items) / calls)))

    async def ask(self, ask: Callable[[Sequence[T]], Awaitable[None]], items: Sequence[T]) -> None:
        """Asks about the items together, or about each half of them. Raises PromptTooLongError for a single item."""
        half = (len(items) + 1) // 2
        if len(items) <= self.together:
            try:
                with refuse_cut_prompts(len(items) > 1):  # one that is cut even so is judged by what was read of it
                    await ask(items)
                return
            except PromptTooLongError:
                if len(items) == 1:
                    raise
        for part in batches(items, half):
            await self.ask(ask, part)
        self.together = min(self.together, half)


def labels(kind: str, number: int) -> list[str]:
    """So many different random labels that begin with the kind."""
    return _random.sample([f"{kind}{a}{b}" for a in _LETTERS for b in _LETTERS], number)


def labelled(items: Iterable[T], kind: str) -> dict[str, T]:
    """The items in random order by random labels, so that a model which favours a place in a list favours nothing."""
    order = list(items)
    _random.shuffle(order)
    return dict(zip(labels(kind, len(order)), order, strict=True))


def as_documents(labels_of: Mapping[str, Passage]) -> str:
    """The passages of these labels as data: a line each, by document under one heading, in the document's order; the
    documents in the order of the labels."""
    documents: dict[tuple[str, str], list[str]] = {}
    for label, passage in labels_of.items():
        documents.setdefault(passage.document, []).append(label)
    return "\n".join(_document({label: labels_of[label] for label in mine}) for mine in documents.values())


def _document(passages: Mapping[str, Passage]) -> str:
    ordered = sorted(passages.items(), key=lambda item: item[1].position)
    first = ordered[0][1]
    lines = "\n".join(f"[{label}] {as_line(passage)}" for label, passage in ordered)
    return as_data("document", lines, **heading_of(first))


def heading_of(passage: Passage) -> dict[str, str]:
    """What is known of the passage's document."""
    author = passage.author if passage.author != passage.publisher else ""
    return {"title": passage.title, "publisher": passage.publisher, "date": passage.date, "author": author}


def as_line(passage: Passage) -> str:
    """'section | speaker: text' on one line, without what its document's heading says already."""
    section = f"{passage.section} | " if passage.section not in ("", passage.title) else ""
    speaker = f"{passage.speaker}: " if passage.speaker else ""
    return one_line(section + speaker + passage.text)


TOGETHER = 40
"""Passages of a call at most."""
_CHARACTERS = 24_000  # of the passages of a call at most
_SIDES = 12  # statements of a call at most
_MOST_CONCURRENT = 8  # calls
_ATTEMPTS = 2
_CLEAR, _WEAK = 0.95, 0.65
_NOTHING = 0.05

Floats = NDArray[np.float32]
_Label = Annotated[str, AfterValidator(lambda told: told.strip("[] "))]  # it stands in brackets before a passage


class Verdict(BaseModel):
    """The sides that the model finds a passage to argue for and against, and those of them for which that is weak."""

    passage: _Label = Field(max_length=20)
    supported: list[str] = Field(default=[], max_length=_SIDES, alias="for")
    against: list[str] = Field(default=[], max_length=_SIDES)
    weak: list[str] = Field(default=[], max_length=_SIDES)


class Verdicts(BaseModel):
    """What the model is asked for: verdicts, and the labels of the other passages."""

    verdicts: list[Verdict] = Field(default=[], max_length=4 * TOGETHER)
    no_side: list[_Label] = Field(default=[], max_length=4 * TOGETHER)
    off_question: list[_Label] = Field(default=[], max_length=4 * TOGETHER)


class BatchJudge(Judge):
    """Any chat model; belongs to the event loop that first uses it, as its ChatModel does."""

    reads_documents = True

    def __init__(self, model: ChatModel, threshold: float = 0.5, concurrency: int = _MOST_CONCURRENT) -> None:
        """concurrency: calls at once, of which there are never more than _MOST_CONCURRENT."""
        self.chat = self._model = model
        self.threshold = threshold
        self._concurrency = min(concurrency, _MOST_CONCURRENT)
        self._halving = Halving(TOGETHER)
        self.address = model.address
        digest = load_prompt("judge_batch").digest
        self.name = f"batch-judge-{model.name}-{sha256(f'{digest}{model.address}'.encode()).hexdigest()[:8]}"

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._model.aclose()

    async def read(self, question: str, sides: Sequence[Side], passages: Sequence[Passage]) -> PassageVerdicts:
        """In steps of the grades. Raises ProviderDownError, ProviderReplyError, and BudgetError before any verdict."""
        found = np.full((2 * len(sides) + 1, len(passages)), np.nan, np.float32)
        order = sorted(range(len(passages)), key=lambda i: (passages[i].document, passages[i].position))
        characters = sum(len(as_line(p)) for p in passages)
        ask = partial(self._ask, question, sides, passages, found)
        parts = self._halving.parts(order, characters, _CHARACTERS)
        try:
            await run_within([partial(self._halving.ask, ask, part) for part in parts], self._concurrency)
        except BudgetError as exc:
            if np.isnan(found[-1]).all():
                raise
            current_log().note("unjudged", f"Not every passage was read: {exc}", NOT_ALL_JUDGED)
        return verdicts_of(sides, found[: len(sides)], found[len(sides) : -1], found[-1])

    async def support(self, pairs: Sequence[Pair]) -> Floats:
        """Each text is read as a document of its own, for up to _SIDES statements in a call."""
        question = next((p.question for p in pairs if p.question), "")
        both = [Side(*two, p.form) for p in pairs for two in ((p.statement, p.contrary), (p.contrary, p.statement))]
        found: dict[tuple[str, str], float] = {}
        for sides in batches([side for side in dict.fromkeys(both) if side.statement], _SIDES):
            said = [side.statement for side in sides]
            texts = list(dict.fromkeys(p.text for p in pairs if p.statement in said))
            passages = [Passage(n, str(n), "", text) for n, text in enumerate(texts)]
            read = await self.read(question, sides, passages)
            found |= zip(product(said, texts), map(float, read.support.flat), strict=True)
        return np.array([found[p.statement, p.text] for p in pairs], np.float32)

    async def _ask(
        self, question: str, sides: Sequence[Side], passages: Sequence[Passage], found: Floats, given: Sequence[int]
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
            _take(await self._model.ask(system, user, Verdicts), sides_of, places_of, found)
            missing = [i for i in missing if np.isnan(found[-1, i])]


def _take(said: Verdicts, sides: dict[str, int], passages: dict[str, int], found: Floats) -> None:
    """Adds a reply to what was found: rows of support and of opposition, a side each, then whether a passage is on the
    question. sides, passages: places by label; labels that were not given say nothing."""
    told = [v for v in said.verdicts if v.passage in passages and sides.keys() & {*v.supported, *v.against}]
    on = {*said.no_side, *(v.passage for v in told)}
    for label in on.union(said.off_question).intersection(passages):
        found[:-1, passages[label]] = _NOTHING
        found[-1, passages[label]] = label in on
    for v in told:
        for row, named in ((0, v.supported), (len(sides), v.against)):
            for side in sides.keys() & {*named}:
                place = row + sides[side], passages[v.passage]
                found[place] = max(found[place], _WEAK if side in v.weak else _CLEAR)
