"""Pairs of a passage and a perspective with a label, from the published tsv, our jsonl, or rows of training sets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from evals.datasets.rows import Row, Shape, Text, json_rows, tsv_rows
from tools.errors import InputError
from tools.language.polarity import same_polarity
from tools.language.question import ANSWERS

_COLUMNS = ["question", "id", "document", "perspective", "label"]  # of the published file, by position
_LABELS = {
    **dict.fromkeys(("1", "support", "supports"), True),
    **dict.fromkeys(("0", "oppose", "opposes", "none", "unrelated", "partial"), False),
}


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Does the document support the perspective? `label` is what people said, `line` its place in the file."""

    line: int
    question: str
    document: str
    perspective: str
    label: bool

    @property
    def side(self) -> tuple[str, str]:
        return self.question, self.perspective


def load_pairs(path: Path) -> list[LabelledPair]:
    """The pairs of a file in its order: `.tsv` by position, `.jsonl` by name, either with `.gz`.

    A row of a training set has `passage`, `statement`, `group` and a word as its label; 'partial' support is none.
    Raises InputError with file, line and field for what is missing or no label, and for a file without pairs.
    """
    name = path.name.removesuffix(".gz")
    if name.endswith(".tsv"):
        pairs = list(_published(path))
    elif name.endswith(".jsonl"):
        pairs = [_pair(row) for row in json_rows(path)]
    else:
        raise InputError(f"{path} is no file of pairs: a .tsv or a .jsonl is needed.")
    if not pairs:
        raise InputError(f"{path} holds no pairs.")
    return pairs


def contraries(pairs: Iterable[LabelledPair]) -> dict[tuple[str, str], str]:
    """(question, perspective) to the other perspective, for questions that have exactly two in these pairs."""
    found: dict[str, dict[str, None]] = {}
    for pair in pairs:
        found.setdefault(pair.question, {})[pair.perspective] = None
    two = {question: list(texts) for question, texts in found.items() if len(texts) == 2}
    return {(question, texts[i]): texts[1 - i] for question, texts in two.items() for i in (0, 1)}


def answering(pairs: Iterable[LabelledPair]) -> list[LabelledPair]:
    """The pairs with the word that answers the question in place of the perspective ('Yes: …?', 'No: …?'), of questions
    with two perspectives of which one denies what the other says."""
    given = list(pairs)
    other = contraries(given)
    found = []
    for pair in given:
        contrary = other.get(pair.side, "")
        if contrary and not same_polarity(pair.perspective, contrary):
            word = ANSWERS["polar"][0 if same_polarity(pair.perspective, pair.question) else 1]
            found.append(replace(pair, perspective=f"{word}: {pair.question}"))
    return found


class _Ours(Shape):
    question: Text
    document: Text
    perspective: Text
    label: str


class _Trained(Shape):
    group: str = ""
    passage: Text
    statement: Text
    label: str


def _published(path: Path) -> Iterator[LabelledPair]:
    for index, row in enumerate(tsv_rows(path, _COLUMNS)):
        if index or row.values["question"] != "question":
            yield _pair(row)


def _pair(row: Row) -> LabelledPair:
    if "passage" in row.values:
        of = row.read(_Trained)
        # some rows stand for themselves and name no group
        question, document, perspective, word = of.group or of.passage[:80], of.passage, of.statement, of.label
    else:
        own = row.read(_Ours)
        question, document, perspective, word = own.question, own.document, own.perspective, own.label
    if (label := _LABELS.get(word.strip().casefold())) is None:
        raise row.wrong(f"'label' is {word!r}; 1 or 0, or support, oppose, none or partial are needed.")
    return LabelledPair(row.number, question, document, perspective, label)
