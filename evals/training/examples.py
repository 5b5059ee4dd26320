"""A pair of statement and text to train a judge on, with its target."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tools.models.judges.judge import in_place

SENTENCE_WORDS = 45
HARD_TARGETS: dict[str, tuple[float, float, float]] = {
    "support": (1, 0, 0),
    "oppose": (0, 1, 0),
    "none": (0, 0, 1),
    "unrelated": (0, 0, 1),
}


@dataclass(frozen=True, slots=True)
class Example:
    """A pair with its target: probabilities of support, oppose and none."""

    statement: str
    text: str
    target: tuple[float, float, float]
    dataset: str
    group: str
    contrary: str = ""
    """The statement of the other side, where the data give one."""
    question: str = ""
    """The question to which the statement is a yes, where the data give one."""
    wordings: tuple[tuple[str, bool], ...] = ()
    """Ways to ask for the statement, each with whether its yes stands for it."""
    placed: str = ""
    """The text among its neighbours (`in_place`), where they are known."""

    @property
    def label(self) -> int:
        """The number of the likeliest label: SUPPORT, OPPOSE or NONE."""
        return self.target.index(max(self.target))

    @property
    def is_sentence(self) -> bool:
        return len(self.text.split()) <= SENTENCE_WORDS


def placed_sentences(title: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each sentence of a text, alone and in its place."""
    for before, text, after in zip(("", *texts), texts, (*texts[1:], ""), strict=False):
        yield text, in_place(title, before, text, after)


def hard(examples: Iterable[Example]) -> list[Example]:
    """Those whose target is certain enough to measure with."""
    return [e for e in examples if max(e.target) >= 0.9]
