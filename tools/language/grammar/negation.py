"""The natural negation of a sentence, and whether two sentences about one thing say the same of it."""

import re

from tools.language.grammar.clause import from_statement
from tools.language.grammar.lexicon import lookup, words_of
from tools.language.grammar.tidying import tidy
from tools.language.word_lists import NEGATORS

_NEGATORS = NEGATORS | {"without", "hardly"}
_PREFIX = re.compile(r"(?:un|in|im|ir|il|dis|non-?)(?=[a-z]{4})")


def negate(statement: str) -> str:
    """The negation of a full sentence, ending in a full stop; a negated sentence loses its negation instead.

    A text without a finite verb becomes 'It is not true that …'. Raises ModelError when the lexicon is not installed.
    """
    text = tidy(statement).rstrip(" .!?")
    clause = from_statement(words_of(text))
    if clause is None:
        return f"It is not true that {text[:1].lower()}{text[1:]}."
    return clause.statement() if clause.denied else clause.denial()


def same_polarity(first: str, second: str) -> bool:
    """Whether two statements about the same thing are both affirmed or both denied, by the parity of their negators.

    'Not only' does not count, 'neither … nor' counts once; a word like 'unfair' counts where the other says 'fair'.
    """
    one, other = _words(first), _words(second)
    difference = _negators(one) - _negators(other) + _prefixed(one, other) - _prefixed(other, one)
    return difference % 2 == 0


def _words(text: str) -> list[str]:
    return [word.core.casefold() for word in words_of(tidy(text)) if word.core]


def _negators(words: list[str]) -> int:
    followed = zip(words, [*words[1:], ""], strict=False)
    return sum(
        word in _NEGATORS and after not in ("only", "just", "merely", "doubt", "matter") for word, after in followed
    )


def _prefixed(words: list[str], other: list[str]) -> int:
    """Words of the first text that are the second's with a negating prefix."""
    theirs = set(other)
    stems = (_PREFIX.sub("", word, count=1) for word in words if word not in theirs and _PREFIX.match(word))
    return sum(stem in theirs and bool(lookup(stem)) for stem in stems)
