"""Whether two statements about one thing say the same of it."""

import re

from tools.language.word_lists import NEGATORS

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NEGATORS = NEGATORS | {"without", "hardly"}
_HARMLESS = ("only", "just", "merely", "doubt", "matter")
_PREFIX = re.compile(r"(?:un|in|im|ir|il|dis|non)(?=[a-z]{4})")


def same_polarity(first: str, second: str) -> bool:
    """Whether both are affirmed or both denied, by the parity of their negators.

    'Not only' does not count, 'neither … nor' counts once; a word like 'unfair' counts where the other says 'fair'.
    """
    one, other = _words(first), _words(second)
    return (_negators(one) - _negators(other) + _prefixed(one, other) - _prefixed(other, one)) % 2 == 0


def _words(text: str) -> list[str]:
    return [w.replace("’", "'") for w in _WORD.findall(text.casefold())]


def _negators(words: list[str]) -> int:
    followed = zip(words, [*words[1:], ""], strict=True)
    return sum((w in _NEGATORS or w.endswith("n't")) and after not in _HARMLESS for w, after in followed)


def _prefixed(words: list[str], other: list[str]) -> int:
    """Words of the first text that are the second's with a negating prefix."""
    stems = (_PREFIX.sub("", w, count=1) for w in words if w not in other and _PREFIX.match(w))
    return sum(stem in other for stem in stems)
