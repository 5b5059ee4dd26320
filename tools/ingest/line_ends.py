"""Words as they were before they were set: without ligatures and without the hyphens that only a line's end brought."""

import re
from collections import Counter
from collections.abc import Iterable

from tools.language.lexicon import is_word

_LIGATURES = dict(zip(range(0xFB00, 0xFB07), "ff fi fl ffi ffl st st".split(), strict=True))
_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]{1,100})[-‐\u00ad]$")  # bounded: a line of letters would take the square of its length
_NEXT = re.compile(r"[^\W\d_]+")
_TAIL = 102  # characters of a text that the end of its last line is looked for in
_LONG_ENOUGH = 3  # letters of either part of a compound


def unligated(text: str) -> str:
    """The text with its ligatures as letters ('ﬁ' as 'fi')."""
    return text.translate(_LIGATURES)


class Vocabulary:
    """The words of a document, to tell the hyphen of 'well-known' from that of 'adip-iscing'."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for line in lines:
            # What a line ends with may be the half of a word.
            self._words.update(word.lower() for word in _WORD.findall(_BROKEN.sub("", line)))

    def join(self, lines: Iterable[str]) -> str:
        """The lines as one. A word that a line's end divides is put together, unless the hyphen is its own."""
        text = ""
        for line in lines:
            broken, rest = _BROKEN.search(text[-_TAIL:]), _NEXT.match(line)
            if text.endswith("\u00ad") or (broken and rest and not self._keeps(broken[1], rest[0])):
                text = text[:-1] + line
            elif text.endswith(("-", "‐", "/")) and rest and (broken or text.endswith("/")):
                text += line
            else:
                text += f" {line}" if text else line
        return text

    def _keeps(self, first: str, second: str) -> bool:
        """Whether 'first-second' is written with its hyphen.

        As the document writes it elsewhere, or as the lexicon does ('well-known'). A capital after the hyphen keeps it,
        and so do two parts that are words where what they make together is none that is known.
        """
        whole, compound = (first + second).lower(), f"{first}-{second}".lower()
        if self._words[whole] != self._words[compound]:
            return self._words[compound] > self._words[whole]
        if not second[0].islower() or (first.isupper() and len(first) > 1) or is_word(compound):
            return True
        if is_word(whole) or min(len(first), len(second)) < _LONG_ENOUGH:
            return False
        return all(self._words[part.lower()] or is_word(part.lower()) for part in (first, second))
