"""Words of a sentence with their parts of speech, from the Penn Treebank lexicon that TextBlob carries.

The lexicon file is read directly: importing `textblob` imports nltk, scikit-learn and scipy (1 s), and Brill's
context rules are made for statements, while questions put the verb before its subject.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tools.errors import ModelError
from tools.language.grammar.word_classes import (
    ADVERBS,
    DETERMINERS,
    PREPOSITIONS,
    QUANTIFIERS,
    RELATIVES,
    SUBORDINATORS,
)

_SUFFIXES: tuple[tuple[str, str], ...] = (
    (r"(?:is|iz|yz|ys|if)ing$|[a-z]{3,}ing$", "VBG"),
    (r"[a-z]{2,}ed$", "VBN"),
    (r"[a-z]{3,}ly$", "RB"),
    (r"(?:ise|ize|ify|yse)$", "VB"),
    (r"(?:ises|izes|ifies|yses)$", "VBZ"),
    (r"(?:ous|ful|able|ible|ive|ical|ic|less|ary|ish|ian|-friendly)$", "JJ"),
    (r"[a-z]{2,}[^su]s$", "NNS"),
)
_OUTER = "\"'“”‘’«»()[]{}.,;:!?…*_"


_ACRONYM = re.compile(r"[A-Z]{2,}|(?:[A-Z]\.)+[A-Z]")  # 'US' is no 'us', 'IT' no 'it'


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, its bare lower-case core (an acronym's upper-case), and its most frequent Penn tag."""

    text: str
    core: str
    tag: str

    @property
    def closes(self) -> bool:
        """Punctuation after the word ends the phrase."""
        return self.text.endswith((",", ";", ":", ")", "–", "—"))

    @property
    def possessive(self) -> bool:
        return self.core.endswith(("'s", "s'")) and self.core not in ("it's", "that's", "there's", "let's")

    @property
    def noun(self) -> bool:
        return self.tag.startswith("NN") and not self.possessive

    @property
    def plural(self) -> bool:
        return self.tag in ("NNS", "NNPS")

    @property
    def adjective(self) -> bool:
        return self.tag.startswith("JJ") and self.core not in QUANTIFIERS

    @property
    def adverb(self) -> bool:
        return self.core in ADVERBS or self.tag.startswith("RB")

    @property
    def determiner(self) -> bool:
        return self.core in DETERMINERS or self.tag == "PRP$"

    @property
    def preposition(self) -> bool:
        return self.core in PREPOSITIONS or (self.tag == "IN" and self.core not in SUBORDINATORS | RELATIVES)


def is_word(text: str) -> bool:
    """Whether the lexicon knows the word, as written or in lower case."""
    return text in _entries() or text.lower() in _entries()


def is_noun_by_ending(text: str) -> bool:
    """Whether a word of no lexicon is built as English nouns are: 'veganism', 'fracking'."""
    return re.search(r"[a-z]{3,}(?:ism|isation|ization|ing|ship|hood|ness|ption|ology)$", text.lower()) is not None


@cache
def _entries() -> dict[str, str]:
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
    return _entries().get(core, "")


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
    if stem == lower or lower in DETERMINERS or lookup(lower):
        return lookup(lower).startswith("NNP")
    if "-" in lower and all(map(lookup, lower.split("-"))):
        return False
    return lookup(stem).startswith("NNP") or not re.search(r"(?:s|ing|ed|ly|ion|ism|ity|ment|ness)$", lower)


def tag_of(text: str, core: str) -> str:
    """The most frequent tag; unknown words by their ending, or else a noun."""
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


def words_of(sentence: str) -> list[Word]:
    """The words of a sentence, cut at white space; punctuation stays with its word."""
    found: list[Word] = []
    for text in sentence.split():
        core = re.sub(r"^[\"'“”‘’«»(\[{*_]+|[\"“”«»)\]}.,;:!?…*_]+$", "", text.replace("’", "'")).lower()
        core = core if core.endswith("s'") else core.rstrip("'")
        core = core.upper() if _ACRONYM.fullmatch(text.strip(_OUTER)) else core
        found.append(Word(text, core, tag_of(text, core) if core else "SYM"))
    return found


def join(words: Sequence[Word]) -> str:
    """The text of the words again."""
    return " ".join(word.text for word in words)
