"""The facts of a claim that can be looked up word for word: numbers, dates and names."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tools.language.lexicon import is_name, lookup
from tools.language.numerals import Key, find_numbers, is_stated, number_values, plain_text

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DOTTED = re.compile(r"\b(?:[A-Z]\.){2,}|\b(?:[A-Z]\.)+[A-Z]\b")
_HONORIFIC = re.compile(r"\b(Mrs?|Ms|Dr|Prof|St|Sen|Gov|Gen|Rev|Hon)\.(?= [A-Z])")
_OPENING = re.compile(r"(?:^|[.!?:;][\"')\]]*\s)[-*\"'(\[\s]*$|(?:^|\s)[\"']$")
_LOOK_BACK = 8  # characters before a word that tell whether a sentence opens with it
_GAP = re.compile(r"[\s&.-]*(?:(?:of|de|la|van|von|der|den|di|du|al|the)\s|[A-Z]\.?\s)*")  # 'of the', 'K. '
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
_HEADLINE = 0.5  # share of capitalised words above which a text is written like a headline
_SHORT = 3  # letters up to which an acronym must not be mistaken for a word: 'US', 'WHO', 'IT'
_REMEMBERED = 64  # documents


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    opens: bool  # first of a sentence or of a quotation

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def capital(self) -> bool:
        return any(c.isupper() for c in self.text)


class _Facts:
    """The numbers, dates and words of a document, made ready to be looked up."""

    def __init__(self, text: str) -> None:
        text = plain_text(text)
        self.dates = list(_dates(text))
        self.numbers = number_values([text])
        self.numbers |= {("count", Fraction(key)) for d in self.dates for key in (d.year, d.day) if key}
        tokens = _tokens(_undotted(text))
        own = [t.text for t in tokens if t.text.lower() not in _LINKS]
        self._words = frozenset(map(_fold, own))
        self._initials = ["".join(text[0].upper() for text in texts) for texts in (own, [t.text for t in tokens])]
        self._capitals = ["".join(text[0] if text[0].isupper() else "." for text in own)]
        self._peoples = {stem for t in tokens if t.text[0].isupper() for stem in _stems(_fold(t.text))}

    def has(self, name: Sequence[str]) -> bool:
        """Whether the document has a name, given as its folded words: in any order, as the people of a country, or in
        full where the claim has its acronym, or the other way round."""
        if self._words.issuperset(name) or (len(name) > 1 and "".join(w[0] for w in name).upper() in self._words):
            return True
        return len(name) == 1 and (self._abbreviates(name[0]) or bool(_stems(name[0]) & self._peoples))

    def _abbreviates(self, name: str) -> bool:
        """Whether words of the document begin with an acronym's letters, in capitals where it is as short as 'EU'."""
        if not 2 <= len(name) <= 6 or not name.isupper():
            return False
        return any(name in line for line in (self._capitals if len(name) == 2 else self._capitals + self._initials))


_facts = lru_cache(_REMEMBERED)(_Facts)


def missing_facts(claim: str, document: str) -> list[str]:
    """Every number, date and name of the claim that is not in the document, as the claim has it.

    A fact may be written otherwise ('two thirds' and '66 %', '3 May' and '2019-05-03'); it is not worked out ('a
    majority' is not looked for under '60 %').
    """
    said_here, known = plain_text(claim), _facts(document)
    missing = []
    for date in _dates(said_here):
        if not any(_agrees(date, other, known.numbers) for other in known.dates):
            missing.append(date.text)
        said_here = said_here.replace(date.text, " , ", 1)
    missing += [n.text for n in find_numbers(said_here) if not n.vague and not is_stated(n, known.numbers)]
    return list(dict.fromkeys([*missing, *(text for text, name in _names(said_here) if not known.has(name))]))


def _names(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each name as it is written, with its folded words: capitalised words in a row, with 'of' or initials between."""
    text = _undotted(text)
    tokens = _tokens(text)
    headline = sum(t.capital for t in tokens) > _HEADLINE * len(tokens)
    run: list[_Token] = []
    for token in (t for t, after in zip(tokens, [*tokens[1:], None], strict=False) if _named(t, after, headline)):
        owner = run and run[-1].text.endswith("'s")  # 'Saxony's Lusatia' are two names
        if run and (token.opens or owner or not _GAP.fullmatch(text, run[-1].end, token.start)):
            yield text[run[0].start : run[-1].end], _essential(run)
            run = []
        run.append(token)
    if run:
        yield text[run[0].start : run[-1].end], _essential(run)


def _named(token: _Token, after: _Token | None, headline: bool) -> bool:
    """Whether a word is part of a name, and not capitalised for where it stands."""
    if not token.capital or len(token.text) == 1 or token.text.lower() in _LINKS or re.match("I'|OK$", token.text):
        return False
    if not token.opens or headline:
        return not headline or is_name(token.text)
    before_a_name = after is not None and after.text[0].isupper() and not after.opens and after.start == token.end + 1
    return is_name(token.text) or (before_a_name and lookup(token.text).startswith("NNP"))


def _essential(run: Sequence[_Token]) -> tuple[str, ...]:
    kept = [t.text for t in run if t.text.lower() not in _TITLES] or [t.text for t in run]
    return tuple(_fold(text) for text in kept)


def _stems(name: str) -> set[str]:
    """A name and what is left of it without the endings of countries and their people: 'ital' of Italy and Italian."""
    irregular = {other for names in _SAME if name in names for other in names}
    return irregular | {
        s for s in (name, *(name[:-n] for n in (1, 2, 3) if _PEOPLE.fullmatch(name[-n:]))) if len(s) > _SHORT
    }


def _tokens(text: str) -> list[_Token]:
    before = ((m, max(0, m.start() - _LOOK_BACK)) for m in _WORD.finditer(text))
    opens = ((m, _OPENING.search("x" * (start > 0) + text[start : m.start()])) for m, start in before)
    return [_Token(m.group(), m.start(), opening is not None) for m, opening in opens]


def _undotted(text: str) -> str:
    return _DOTTED.sub(lambda m: m.group().replace(".", ""), _HONORIFIC.sub(r"\1", text))


def _fold(word: str) -> str:
    """A word without accents, possessive and plural, in lower case unless it is a short acronym."""
    word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word = re.sub(r"'s?$", "", word)
    if len(word) <= _SHORT and word.isupper():
        return word
    word = word.casefold()
    return word[:-1] if len(word) > _SHORT and re.search(r"[^su]s$", word) else word


_CALENDAR = "January Jan|February Feb|March Mar|April Apr|May|June Jun|July Jul|August Aug|September Sept Sep|"
_CALENDAR += "October Oct|November Nov|December Dec"
_MONTHS = {name: number for number, of in enumerate(_CALENDAR.split("|"), start=1) for name in of.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})\b"
_DATES = [
    re.compile(pattern)
    for pattern in (
        rf"\b{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b",
        rf"\b(?P<day>[0-3]?\d)[./](?P<month>[0-3]?\d)[./]{_YEAR}",
        rf"\b{_DAY}(?: of|-)? ?{_MONTH}(?:,? (?:of )?{_YEAR})?",
        rf"\b{_MONTH} (?:the )?{_DAY}\b(?:,? (?:of )?{_YEAR})?",
        rf"\b{_MONTH},? (?:of )?{_YEAR}",
        # By itself a month is one inside a sentence only: 'March against …', 'May we …' open one.
        rf"(?<=[a-z,;] )(?P<month>{'|'.join(m for m in _MONTHS if len(m) > 4 or m in ('May', 'June', 'July'))})\b",
    )
]


@dataclass(frozen=True, slots=True)
class _Date:
    text: str
    year: int | None
    month: int
    day: int | None


def _dates(text: str) -> Iterator[_Date]:
    """The dates of a plain text; day and month of '03/04/2024' may be either way round."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            fields = match.groupdict()
            month, year, day = fields["month"], fields.get("year"), fields.get("day")
            read = _Date(
                match.group(), int(year) if year else None, _MONTHS.get(month) or int(month), int(day) if day else None
            )
            yield read
            if month.isdigit() and not match.group().startswith(year or " ") and read.day and read.day <= 12:
                yield _Date(read.text, read.year, read.day, read.month)
        text = pattern.sub(" ; ", text)


def _agrees(date: _Date, other: _Date, known: frozenset[Key]) -> bool:
    """Whether a passage's date says what the claim's does; a year may stand elsewhere in the passage."""
    if date.month != other.month or (date.day and date.day != other.day):
        return False
    return not date.year or date.year == other.year or (other.year is None and ("count", Fraction(date.year)) in known)
