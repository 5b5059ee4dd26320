"""A pair of statement and text to train a judge on, with its target."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evals.training.text import Row, claim
from tools.models.judges.judge import in_context, judged_text

SENTENCE_WORDS = 45
Target = tuple[float, float, float]
"""Probabilities of support, oppose and none."""
HARD_TARGETS: dict[str, Target] = {"support": (1, 0, 0), "oppose": (0, 1, 0), "none": (0, 0, 1), "unrelated": (0, 0, 1)}


@dataclass(frozen=True, slots=True)
class Example:
    """A pair with its target."""

    statement: str
    text: str
    target: Target
    dataset: str
    group: str
    contrary: str = ""
    """The statement of the other side, where the data give one."""
    question: str = ""
    """The question to which the statement is a yes, where the data give one."""
    wordings: tuple[tuple[str, bool], ...] = ()
    """Ways to ask for the statement, each with whether its yes stands for it."""
    placed: str = ""
    """The text among its neighbours (`in_context`), where they are known."""

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
        yield text, in_context(title, before, text, after)


def sentences_in_place(row: Row) -> Iterator[Example]:
    """The sentences of a document, under the statement that a yes to its question stands for."""
    question = judged_text(row["question"])
    wordings = ((question, True), *((t, True) for t in row["same"]), *((t, False) for t in row["turned"]))
    parts = placed_sentences(row["title"], [judged_text(s["text"]) for s in row["sentences"]])
    for sentence, (text, placed) in zip(row["sentences"], parts, strict=True):
        target = HARD_TARGETS[{"yes": "support", "no": "oppose"}.get(sentence["label"], "none")]
        yield Example(claim(question), text, target, "disputes", row["dispute"], "", question, wordings, placed)


def hard(examples: Iterable[Example]) -> list[Example]:
    """Those whose target is certain enough to measure with."""
    return [e for e in examples if max(e.target) >= 0.9]
