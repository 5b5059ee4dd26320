"""A chat model that judges many passages in each call. It gets each passage once, for all sides.

Passages are grouped under their documents' headings. Labels and the order of documents and sides are random in each
call, to prevent position bias. If the model gives no verdict on a passage, the judge asks once more. If the model gives
no verdict again, the passage stays unjudged. Clear support becomes the probability 0.95, weak support 0.65.
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
from tools.limits import CLEAR_GRADE, CONCURRENT_CALLS, NO_GRADE, PASSAGES_PER_CALL, WEAK_GRADE
from tools.models.chat.model import ChatModel
from tools.models.judges.judge import Judge, JudgedSide, Pair, PassageVerdicts, combine_verdicts
from tools.models.servers import refuse_truncated_prompts
from tools.passages import Passage

_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_random = SystemRandom()
T = TypeVar("T")


class BatchSplitter:
    """Asks about up to `most_items` items a call.

    If the server refuses or truncates a call as too long, its items are sent again in two halves, and so on down to one
    item. Later calls keep the smaller size.
    """

    def __init__(self, most_items: int) -> None:
        self.most_items = most_items

    def parts(self, items: Sequence[T], characters: int, most: int) -> Iterator[Sequence[T]]:
        """The items of each call, in parts of similar size. `characters`: the total of all items. `most`: about the
        largest number of characters in a call."""
        calls = max(1, math.ceil(len(items) / self.most_items), math.ceil(characters / most))
        return batches(items, max(1, math.ceil(len(items) / calls)))

    async def ask(self, ask: Callable[[Sequence[T]], Awaitable[None]], items: Sequence[T]) -> None:
        """Asks about the items together, or about each half. Raises PromptTooLongError for a single item."""
        half = (len(items) + 1) // 2
        if len(items) <= self.most_items:
            try:
                with refuse_truncated_prompts(len(items) > 1):  # a single truncated item is still judged
                    await ask(items)
                return
            except PromptTooLongError:
                if len(items) == 1:
                    raise
        for part in batches(items, half):
            await self.ask(ask, part)
        self.most_items = min(self.most_items, half)


def with_random_labels(items: Iterable[T], kind: str) -> dict[str, T]:
    """The items in random order, by random labels that begin with `kind`. This prevents position bias."""
    order = list(items)
    _random.shuffle(order)
    labels = _random.sample([f"{kind}{a}{b}" for a in _LETTERS for b in _LETTERS], len(order))
    return dict(zip(labels, order, strict=True))


def documents_as_data(labels_of: Mapping[str, Passage]) -> str:
    """The labelled passages as data, with one passage per line and one heading per document. A document's passages keep
    their order. Documents follow the order of the labels."""
    lines: dict[tuple[str, str], list[str]] = {passage.document: [] for passage in labels_of.values()}
    for label, passage in sorted(labels_of.items(), key=lambda item: item[1].position):
        lines[passage.document].append(f"[{label}] {passage_line(passage)}")
    attributes = {passage.document: document_attributes(passage) for passage in labels_of.values()}
    return "\n".join(as_data("document", "\n".join(own), **attributes[document]) for document, own in lines.items())


def document_attributes(passage: Passage) -> dict[str, str]:
    """The metadata of the passage's document."""
    author = passage.author if passage.author != passage.publisher else ""
    return {"title": passage.title, "publisher": passage.publisher, "date": passage.date, "author": author}


def passage_line(passage: Passage) -> str:
    """'section | speaker: text' on one line, without the parts that the document's heading repeats. ' / ' separates the
    rows of a table."""
    section = f"{passage.section} | " if passage.section not in ("", passage.title) else ""
    speaker = f"{passage.speaker}: " if passage.speaker else ""
    text = passage.text.replace("\n", " / ") if passage.form == "table" else passage.text
    return one_line(section + speaker + text)


_CHARACTERS = 24_000  # most characters of the passages in a call
_SIDES = 12  # most statements in a call
_ATTEMPTS = 2

Floats = NDArray[np.float32]
_Label = Annotated[str, AfterValidator(lambda label: label.strip("[] "))]  # the prompt shows labels in brackets


class Verdict(BaseModel):
    """The sides that a passage argues for, the sides that it argues against, and the sides for which this is only
    weak."""

    passage: _Label = Field(max_length=20)
    supported: list[str] = Field(default=[], max_length=_SIDES, alias="for")
    against: list[str] = Field(default=[], max_length=_SIDES)
    weak: list[str] = Field(default=[], max_length=_SIDES)


class Verdicts(BaseModel):
    """The model's reply: verdicts, and the labels of the other passages."""

    verdicts: list[Verdict] = Field(default=[], max_length=4 * PASSAGES_PER_CALL)
    no_side: list[_Label] = Field(default=[], max_length=4 * PASSAGES_PER_CALL)
    off_question: list[_Label] = Field(default=[], max_length=4 * PASSAGES_PER_CALL)


class BatchJudge(Judge):
    """A judge that works with any chat model. Judge and ChatModel belong to the event loop that first uses them."""

    reads_documents = True

    def __init__(self, model: ChatModel, threshold: float = 0.5) -> None:
        """The judge owns `model`."""
        self.chat = self._model = model
        self.threshold = threshold
        self._splitter = BatchSplitter(PASSAGES_PER_CALL)
        self.address = model.address
        digest, first = load_prompt("judge_batch").digest, model.address.partition(",")[0]
        self.name = f"batch-judge-{model.name}-{sha256(f'{digest}{first}'.encode()).hexdigest()[:8]}"

    async def aclose(self) -> None:
        await self._model.aclose()

    async def read(self, question: str, sides: Sequence[JudgedSide], passages: Sequence[Passage]) -> PassageVerdicts:
        """Judges each passage for all sides. The probabilities are CLEAR_GRADE, WEAK_GRADE and NO_GRADE. Raises
        ProviderDownError, ProviderReplyError, and, if there is no verdict yet, BudgetError."""
        found = np.full((2 * len(sides) + 1, len(passages)), np.nan, np.float32)
        order = sorted(range(len(passages)), key=lambda i: (passages[i].document, passages[i].position))
        characters = sum(len(passage_line(p)) for p in passages)
        ask = partial(self._ask, question, sides, passages, found)
        parts = self._splitter.parts(order, characters, _CHARACTERS)
        try:
            await run_within([partial(self._splitter.ask, ask, part) for part in parts], CONCURRENT_CALLS)
        except BudgetError as exc:
            if np.isnan(found[-1]).all():
                raise
            current_log().note("unjudged", f"Not every passage was read: {exc}", NOT_ALL_JUDGED)
        return combine_verdicts(sides, found[: len(sides)], found[len(sides) : -1], found[-1])

    async def support(self, pairs: Sequence[Pair]) -> Floats:
        """Judges each text as one document, for up to _SIDES statements in a call."""
        question = next((p.question for p in pairs if p.question), "")
        both = [
            JudgedSide(*two, p.form) for p in pairs for two in ((p.statement, p.contrary), (p.contrary, p.statement))
        ]
        found: dict[tuple[str, str], float] = {}
        for sides in batches([side for side in dict.fromkeys(both) if side.statement], _SIDES):
            said = [side.statement for side in sides]
            texts = list(dict.fromkeys(p.text for p in pairs if p.statement in said))
            passages = [Passage(n, str(n), "", text) for n, text in enumerate(texts)]
            read = await self.read(question, sides, passages)
            found |= zip(product(said, texts), map(float, read.support.flat), strict=True)
        return np.array([found[p.statement, p.text] for p in pairs], np.float32)

    async def _ask(
        self,
        question: str,
        sides: Sequence[JudgedSide],
        passages: Sequence[Passage],
        found: Floats,
        given: Sequence[int],
    ) -> None:
        missing = list(given)
        for _ in range(_ATTEMPTS):
            if not missing:
                return
            sides_of, places_of = with_random_labels(range(len(sides)), "S"), with_random_labels(missing, "P")
            system, user = load_prompt("judge_batch").render(
                question=as_data("question", question) if question else "",
                sides="\n".join(as_data("side", sides[i].statement, label=label) for label, i in sides_of.items()),
                passages=documents_as_data({label: passages[i] for label, i in places_of.items()}),
            )
            _record(await self._model.ask(system, user, Verdicts), sides_of, places_of, found)
            missing = [i for i in missing if np.isnan(found[-1, i])]


def _record(said: Verdicts, sides: dict[str, int], passages: dict[str, int], found: Floats) -> None:
    """Writes a reply into `found`. Its rows are support and opposition for each side, then one row for 'on the
    question'. sides, passages: indices by label. Unknown labels are ignored."""
    with_sides = [v for v in said.verdicts if v.passage in passages and sides.keys() & {*v.supported, *v.against}]
    on = {*said.no_side, *(v.passage for v in with_sides)}
    for label in on.union(said.off_question).intersection(passages):
        found[:-1, passages[label]] = NO_GRADE
        found[-1, passages[label]] = label in on
    for v in with_sides:
        for row, named in ((0, v.supported), (len(sides), v.against)):
            for side in sides.keys() & {*named}:
                place = row + sides[side], passages[v.passage]
                found[place] = max(found[place], WEAK_GRADE if side in v.weak else CLEAR_GRADE)
