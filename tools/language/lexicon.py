"""Single English words and their parts of speech, from the Penn Treebank lexicon that TextBlob carries.

The lexicon file is read by path: importing `textblob` imports nltk, scikit-learn and scipy, which costs every start a
second.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tools.errors import ModelError

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
_OUTER = "\"'“”‘’«»()[]{}.,;:!?…*_"


def is_word(text: str) -> bool:
    """Whether the lexicon knows the word, as written or in lower case."""
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


def lookup(core: str) -> str:
    """The lexicon's tag of a lower-case word, or '' when it is unknown."""
    return _lexicon_entries().get(core, "")


def core_of(text: str) -> str:
    """A word as it is looked up: without the marks around it, in small letters."""
    return text.replace("’", "'").strip(_OUTER).lower()


def tag_of(text: str) -> str:
    """The most frequent Penn tag of a word as written; unknown words by their ending, or else a noun."""
    core = core_of(text)
    if re.fullmatch(r"[\d.,%$£€/-]+", core):
        return "CD"
    if found := lookup(core):
        return found
    if text[:1].isupper() and (named := lookup(text.strip(_OUTER))):
        return named
    for ending, tag in _SUFFIXES:
        if re.search(ending, core):
            return tag
    return "NNP" if text[:1].isupper() else "NN"


def is_name(text: str) -> bool:
    """Whether a capitalised word keeps its capital inside a sentence: a name, an acronym, 'I'."""
    core = text.strip(_OUTER)
    stem = re.sub(r"(?:'s|’s)$", "", core)
    if (
        stem in ("I", "I'm", "I've", "I'd", "God")
        or sum(c.isupper() for c in stem) > 1
        or any(c.isdigit() for c in stem)
    ):
        return True
    lower = stem.lower()
    if stem == lower or lower in _DETERMINERS or lookup(lower):
        return lookup(lower).startswith("NNP")
    if "-" in lower and all(map(lookup, lower.split("-"))):
        return False
    return lookup(stem).startswith("NNP") or not re.search(r"(?:s|ing|ed|ly|ion|ism|ity|ment|ness)$", lower)


def finite_verb(words: list[str]) -> int | None:
    """The index of the first word, after another one, that may be a statement's finite verb; None where there is none,
    as in a noun phrase. A plural noun that is a verb as well ('costs', 'means') counts before what can be an object."""
    for i, text in enumerate(words[1:], start=1):
        core, before = core_of(text), core_of(words[i - 1])
        tag = tag_of(text)
        if core in AUXILIARIES or re.fullmatch(r".+(?:n't|'re|'ll|'ve|'d|'m)|(?:it|that|there|he|she)'s", core):
            return i
        if before == "to" or before in PREPOSITIONS or before in _DETERMINERS:
            continue
        if tag in ("VBZ", "VBD", "VBP", "MD") or (tag == "VB" and tag_of(words[i - 1]) in ("NNS", "PRP", "NNPS")):
            return i
    return None


def lower_first(text: str) -> str:
    """The text as it is written inside a sentence: its first letter small unless it begins a name."""
    return text if not text or is_name(text.split()[0]) else text[0].lower() + text[1:]
