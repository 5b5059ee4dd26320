"""Headlines in Title Case and texts in capitals, written as sentences are: names keep their capitals."""

import re

from tools.language.grammar.inflect import verb_strength
from tools.language.grammar.lexicon import lookup
from tools.language.grammar.word_classes import (
    ADVERBS,
    AUXILIARIES,
    CONJUNCTIONS,
    DEGREES,
    DETERMINERS,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
)

_SMALL = (
    PREPOSITIONS
    | CONJUNCTIONS
    | DETERMINERS
    | AUXILIARIES
    | ADVERBS
    | DEGREES
    | SUBJECT_PRONOUNS
    | {"be", "been", "to", "out", "back", "away"}
)
_NEVER_IN_NAMES = AUXILIARIES | (SUBJECT_PRONOUNS - {"i"}) | {"be", "to", "than", "that", "or"}
_OUTER = "\"'?.,!():;[]"
_QUOTED_NAME = re.compile(r"""(?<!\w)(["'])[A-Z][\w-]*(?:(?: (?:of|the|and|in|for|to|a))* [A-Z][\w-]*)+\1(?!\w)""")
_COMMON_END = re.compile(r"(?:s|ing|ed|ly|ion|ism|ity|ment|ness|our|i[sz]e|ify)$")
_PEOPLES = re.compile(r".+(?:an|ish|ese|ic)$")
_NAMES = re.compile(
    r"\b(?:united (?:nations|states|kingdom)|european union|middle east|cold war|world war|world cup|wall street|"
    r"white house|supreme court|social security|electoral college|nobel (?:peace )?prize|boy scouts|new deal|"
    r"second amendment|first amendment|civil war|north korea|south korea|"
    r"south africa|roman empire|british empire|industrial revolution|french revolution)\b",
    re.I,
)
"""Names made of common words that titles are often about; no rule tells them from other words."""


def lowered(text: str) -> str:
    """The text in the case of a sentence, where it is a headline or all in capitals; any other text as it is."""
    words = text.split()
    if text.isupper() and len(words) > 2:
        return _shouted(text)
    if text.islower():
        text = re.sub(r"\b(?:[a-z]\.){2,}|(?<=the )(?:us|usa|uk|eu|un)\b", lambda m: m[0].upper(), text)
        return " ".join(_named(word) for word in text.split())
    if not _is_title(words) or _only_names(text, words):
        return text
    kept = [words[0], *(_in_sentence(words, i) for i in range(1, len(words)))]
    return _names_again(" ".join(kept), text)


def _only_names(text: str, words: list[str]) -> bool:
    """'A or B' by itself is often of works and people, whose names keep their capitals."""
    inner = [word.strip(_OUTER).lower() for word in words]
    if ":" in text or re.match(r"(?:who|what|which|how|why|when|where)\b", text, re.I):
        return False
    return any(w in ("or", "vs", "versus") for w in inner) and not any(w in AUXILIARIES for w in inner)


def _is_title(words: list[str]) -> bool:
    """Nearly all that is not a small word has a capital, and more of it than names have."""
    if len(words) < 2:
        return False
    inner = [w for i, w in enumerate(words[1:]) if w.strip(_OUTER)[:1].isalpha() and not words[i].endswith((".", "?"))]
    content = [w for w in inner if w.strip(_OUTER).lower() not in _SMALL]
    capitals = [w for w in content if w.strip(_OUTER)[:1].isupper()]
    if any(w[0].isupper() and w.strip(_OUTER).lower() in _NEVER_IN_NAMES for w in inner if not w.isupper()):
        return len(capitals) >= 0.75 * len(content)
    if len(capitals) < len(content):
        return False
    common = [w for w in capitals if is_common(w)]
    first = words[0].strip(_OUTER)
    headless = first[:1].isupper() and first.lower() not in _SMALL and not _sure_name(words[0])
    telling = any(not lookup(w.strip(_OUTER).lower()).startswith("NN") or w.strip(_OUTER).endswith("s") for w in common)
    share = len(common) / len(capitals) if capitals else 0.0
    enough = len(capitals) >= (1 if headless and len(words) == 2 else 2)
    return enough and (share > 0.5 or (share == 0.5 and telling))


def _in_sentence(words: list[str], i: int) -> str:
    word = words[i]
    verbal = words[i - 1].lower() in ("to", "who", "that", "which", "not", "a", "an") and not lookup(word.strip(_OUTER))
    if verbal and word[1:].islower():
        return word.lower()
    if not is_common(word):
        return word
    named = lookup(word.strip(_OUTER)).startswith("NNP") and lookup(word.strip(_OUTER).lower()) == "NN"
    after = words[i + 1] if i + 1 < len(words) else ""
    if named and _sure_name(after):
        return word  # the first name before a surname
    if i == len(words) - 1 and i > 1 and _surname(words[i - 1], word):
        return word
    return word.lower()


def _surname(before: str, word: str) -> bool:
    """Whether the last word of a title, a noun behind a name, belongs to that name."""
    first, lower = before.strip(_OUTER), word.strip(_OUTER).lower()
    named = first[:1].isupper() and first.isalpha() and not lookup(first.lower()) and not _COMMON_END.search(first)
    return named and not _PEOPLES.fullmatch(first) and lookup(lower) == "NN" and not verb_strength(lower)


def _named(word: str) -> str:
    """A small word with a capital, where the lexicon knows it as a name only."""
    bare = re.sub(r"'s$", "", word.strip(_OUTER))
    return word.replace(bare, bare.capitalize(), 1) if bare.islower() and _sure_name(bare.capitalize()) else word


def _sure_name(word: str) -> bool:
    bare = re.sub(r"'s$", "", word.strip(_OUTER))
    return bare[:1].isupper() and not bare.isupper() and lookup(bare).startswith("NNP") and not lookup(bare.lower())


def is_common(word: str) -> bool:
    """Whether a word of a title is written small in a sentence."""
    bare = re.sub(r"'s$", "", word.strip(_OUTER))
    if (
        bare == "I"
        or any(c.isdigit() for c in bare)
        or (len(bare) > 1 and not bare[1:].islower() and "-" not in bare and "/" not in bare)
    ):
        return False
    lower = bare.lower()
    parts = [part for part in re.split(r"[-/]", lower) if len(part) > 1]
    if len(parts) > 1 or len(parts[0] if parts else "") < len(lower):
        return all(lookup(part) and not lookup(part).startswith("NNP") for part in parts)
    if known := lookup(lower):
        return not known.startswith("NNP") and not (known == "VBZ" and lookup(bare).startswith("NNP"))
    return not lookup(bare).startswith("NNP") and _COMMON_END.search(lower) is not None


def _names_again(text: str, original: str) -> str:
    """The names of several words as the original had them."""
    for match in (*_NAMES.finditer(original), *_QUOTED_NAME.finditer(original)):
        text = text[: match.start()] + match[0] + text[match.end() :]
    return text


def _shouted(text: str) -> str:
    """A text in capitals: small, but for names that the lexicon knows in no other way."""

    def small(match: re.Match[str]) -> str:
        lower = match[0].lower()
        named = not lookup(lower) and lookup(lower.capitalize()).startswith("NNP")
        return (
            lower.capitalize() if named or lower == "i" else match[0] if len(lower) < 4 and not lookup(lower) else lower
        )

    text = re.sub(r"[^\W\d_]+", small, text)
    return text[:1].upper() + text[1:]
