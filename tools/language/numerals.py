"""Numbers of a text, in digits or in words, as values that can be compared: '1.5 million' is '1,500,000'."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

Key = tuple[str, Fraction]
"""What a number says: ('count', 40) of '40' and '40th', ('ratio', 2/5) of '40 %', ('part', 2/5) of 'two fifths'."""

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
_UNITS = {word: value for value, word in enumerate((_SMALL + "seventeen eighteen nineteen").split())}
_TENS = {w: 10 * v for v, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "mln": 10**6, "bn": 10**9, "tn": 10**12, "trn": 10**12}
_RANKS = dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
        range(1, 13),
        strict=True,
    )
)
_RANKS |= {f"{word}th": value for word, value in _UNITS.items() if value > 12}
_RANKS |= {f"{word[:-1]}ieth": value for word, value in _TENS.items()}
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    form: value for word, value in _RANKS.items() if value > 2 for form in (word, f"{word}s")
}
_PARTS |= {form: value for word, value in _SCALES.items() for form in (f"{word}th", f"{word}ths")}
_HALVES = frozenset("half halve halved halves halving".split())
_PERCENT = ("%", "percent", "percentage", "pc", "per cent", "per - cent")
_BETWEEN = ("out of every", "out of the", "out of", "in every", "of every", "of the", "of", "in")
_VAGUE = frozenset(("one", "first", "second"))  # no numbers in 'one knows', 'a second home'
_MEASURES = ("a", "an", "-", "past")  # 'half an hour', 'half-time', 'half past six'
_SPACES = re.compile(r"\s+")
_VULGAR = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_NUMERAL = r"\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?(?![\d,])|\d{1,3}(?:\.\d{3}){2,}(?!\d)|\d+(?:[.,]\d+)?"
_TOKEN = re.compile(rf"{_NUMERAL}|[^\W\d_]+|\S")
_LARGEST_SHARE = 1000  # 'two in 2019' is no share
_ROUGHLY = {"part": Fraction(1, 50), "ratio": Fraction(1, 200)}  # 'a third' is said of 34 %, '33 %' of a third


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written. `keys` are the values that it may stand for, `inner` those of its parts ('one in
    three' says a third and names a three), `vague` that it may be no number at all."""

    text: str
    keys: frozenset[Key]
    inner: frozenset[Key] = frozenset()
    vague: bool = False


def plain_text(text: str) -> str:
    """The text with plain dashes, quotation marks, digits and single spaces, for comparing."""
    text = unicodedata.normalize("NFKC", _VULGAR.sub(" ", text))
    text = re.sub(r"[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]", "-", text).replace("\u00ad", "").replace("\u2044", "/")
    return _SPACES.sub(" ", re.sub("[‘’‚‛ʼ´`]", "'", re.sub("[“”„‟«»]", '"', text))).strip()


def find_numbers(text: str) -> list[Number]:
    """The numbers of a text that `plain_text` made plain, in order."""
    scan = _Scan(text)
    found: list[Number] = []
    at = 0
    while at < len(scan.words):
        number, end = scan.number(at)
        if number is not None:
            found.append(number)
        at = max(end, at + 1)
    return found


def number_values(texts: Iterable[str]) -> frozenset[Key]:
    """All values that the numbers of plain texts may stand for, those of their parts included."""
    return frozenset(key for text in texts for n in find_numbers(text) for key in n.keys | n.inner)


def is_stated(number: Number, known: frozenset[Key]) -> bool:
    """Whether one of the number's values is among the known, or all of its parts are: '3 of 8' where '8 towns' and '3'
    stand. A part in words stands for any percentage near it."""
    if number.keys & known:
        return True
    if number.inner and min(value for _, value in number.inner) > 2 and number.inner <= known:
        return True
    return any(
        abs(value - other) <= _ROUGHLY[kind]
        for kind, value in number.keys
        for other_kind, other in known
        if {kind, other_kind} in ({"part"}, {"part", "ratio"})
    )


_Read = tuple[set[Key], set[Key], int]
_NOTHING: _Read = (set(), set(), 0)


class _Scan:
    """The tokens of a text with what can be read at each of them; positions are token numbers."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_TOKEN.finditer(text))
        self.words = [t.group().lower() for t in self._tokens]

    def number(self, at: int) -> tuple[Number | None, int]:
        """The number that starts at a token, and the token after it."""
        for read in (self._one_word, self._share, self._counted):
            keys, inner, end = read(at)
            if keys:
                word = self._word(at)
                text = self._text[self._tokens[at].start() : self._tokens[end - 1].end()]
                vague = word in _VAGUE and end == at + 1
                vague |= self._past(end, "of an hour") > 0 or (word in _HALVES and self._word(end) in _MEASURES)
                return Number(text, frozenset(keys), frozenset(inner), vague), end
        return None, at + 1

    def _word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def _past(self, at: int, phrase: str) -> int:
        """The token after a phrase that stands at a token, or 0."""
        words = phrase.split()
        return at + len(words) if self.words[at : at + len(words)] == words else 0

    def _touches(self, at: int) -> bool:
        """Whether nothing stands between a token and the one before it."""
        return 0 < at < len(self._tokens) and self._tokens[at].start() == self._tokens[at - 1].end()

    def _one_word(self, at: int) -> _Read:
        """An ordinal or a half: 'the third', 'halved', 'half a million'."""
        word = self._word(at)
        if word in _HALVES and self._word(at + 1) in ("a", "-") and self._scale(at + 2)[0] > 1:
            scale, end = self._scale(at + 2)
            return {("count", Fraction(scale, 2))}, set(), end
        keys: set[Key] = {("count", Fraction(_RANKS[word]))} if word in _RANKS else set()
        return keys | ({("part", Fraction(1, 2))} if word in _HALVES else set()), set(), at + 1

    def _share(self, at: int) -> _Read:
        """'One in three', 'two out of every five', '39 of the 58'."""
        some, end = self._cardinal(at)
        start = next(filter(None, (self._past(end, phrase) for phrase in _BETWEEN)), 0) if some else 0
        whole, end = self._cardinal(start) if start else ([], end)
        if not whole or not some[0] < whole[0] <= _LARGEST_SHARE:
            return _NOTHING
        return {("part", some[0] / whole[0])}, {("count", some[0]), ("count", whole[0])}, end

    def _counted(self, at: int) -> _Read:
        """A cardinal with what follows it: 'per cent', 'thirds'."""
        counts, end = self._cardinal(at)
        if not counts:
            return _NOTHING
        after = end + 1 if self._word(end) == "-" else end
        word = self._word(after)
        if percent := self._percent(after):
            return {("ratio", counts[0] / 100)}, set(), percent
        if word in _PARTS and counts[0] < 100:
            ranks = {("count", Fraction(_RANKS[word]))} if counts[0] == 1 and word in _RANKS else set()
            return {("part", counts[0] / _PARTS[word]), *ranks}, set(), after + 1
        if self._word(at) in ("a", "an") and end == at + 1:
            return _NOTHING
        ratios = {("ratio", c) for c in counts if 0 < c < 1}
        until = self._cardinal(end + 1)[1] if word in ("to", "or", "and") or self._word(end) == "-" else end
        ranged = {("ratio", counts[0] / 100)} if until > end and self._percent(until) else set()
        return {("count", c) for c in counts} | ratios | ranged, set(), end

    def _percent(self, at: int) -> int:
        """The token after 'per cent', however it is written; 0 where it does not stand."""
        return max(self._past(at, phrase) for phrase in _PERCENT)

    def _cardinal(self, at: int) -> tuple[list[Fraction], int]:
        """The values that a cardinal may have, likeliest first, and the token after it; none where there is none."""
        word = self._word(at)
        if word[:1].isdigit():
            return self._digits(at)
        if word in ("a", "an"):
            scale, end = self._scale(at + 1)
            return [Fraction(scale)], end if scale > 1 else at + 1
        value, end = self._below_hundred(at)
        if end == at:
            return [], at
        return self._scaled(Fraction(value), end)

    def _scaled(self, value: Fraction, end: int) -> tuple[list[Fraction], int]:
        """A cardinal's first words carried on: 'two' to 'two hundred and five thousand'."""
        total = Fraction(0)
        while True:
            scale, after = self._scale(end)
            if scale == 1:
                return [total + value], end
            value, end = value * scale, after
            start = end + (self._word(end) in ("and", "-"))
            more, after = self._below_hundred(start)
            if after > start and scale == 100:
                value, end = value + more, after
            elif after > start:
                total, value, end = total + value, Fraction(more), after
                if self._scale(end)[0] == 1:
                    return [total + value], end

    def _scale(self, at: int) -> tuple[int, int]:
        """The factor that a word such as 'million' stands for, or 1, and the token after it."""
        at = at + 1 if self._word(at) == "-" else at
        return (_SCALES[self._word(at)], at + 1) if self._word(at) in _SCALES else (1, at)

    def _below_hundred(self, at: int) -> tuple[int, int]:
        word = self._word(at)
        if word in _TENS:
            unit = at + 2 if self._word(at + 1) == "-" else at + 1
            if 0 < _UNITS.get(self._word(unit), 0) < 10:
                return _TENS[word] + _UNITS[self._word(unit)], unit + 1
            return _TENS[word], at + 1
        return (_UNITS[word], at + 1) if word in _UNITS else (0, at)

    def _digits(self, at: int) -> tuple[list[Fraction], int]:
        value, end = _decimal(self._word(at)), at + 1
        if self._word(end) == "/" and self._word(end + 1).isdigit() and self._word(end + 2) != "/":
            below = int(self._word(end + 1))
            if value < below <= 100:
                return [value / below], end + 2
        if self._touches(end) and self._word(end) in _SHORT_SCALES:
            return [value * _SHORT_SCALES[self._word(end)], value], end + 1
        return self._scaled(value, end)


def _decimal(digits: str) -> Fraction:
    """'1,500' and '1.500.000' are grouped; '40,5' has a decimal comma."""
    if re.fullmatch(r"\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?", digits) or digits.count(".") > 1:
        digits = re.sub(r"[,' ]" if digits.count(".") <= 1 else r"\.", "", digits)
    return Fraction(digits.replace(",", "."))
