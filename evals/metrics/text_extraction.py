"""How much of a document's text a reader gets out, and in which order."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_QUOTES = str.maketrans("‘’“”–—\u00a0", "''\"\"-- ")
_ENDS = re.compile(r"[.!?…][\"')\]]*$")


def words_of(text: str) -> list[str]:
    """The words of a text in order, in lower case, without punctuation."""
    return _WORD.findall(text.casefold())


def in_order(expected: Sequence[str], found: Sequence[str]) -> int:
    """The length of a longest common subsequence of two lists of words.

    By rows of bits, one for each expected word (Hyyrö 2004, 'Bit-parallel LCS-length computation revisited').
    """
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
    """A sentence as it is compared: one kind of quotation marks and dashes, single spaces."""
    return " ".join(sentence.translate(_QUOTES).split())


def is_sentence(line: str) -> bool:
    """Whether it ends as sentences do; headings, items of a word or two and rows of tables are none."""
    return len(line.split()) > 2 and " | " not in line and bool(_ENDS.search(line.translate(_QUOTES)))
