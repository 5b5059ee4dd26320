"""Numbers of a text, in digits or in words, as values that can be compared: '1.5 million' is '1,500,000'."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

Key = tuple[str, Fraction]
"""What a number says: ('count', 40) of '40' and '40th', ('ratio', 2/5) of '40 %', ('part', 2/5) of 'two fifths'."""

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
_UNITS = {word: value for value, word in enumerate((_SMALL + "seventeen eighteen nineteen").split())}
_UNITS |= {w: 10 * v for v, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT_SCALES = {"k": 10**3, "mn": 10**6, "mln": 10**6, "m": 10**6, "bn": 10**9, "trn": 10**12, "tn": 10**12}
_RANKS = {w: v for v, w in enumerate("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 3)}
_RANKS |= {f"{word.removesuffix('y')}{'ie' * word.endswith('y')}th": v for word, v in _UNITS.items() if v > 12}
_PARTS = {"half": 2, "halve": 2, "quarter": 4} | _RANKS | {f"{word}th": value for word, value in _SCALES.items()}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_DIGITS = (
    r"(?:\d{1,3}(?:[,' ]\d{3}){1,9}(?:\.\d{1,20})?(?![\d,])|\d{1,3}(?:\.\d{3}){2,9}(?!\d)|\d{1,30}(?:[.,]\d{1,20})?)"
)
_MORE = rf"(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and )(?:{_any_of([*_UNITS, *_SCALES])})\b)*"
_CARDINAL = (
    rf"(?:{_DIGITS}(?:[ -](?:{_any_of(_SCALES)})\b|(?:{_any_of(_SHORT_SCALES)})\b)?"
    rf"|\b(?:{_any_of(_UNITS)})\b{_MORE}|\ban? (?:{_any_of(_SCALES)})\b{_MORE})"
)
_PERCENT = r"(?: |-)?(?:%|percent(?:age)?\b|per[ -]+cent\b|pc\b)"
_NUMBER = re.compile(
    rf"(?P<half>\bhal(?:f|ve[sd]?|ving)\b)(?:[ -]a[ -](?P<scale>{_any_of(_SCALES)})\b)?"
    rf"|(?P<above>\d{{1,9}})/(?P<below>\d{{1,9}})(?![\d/])"
    rf"|(?P<some>{_CARDINAL}|\ban?(?= (?:{_any_of(_PARTS)})\b))"
    rf"(?:(?P<percent>{_PERCENT})|[ -](?P<part>{_any_of(_PARTS)})s?\b"
    rf"| (?:out )?(?:of|in)(?: every| the)? (?P<whole>{_CARDINAL})(?!{_PERCENT})"
    rf"|(?P<ranged>(?=(?: to | or | and | ?- ?){_CARDINAL}{_PERCENT})))?"
    rf"|\b(?P<rank>{_any_of(_RANKS)})\b",
    re.IGNORECASE,
)
_VULGAR = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_SPACES = re.compile(r"\s+")
_NO_HALF = re.compile(r" an?\b| ?-| past\b")  # 'half an hour', 'half-time', 'half past six'
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


def find_numbers(text: str) -> Iterator[Number]:
    """The numbers of a text that `plain_text` made plain, in order."""
    at = 0
    while match := _NUMBER.search(text, at):
        number = _read(match)
        at = match.start() + max(len(number.text), 1)
        if number.keys:
            yield number


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


def _read(match: re.Match[str]) -> Number:
    said = {name: text.lower() for name, text in match.groupdict().items() if text is not None}
    some, inner = _values(said.get("some", "")), frozenset[Key]()
    text, vague = match[0], said.get("some") == match[0].lower() == "one"
    if scale := said.get("scale"):
        keys = {("count", Fraction(_SCALES[scale], 2))}
    elif "half" in said:
        keys, vague = {("part", Fraction(1, 2))}, bool(_NO_HALF.match(match.string, match.end()))
    elif "above" in said:
        above, below = int(said["above"]), int(said["below"])
        keys = {("part", Fraction(above, below))} if above < below <= 100 else set()
        text = text if keys else said["above"]
        keys = keys or {("count", Fraction(above))}
    elif "percent" in said:
        keys = {("ratio", some[0] / 100)}
    elif part := said.get("part"):
        keys, vague = {("part", some[0] / _PARTS[part])}, match.string.startswith(" of an hour", match.end())
        keys |= {("count", Fraction(_RANKS[part]))} if some[0] == 1 and part in _RANKS else set()
    elif "whole" in said and some[0] < (whole := _values(said["whole"])[0]) <= _LARGEST_SHARE:
        keys, inner = {("part", some[0] / whole)}, frozenset({("count", some[0]), ("count", whole)})
    elif "rank" in said:
        keys = {("count", Fraction(_RANKS[said["rank"]]))}
    else:
        text = match["some"]
        keys = {("count", value) for value in some} | {("ratio", value) for value in some if 0 < value < 1}
        keys |= {("ratio", some[0] / 100)} if "ranged" in said else set()
    return Number(text, frozenset(keys), inner, vague)


def _values(cardinal: str) -> list[Fraction]:
    """The values that a cardinal may have, likeliest first: '5m' are millions, or metres."""
    if found := re.match(_DIGITS, cardinal):
        value, scale = _decimal(found[0]), cardinal[found.end() :].strip(" -")
        return [value * _SHORT_SCALES[scale], value] if scale in _SHORT_SCALES else [value * _SCALES.get(scale, 1)]
    total, part = 0, 0
    for word in re.findall("[a-z]+", cardinal):
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            part += _UNITS.get(word, 0)
    return [Fraction(total + part or cardinal.startswith("a"))]  # 'a' third


def _decimal(digits: str) -> Fraction:
    """'1,500' and '1.500.000' are grouped; '40,5' has a decimal comma."""
    if re.fullmatch(r"\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?", digits) or digits.count(".") > 1:
        digits = re.sub(r"[,' ]" if digits.count(".") <= 1 else r"\.", "", digits)
    return Fraction(digits.replace(",", "."))
