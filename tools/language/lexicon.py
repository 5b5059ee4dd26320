"""English words: word lists, stems, and parts of speech from the Penn Treebank lexicon of TextBlob. Each word list
serves one purpose. For example, a search query drops other words than a comparison of two texts. The lexicon is read by
path, because importing `textblob` takes a second."""

import re
from collections import Counter
from difflib import get_close_matches
from functools import cache, lru_cache, reduce
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tools.errors import ModelError
from tools.translation import grouped, trn

if TYPE_CHECKING:
    from tantivy import TextAnalyzer


NEGATORS = frozenset("not no never cannot nobody none nothing neither".split())  # modules add their own words

QUERY_FILLERS = frozenset(
    "a about also am an and any are as at be because been being but by can could did do does doing for from had has "
    "have having he her here him his how i if in into is it its just may me might more most must my of on or our ours "
    "own she should so some such than that the their them then there these they this those to too us very was we were "
    "what when where whether which while who whom whose why will with would you your".split()
)
"""Words that a search query drops. A query keeps negations, because they reverse its meaning."""

KEYWORD_STOP_WORDS = frozenset(
    "a an the of to in on for and or is are was were be been being should would could will can may might must do does "
    "did it its this that these those by with as at from than then there their they who which what how so such "
    "have has had more most very into about over under only all any some".split()
)
"""Words that are no keywords of a statement. Negations are keywords."""

LIGHT_WORDS = frozenset(
    "can could may might must shall should will would do does did has have had be been being am was were than then so "
    "more most very also only even just when where who whom whose which what how why while because since though "
    "although he she his her him its our we you your my me us i from over under up down out about after before "
    "between against within without through during each other some any own same too yet both either neither nor here "
    "there".split()
)
"""Words without content that `analyzer` keeps. Comparisons of claims with passages drop these words."""

ENGLISH_MARKERS = frozenset(
    "the and that this with which would their they them been has who there when were should could these those what "
    "than because not you your from it its about into through while where whether does did how".split()
)
"""Function words that only English has. For example, 'for' and 'is' are missing because Danish has them, too."""

FOREIGN_OPENERS = {
    opener: language
    for language, *openers in map(
        str.split,
        "de ist soll sollen sollte sollten darf dürfen kann können warum wieso|fr faut doit peut pourquoi|sv bör ska|"
        "nl moet moeten waarom|es debe deben debería deberían deberia|pt devem deveria|it dovrebbe dovrebbero perché|"
        "da bør skal|pl czy|id apakah haruskah".split("|"),
    )
    for opener in openers
}
"""First words of questions in other languages, never of English questions, with the likeliest language (ISO 639-1)."""


@cache
def analyzer() -> "TextAnalyzer":
    """Returns the analyzer of texts and queries: lower case, no accents, no stop words, Snowball's English stems."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.lowercase(), Filter.ascii_fold(), Filter.stopword("english"), Filter.stemmer("english")):
        builder = builder.filter(step)
    return builder.build()


def count(number: int, noun: str) -> str:
    """Returns '1 passage' or '1,200 passages' in the current language. noun: in English; its plural adds an s."""
    return f"{grouped(number)} {trn(noun, f'{noun}s', number)}"


AUXILIARIES = frozenset(
    "am are is was were did do does had has have can cannot could may might must ought shall should will would".split()
)
PREPOSITIONS = frozenset(
    "about above across after against along alongside amid among around as at before behind below beneath beside "
    "between beyond by concerning despite during except following for from in inside into like near of off on "
    "onto outside over per regarding since than through throughout till toward towards under unlike until up upon "
    "versus via with within without".split()
)
_DETERMINERS = frozenset(
    "a an another any each either every her his its my neither no our some that the their these this those your".split()
)
_SUFFIXES: tuple[tuple[str, str], ...] = (
    (r"[a-z]{3,}ing$", "VBG"),
    (r"[a-z]{2,}ed$", "VBN"),
    (r"[a-z]{3,}ly$", "RB"),
    (r"(?:ise|ize|ify|yse)$", "VB"),
    (r"(?:ises|izes|ifies|yses)$", "VBZ"),
    (r"(?:ous|ful|able|ible|ive|ical|ic|less|ary|ish|ian|-friendly)$", "JJ"),
    (r"[a-z]{2,}[^su]s$", "NNS"),
)
_OUTER_MARKS = "\"'“”‘’«»()[]{}.,;:!?…*_"


def is_word(text: str) -> bool:
    """Whether the lexicon has the word, as written or in lower case."""
    return text in _lexicon_entries() or text.lower() in _lexicon_entries()


@cache
def _lexicon_entries() -> dict[str, str]:
    found = find_spec("textblob")
    path = Path(found.origin).parent / "en" / "en-lexicon.txt" if found and found.origin else None
    if path is None or not path.is_file():
        raise ModelError(
            "TextBlob's English lexicon is missing. Install it: "
            "`pip install --require-hashes --no-deps -r requirements.lock`."
        )
    with path.open(encoding="utf-8") as lines:
        pairs = (line.split() for line in lines if not line.startswith(";;;"))
        return {pair[0]: pair[1] for pair in pairs if len(pair) >= 2}


def lexicon_tag(core: str) -> str:
    """Returns the lexicon's tag of a lower-case word, or ''."""
    return _lexicon_entries().get(core, "")


_LEAST_RESPELLED, _LEAST_ALIKE = 4, 5  # letters: least of a respelled word; shorter words are near too many others
_LONGER = 2  # most letters by which a respelled word is longer or shorter
_ALIKE = 0.82  # least share of equal letters, as `difflib` counts it
_SOUNDS = (("ight", "ite"), ("ph", "f"), ("sch", "sk"), ("ck?(?![eiyh])", "k"), ("ie(?=s?$)", "y"), (r"(.)\1", r"\1"))


def respelled(question: str, text: str) -> str:
    """Returns the question with its misspelt words as the text spells them: 'library' for 'libary'. Words that the
    lexicon or the text has stay, and so do words without a like of the same first letter."""
    known = Counter(word.lower() for word in _LETTERS.findall(text) if len(word) >= _LEAST_RESPELLED)
    ranked = [word for word, _ in known.most_common()]

    def spelled(found: re.Match[str]) -> str:
        word = found[0].lower()
        if len(word) < _LEAST_RESPELLED or word in known or is_word(word):
            return found[0]
        near = [other for other in ranked if other[0] == word[0] and abs(len(other) - len(word)) <= _LONGER]
        slips = [other for other in near if known[other] > 1 and _is_slip(word, other)]
        long = [other for other in near if min(len(word), len(other)) >= _LEAST_ALIKE]
        return next(iter(slips or get_close_matches(word, long, 1, _ALIKE)), found[0])

    return _LETTERS.sub(spelled, question)


@lru_cache(maxsize=20_000)
def _sound(word: str) -> str:
    return reduce(lambda text, by: re.sub(by[0], by[1], text), _SOUNDS, word)


def _is_slip(word: str, other: str) -> bool:
    """Whether a word sounds like the other, lacks one of its letters, or swaps two neighbours: 'nite', 'nigt', 'ngiht'
    for 'night'. Another letter makes another word: 'vape' is no 'vane'. A name or a plural only sounds like a word."""
    heard, meant = map(_sound, (word, other))
    at = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(word))
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    slip = other in (swapped, word[:at] + other[at : at + 1] + word[at:])
    return heard == meant or (slip and not word.endswith("s") and not is_word(word.title()))


_LETTERS = re.compile(r"[^\W\d_]+")


def bare_word(text: str) -> str:
    """Returns a word in lower case without surrounding punctuation."""
    return text.replace("’", "'").strip(_OUTER_MARKS).lower()


def pos_tag(text: str) -> str:
    """Returns the most frequent Penn tag of a word. For an unknown word its ending decides; the default is a noun."""
    core = bare_word(text)
    if re.fullmatch(r"[\d.,%$£€/-]+", core):
        return "CD"
    if found := lexicon_tag(core):
        return found
    if text[:1].isupper() and (named := lexicon_tag(text.strip(_OUTER_MARKS))):
        return named
    for ending, tag in _SUFFIXES:
        if re.search(ending, core):
            return tag
    return "NNP" if text[:1].isupper() else "NN"


def is_name(text: str) -> bool:
    """Whether a capitalised word keeps its capital within a sentence: a name, an acronym, 'I'."""
    core = text.strip(_OUTER_MARKS)
    stem = re.sub(r"(?:'s|’s)$", "", core)
    several = sum(c.isupper() for c in stem) > 1
    if several or stem in ("I", "I'm", "I've", "I'd", "God") or any(c.isdigit() for c in stem):
        return True
    lower = stem.lower()
    if stem == lower or lower in _DETERMINERS or lexicon_tag(lower):
        return lexicon_tag(lower).startswith("NNP")
    if "-" in lower and all(map(lexicon_tag, lower.split("-"))):
        return False
    return lexicon_tag(stem).startswith("NNP") or not re.search(r"(?:s|ing|ed|ly|ion|ism|ity|ment|ness)$", lower)


def finite_verb(words: list[str]) -> int | None:
    """Returns the index of the first later word that may be a statement's finite verb; None for a noun phrase."""
    for i, text in enumerate(words[1:], start=1):
        core, before = bare_word(text), bare_word(words[i - 1])
        tag = pos_tag(text)
        if core in AUXILIARIES or re.fullmatch(r".+(?:n't|'re|'ll|'ve|'d|'m)|(?:it|that|there|he|she)'s", core):
            return i
        if before == "to" or before in PREPOSITIONS or before in _DETERMINERS:
            continue
        if tag in ("VBZ", "VBD", "VBP", "MD") or (tag == "VB" and pos_tag(words[i - 1]) in ("NNS", "PRP", "NNPS")):
            return i
    return None


def lower_first(text: str) -> str:
    """Returns the text with a small first letter unless it begins with a name."""
    return text if not text or is_name(text.split()[0]) else text[0].lower() + text[1:]
