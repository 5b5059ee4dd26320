"""Proper names of a text, and whether another text has them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.language.lexicon import is_name, lookup

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
_SAME = """
US|USA|United States|United States of America|America|American
UK|United Kingdom|Britain|Great Britain|British
EU|European Union
UN|United Nations
AI|artificial intelligence
GM|genetically modified
EV|electric vehicle|electric car
France|French
Netherlands|Dutch|Holland
Denmark|Danish
Finland|Finnish
Spain|Spanish
Poland|Polish
Ireland|Irish
Scotland|Scottish
Wales|Welsh
England|English
Switzerland|Swiss
Greece|Greek
Turkey|Turkish
Sweden|Swedish
Norway|Norwegian
China|Chinese
"""
_PEOPLE = re.compile(r"(?:n|an|ian|ean|ese|i|ic|ish|y|e)$")
_HEADLINE = 0.5  # share of capitalised words above which a text is written like a headline
_NEAR = 3  # words that may stand between the parts of one name
_SHORT = 3  # letters up to which an acronym must not be mistaken for a word: 'US', 'WHO', 'IT'


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


class _Reading:
    """The words of one passage, made ready to be looked up."""

    def __init__(self, passage: str) -> None:
        tokens = _tokens(_undotted(passage))
        self._words = [_fold(t.text) for t in tokens if t.text.lower() not in _LINKS]
        self._line = f" {' '.join(self._words)} "
        self._initials = ["".join(t.text[0].upper() for t in tokens if t.text.lower() not in _LINKS)]
        self._initials.append("".join(t.text[0].upper() for t in tokens))
        self._capitals = [
            "".join(t.text[0] if t.text[0].isupper() else "." for t in tokens if t.text.lower() not in _LINKS)
        ]
        self._peoples = {stem for t in tokens if t.text[0].isupper() for stem in _stems(_fold(t.text))}

    def has(self, name: Sequence[str]) -> bool:
        """Whether the passage has a name, given as its folded words."""
        return any(self._near(form) for form in _forms(name)) or (
            len(name) == 1 and (self._abbreviates(name[0]) or bool(_stems(name[0]) & self._peoples))
        )

    def _near(self, name: Sequence[str]) -> bool:
        if f" {' '.join(name)} " in self._line:
            return True
        if len(name) == 1 or not set(name) <= set(self._words):
            return False
        width = len(name) + _NEAR
        return any(set(name) <= set(self._words[i : i + width]) for i in range(len(self._words)))

    def _abbreviates(self, name: str) -> bool:
        """Whether words of the passage begin with an acronym's letters, in capitals where it is as short as 'EU'."""
        if not 2 <= len(name) <= 6 or not name.isupper():
            return False
        return any(name in line for line in (self._capitals if len(name) == 2 else self._capitals + self._initials))


def missing_names(claim: str, passages: Sequence[str]) -> list[str]:
    """The names of a claim that no passage has, as the claim has them; the texts made plain (`numerals.plain`).

    A name is there in any case, with or without possessive, initials and titles, with its words in another order
    nearby ('Oxford University'), as the people of a country, or in full where the claim has its acronym.
    """
    readings = [_Reading(p) for p in passages]
    return [text for text, name in names(claim) if not any(r.has(name) for r in readings)]


def names(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
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


def _forms(name: Sequence[str]) -> Iterator[Sequence[str]]:
    yield name
    for line in _SAME.split("\n"):
        same = [tuple(_fold(w) for w in form.split() if w not in _LINKS) for form in line.split("|")]
        if tuple(name) in same:
            yield from same


def _stems(name: str) -> set[str]:
    """A name and what is left of it without the endings of countries and their people: 'ital' of Italy and Italian."""
    return {s for s in (name, *(name[:-n] for n in (1, 2, 3) if _PEOPLE.fullmatch(name[-n:]))) if len(s) > _SHORT}


def _tokens(text: str) -> list[_Token]:
    return [_Token(m.group(), m.start(), _opens(text, m.start())) for m in _WORD.finditer(text)]


def _opens(text: str, at: int) -> bool:
    start = max(0, at - _LOOK_BACK)
    return bool(_OPENING.search("x" * (start > 0) + text[start:at]))


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
