"""Compares the text that a parser extracts from a file with the expected text.

words_in_order   expected words found in the same order (longest common subsequence) / expected words
sentences_whole  expected sentences that a passage or heading contains whole / expected sentences
extra            extracted words outside that order / extracted words
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evals.metrics.measure import Ratio
from tools.documents.passage_cutting import cut_document
from tools.language.sentences import split_sentences, without_list_mark
from tools.passages import SourceDocument

_NOTE = "NOTE: "
_WORD = re.compile(r"\w+")
_QUOTES = str.maketrans("‘’“”–—\u00a0", "''\"\"-- ")
_ENDS = re.compile(r"[.!?…][\"')\]]*$")


@dataclass(frozen=True, slots=True)
class FileRead:
    """Counts of one file: expected words, expected words found in order, extracted words, expected sentences, sentences
    found whole."""

    name: str
    words: int
    in_order: int
    found: int
    sentences: int
    whole: int
    missing: tuple[str, ...]
    problem: str = ""


def measures(read: Sequence[FileRead]) -> dict[str, Ratio]:
    return {
        "words_in_order": Ratio.of((r.name, r.in_order, r.words) for r in read),
        "sentences_whole": Ratio.of((r.name, r.whole, r.sentences) for r in read),
        "extra": Ratio.of((r.name, r.found - r.in_order, r.found) for r in read),
    }


def compare(name: str, expected: str, documents: Sequence[SourceDocument], problem: str = "") -> FileRead:
    """Compares a file's text with the expected one. An unreadable file has no words."""
    lines = [line.removeprefix(_NOTE) for line in expected.splitlines()]
    words = [w for line in expected.splitlines() if not line.startswith(_NOTE) for w in words_of(line)]
    has_notes = any(line.startswith(_NOTE) for line in expected.splitlines())
    found = [w for d in documents for part in _texts(d, has_notes) for w in words_of(part)]
    sentences = [folded(s) for line in lines if " | " not in line for s in _sentences(line) if is_sentence(s)]
    headings = [text for d in documents for text in (d.title, *(b.text for b in d.blocks if b.form == "heading"))]
    passages = [p.text for d in documents for p in cut_document(d)]
    stand = {folded(s) for text in (*headings, *passages) for s in _sentences(text)}
    missing = tuple(s for s in sentences if s not in stand)
    return FileRead(
        name=name,
        words=len(words),
        in_order=in_order(words, found),
        found=len(found),
        sentences=len(sentences),
        whole=len(sentences) - len(missing),
        missing=missing,
        problem=problem,
    )


def _sentences(text: str) -> list[str]:
    """Returns the sentences without leading bullets and numbers, which parsers may omit."""
    return [without_list_mark(s) for s in split_sentences(text)]


def _texts(document: SourceDocument, has_notes: bool) -> list[str]:
    """Returns the texts in document order. `has_notes`: leave out the notes, whose position varies."""
    if not document.blocks:
        return [document.text]
    return [b.text for b in document.blocks if not (has_notes and b.form == "note")]


def words_of(text: str) -> list[str]:
    """Returns lower-case words in order, without punctuation."""
    return _WORD.findall(text.casefold())


def in_order(expected: Sequence[str], found: Sequence[str]) -> int:
    """Returns the length of a longest common subsequence of two lists of words (bit-parallel, Hyyrö 2004)."""
    places: dict[str, int] = {}
    for i, word in enumerate(expected):
        places[word] = places.get(word, 0) | 1 << i
    every = (1 << len(expected)) - 1
    row = every
    for word in found:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & every
    return len(expected) - row.bit_count()


def folded(sentence: str) -> str:
    """Returns a sentence with one kind of quotation marks, one kind of dashes, and single spaces."""
    return " ".join(sentence.translate(_QUOTES).split())


def is_sentence(line: str) -> bool:
    """Returns whether a line ends like a sentence. Headings, short items and table rows do not."""
    return len(line.split()) > 2 and " | " not in line and bool(_ENDS.search(line.translate(_QUOTES)))
