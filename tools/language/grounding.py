"""Grounding: what words alone tell of a claim and the texts that it cites. A chat model that checks the claim is given
it as hints; it decides nothing, unless that model cannot be trusted.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tools.language.lexicon import is_name, lookup
from tools.language.numerals import find_numbers, is_stated, number_values, plain_text
from tools.language.sentences import GAP, clean, split_sentences
from tools.language.words import LIGHT_WORDS, NEGATORS, analyzer

_NEGATORS = NEGATORS | frozenset("nor without hardly barely rarely seldom deny denies denied denying".split())
_INSTEAD = re.compile(r"\b(?:rather than|instead of|as opposed to|(?:and|but) not)\b")
_CLAUSE_END = re.compile(
    r"[,;:!?\n]|\.(?!\d)|\b(?:because|since|but|yet|whereas|while|although|though|so|which|who|unless|if|when|than)\b"
)
_PAUSE = re.compile(r"[,;:]\s+|\s+[\u2013\u2014-]\s+|(?<=[.!?])\s+")
_SPACES = re.compile(r"\s+")
_A_CLAUSE = 3  # content words that two clauses have in common, where one may deny the other
_SAME_CLAUSE = 0.7  # share of the shorter clause's content words from which both speak of the same
_AN_ADDITION = 4  # content words; a shorter part says too little to be looked for
_KNOWN = 0.3  # share of a part's content words that the document has
_REMEMBERED = 4096  # texts
_DOCUMENTS = 128


def word_hints(claim: str, document: str) -> list[str]:
    """What speaks against a claim by its words: facts and parts that the document lacks.

    document: all of its text, with its title, and what else is known of it.
    """
    hints = [f"not found: {fact}" for fact in missing_facts(claim, document)]
    known = frozenset[str]().union(*map(_content, document.splitlines()))  # a whole text is too long to remember
    parts = ((part, _content(part)) for part in _PAUSE.split(claim))
    added = (p for p, words in parts if len(words) >= _AN_ADDITION and len(words & known) < _KNOWN * len(words))
    return hints + [f"hardly a word found: {part}" for part in added]


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)


@lru_cache(maxsize=_REMEMBERED)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a text's words in order, without stop words; the lexical index's own."""
    return tuple(analyzer().analyze(clean(text)))


def content_overlap(claim: str, passage: str) -> float:
    """The share of the claim's content words that the passage has, 0 to 1."""
    asked = _content(claim)
    return len(asked & _content(passage)) / len(asked) if asked else 0.0


def evidence(claim: str, passage: str) -> str:
    """The sentence of the passage that has most content words of the claim, with one more where that has a number or
    two words of the claim which the first lacks; in the passage's order, `GAP` between them if they are apart."""
    sentences, asked = split_sentences(passage), _content(claim)
    if not sentences:
        return ""
    words = [asked & _content(s) for s in sentences]
    best = max(range(len(words)), key=lambda i: len(words[i]))
    added = [w - words[best] for w in words]
    more = max(range(len(added)), key=lambda i: len(added[i]))
    numbers = _content(" ".join(w for w in claim.split() if any(map(str.isdigit, w))))
    more = next((i for i, new in enumerate(added) if new & numbers), more)
    if len(added[more]) < 2 and not added[more] & numbers:
        return sentences[best]
    first, last = sorted((best, more))
    return (" " if last == first + 1 else GAP).join((sentences[first], sentences[last]))


def is_denied(claim: str, passages: str) -> bool:
    """Whether the clauses of the passages that are like one of the claim's are negated where that is not, or the other
    way round. Most often it is a rewording: this is no hint for a model, only a reason to ask it twice."""
    for words, negated in _clauses(claim):
        agree = [
            same == negated
            for other, same in _clauses(passages)
            if (common := len(words & other)) >= _A_CLAUSE and common / min(len(words), len(other)) >= _SAME_CLAUSE
        ]
        if agree and not any(agree):
            return True
    return False


@lru_cache(maxsize=_DOCUMENTS)
def _clauses(text: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """Each clause's content words, and whether a word negates it."""
    text = re.sub(r"n't\b", " not", text.replace("’", "'").lower()).replace("no one", "nobody")
    found = []
    for clause in _CLAUSE_END.split(_INSTEAD.sub(", not", text.replace("not only", ""))):
        words = re.findall(r"[a-z0-9']+", clause)
        kept = _content(" ".join(w for w in words if w not in _NEGATORS))
        if kept:
            found.append((kept, bool(_NEGATORS.intersection(words))))
    return tuple(found)


def _content(text: str) -> frozenset[str]:
    words = (w for w in text.split() if w.lower() not in LIGHT_WORDS)
    return frozenset(stems(" ".join(_SHORT_TITLES.get(w.lower().rstrip("."), w) for w in words)))


# The facts of a claim that can be looked up word for word: numbers, months and names

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DOTTED = re.compile(r"\b(?:[A-Z]\.){2,}|\b(?:[A-Z]\.)+[A-Z]\b")
_ABBREVIATED = (
    "councillor|cllr doctor|dr professor|prof saint|st senator|sen governor|gov general|gen reverend|rev "
    "honourable|hon captain|capt sergeant|sgt lieutenant|lt colonel|col representative|rep president|pres"
)
_SHORT_TITLES = dict(pair.split("|") for pair in _ABBREVIATED.split())
_HONORIFIC = re.compile(rf"\b(Mrs?|Ms|{'|'.join(map(str.title, _SHORT_TITLES.values()))})\.(?= [A-Z])")
_OPENING = re.compile(r"(?:^|[.!?:;][\"')\]]*\s)[-*\"'(\[\s]*$|(?:^|\s)[\"']$")
_LOOK_BACK = 8  # characters before a word that tell whether a sentence opens with it
_LINKS = frozenset("of the and de la le van von der den di du al for in on a an to".split())
_TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir dame lord lady president minister senator judge justice king queen pope "
    "saint chancellor".split()
)
_PEOPLE = re.compile(r"(?:n|an|ian|ean|ese|i|ic|ish|y|e)$")
_IRREGULAR = (
    "spain|spanish poland|polish finland|finnish france|french netherland|dutch|holland denmark|danish wale|welsh"
)
_SAME = [frozenset(names.split("|")) for names in _IRREGULAR.split()]
_CALENDAR = "january february march april may june july august september october november december".split()
_MONTHS = {month[:3]: month for month in _CALENDAR} | {"sept": "september"}
_IN_DIGITS = re.compile(r"\b[12]\d{3}-([01]\d)\b|\b(\d{1,2})[./](\d{1,2})[./][12]\d{3}\b")
_HEADLINE = 0.5  # share of capitalised words above which a text is written like a headline
_SHORT = 3  # letters up to which an acronym must not be mistaken for a word: 'US', 'WHO', 'IT'


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    opens: bool  # first of a sentence or of a quotation

    @property
    def capital(self) -> bool:
        return any(c.isupper() for c in self.text)


class _Facts:
    """The numbers and words of a document, made ready to be looked up."""

    def __init__(self, text: str) -> None:
        text = plain_text(text)
        self.numbers = number_values([text])
        tokens = _tokens(text)
        own = [t.text for t in tokens if t.text.lower() not in _LINKS]
        numbers = {int(number) for found in _IN_DIGITS.findall(text) for number in found if number}
        self._words = {_fold(word) for word in own} | {_CALENDAR[n - 1] for n in numbers if 1 <= n <= 12}
        self._initials = ["".join(text[0].upper() for text in texts) for texts in (own, [t.text for t in tokens])]
        self._capitals = ["".join(text[0] if text[0].isupper() else "." for text in own)]
        self._peoples = {stem for t in tokens if t.text[0].isupper() for stem in _stems(_fold(t.text))}

    def lacks(self, name: Sequence[str]) -> list[str]:
        """The words of a name that the document lacks; none where it has the name's acronym."""
        if len(name) > 1 and "".join(word[0] for word in name).upper() in self._words:
            return []
        return [word for word in name if not self._has(_fold(word))]

    def _has(self, word: str) -> bool:
        return word in self._words or self._abbreviates(word) or bool(_stems(word) & self._peoples)

    def _abbreviates(self, name: str) -> bool:
        """Whether words of the document begin with an acronym's letters, in capitals where it is as short as 'EU'."""
        if not 2 <= len(name) <= 6 or not name.isupper():
            return False
        return any(name in line for line in (self._capitals if len(name) == 2 else self._capitals + self._initials))


_facts = lru_cache(maxsize=64)(_Facts)


def missing_facts(claim: str, document: str) -> list[str]:
    """Every number, and every word of a name or month of the claim, that is not in the document, as the claim has it.

    A fact may be written otherwise ('two thirds' and '66 %', '3 May' and '2019-05-03'); it is not worked out ('a
    majority' is not looked for under '60 %').
    """
    claim, known = plain_text(claim), _facts(document)
    missing = [n.text for n in find_numbers(claim) if not n.vague and not is_stated(n, known.numbers)]
    return list(dict.fromkeys([*missing, *(" ".join(words) for name in _names(claim) if (words := known.lacks(name)))]))


def _names(text: str) -> Iterator[list[str]]:
    """The words of each name, without titles: capitalised words in a row, with 'of' or 'the' between."""
    tokens = _tokens(text)
    headline = sum(t.capital for t in tokens) > _HEADLINE * len(tokens)
    name: list[str] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):  # there may be none
        word = token.text.lower()
        if token.opens or word not in _LINKS:
            if name and (token.opens or not token.capital):
                yield name
                name = []
            if _named(token, after, headline) and word not in _TITLES:
                name.append(token.text)
    yield name


def _named(token: _Token, after: _Token | None, headline: bool) -> bool:
    """Whether a word is part of a name, and not capitalised for where it stands."""
    if not token.capital or len(token.text) == 1 or token.text.lower() in _LINKS or re.match("I'|OK$", token.text):
        return False
    if not token.opens or headline:
        return not headline or is_name(token.text)
    before_a_name = (
        after is not None
        and after.text[0].isupper()
        and not after.opens
        and after.start == token.start + len(token.text) + 1
    )
    return is_name(token.text) or (before_a_name and lookup(token.text).startswith("NNP"))


def _stems(name: str) -> set[str]:
    """A name and what is left of it without the endings of countries and their people: 'ital' of Italy and Italian."""
    irregular = {other for names in _SAME if name in names for other in names}
    return irregular | {
        s for s in (name, *(name[:-n] for n in (1, 2, 3) if _PEOPLE.fullmatch(name[-n:]))) if len(s) > _SHORT
    }


def _tokens(text: str) -> list[_Token]:
    text = _DOTTED.sub(lambda m: m.group().replace(".", ""), _HONORIFIC.sub(r"\1", text))
    before = ((m, max(0, m.start() - _LOOK_BACK)) for m in _WORD.finditer(text))
    opens = ((m, _OPENING.search("x" * (start > 0) + text[start : m.start()])) for m, start in before)
    return [_Token(m.group(), m.start(), opening is not None) for m, opening in opens]


def _fold(word: str) -> str:
    """A word without accents, possessive and plural, in lower case unless it is a short acronym; a month in full, a
    title in short."""
    word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word = re.sub(r"'s?$", "", word)
    if len(word) <= _SHORT and word.isupper():
        return word
    word = word.casefold()
    word = _MONTHS.get(word, word[:-1] if len(word) > _SHORT and re.search(r"[^su]s$", word) else word)
    return _SHORT_TITLES.get(word, word)
