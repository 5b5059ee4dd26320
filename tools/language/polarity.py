"""Whether two statements about one thing say the same of it, and whether words show a side at all."""

import re
from collections.abc import Sequence
from typing import Literal

from tools.language.words import KEYWORD_STOP_WORDS, NEGATORS

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NEGATORS = NEGATORS | {"without", "hardly"}
_HARMLESS = ("only", "just", "merely", "doubt", "matter")
_ENDS = re.compile(r"[,;:–—]| (?:because|since|so that|unless|although|though|while|whereas|if) ", re.I)
_DOUBTS = re.compile(r"\b(?:whether|if|says?|said|argues?|claims?|believes?|thinks?|who|should we)\b|\?", re.I)
_RHETORICAL = re.compile(r"^(is|are|was|were|do|does|did|has|have|should|would|could)n['’]?t\b", re.I)
"""'Isn't it fair?' asks whether it is."""
_STEM = 5  # letters by which forms of a word are one
_BEYOND, _BEYOND_COMPARED = 5, 15  # words that a clause may have beyond those of the question, of a comparison more
_PREFIX = re.compile(r"(?:un|in|im|ir|il|dis|non)(?=[a-z]{4})")


_REPLY = re.compile(r"[\"'“‘]*(?:(?:yes|no)\b(?=[,.!;:–—])(?!\. ?\d)|[^.?!,]{0,40}, (?:yes|no)(?=[.!]))", re.I)
_UNDECIDED = re.compile(
    r"(?:n['’]t|\b(?:not|nobody|no one|cannot|never)) (?:\w+ ){0,2}(?:knows?|known|say|tell|predict|sure|clear)\b"
    r"[^.;]{0,30}\b(?:whether|if)\b"
    r"|\b(?:unclear|unknown|uncertain|undecided|open question)\b[^.;]{0,30}\b(?:whether|if)\b"
    r"|\b(?:takes?|took|has|have|holds?) no (?:view|position|side|stance|opinion)\b"
    r"|\bremains to be seen\b|\btoo (?:early|soon) to (?:say|tell|know|judge)\b",
    re.I,
)
_CONCEDES = re.compile(
    r"[\"'“‘]*(?:I (?:know|grant|admit|concede|accept|understand|can see|do(?: not|n['’]t) (?:deny|doubt))|"
    r"granted(?=,| that\b)|admittedly|to be sure)\b(?!.*\b(?:but|yet|however|still|only|should|must)\b)",
    re.I | re.S,
)


def takes_no_side(text: str) -> bool:
    """Whether the words alone cannot show a side: they reply to somebody's question, which a reader does not see ('Of
    private ones, yes.'), concede a point and say nothing against it ('I know that they are kind.'), or say that nobody
    knows, or that somebody takes no position."""
    return bool(_REPLY.match(text) or _CONCEDES.match(text) or _UNDECIDED.search(text))


def same_polarity(first: str, second: str) -> bool:
    """Whether both are affirmed or both denied, by the parity of their negators.

    'Not only' does not count, 'neither … nor' counts once; a word like 'unfair' counts where the other says 'fair'.
    """
    one, other = _words(first), _words(second)
    return (_negators(one) - _negators(other) + _prefixed(one, other) - _prefixed(other, one)) % 2 == 0


def _words(text: str) -> list[str]:
    return [w.replace("’", "'") for w in _WORD.findall(text.casefold())]


def _negators(words: list[str]) -> int:
    followed = zip(words, [*words[1:], ""], strict=False)
    return sum((w in _NEGATORS or w.endswith("n't")) and after not in _HARMLESS for w, after in followed)


def _prefixed(words: list[str], other: list[str]) -> int:
    """Words of the first text that are the second's with a negating prefix."""
    stems = (_PREFIX.sub("", w, count=1) for w in words if w not in other and _PREFIX.match(w))
    return sum(stem in other for stem in stems)


def plain_answer(text: str, question: str) -> Literal["yes", "no", ""]:
    """What a text answers where its main clause is the question in other order: 'Zoos should not be closed.' is no to
    'Should zoos be closed?'. Empty for any other text."""
    question = _RHETORICAL.sub(r"\1", question)
    clause = _ENDS.split(text.strip(), maxsplit=1)[0]
    asked, said = _words(question), _words(clause)
    content = {w[:_STEM] for w in asked if w not in KEYWORD_STOP_WORDS and w not in _NEGATORS}
    most = len(asked) + (_BEYOND_COMPARED if "than" in asked else _BEYOND)
    own_words = content <= {w[:_STEM] for w in said} and len(said) <= most
    if len(content) < 2 or not own_words or _DOUBTS.search(clause):
        return ""
    return "yes" if same_polarity(clause, question) != _turned(said, asked) else "no"


def _turned(said: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether the two that a comparison compares have changed their places: 'tea is better than coffee'."""
    if "than" not in said or "than" not in asked:
        return False
    (first, second), (one, other) = (
        ({*words[: words.index("than")]}, {*words[words.index("than") + 1 :]}) for words in (asked, said)
    )
    first, second = first - second, second - first
    return bool(second & one and first & other)
