"""Which language a text is in, for telling documents in other languages from English ones."""

import re
from functools import cache
from typing import TYPE_CHECKING

from tools.language.word_lists import ENGLISH_MARKERS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_WORD = re.compile(r"[^\W\d_]+")
_NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "nb": "Norwegian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovene",
    "sr": "Serbian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
_ENGLISH, _FEWEST_COMMON = 0.06, 3  # of the words; how many different ones
_SURE = 0.9
_READ = 3_000  # characters from each of three places
_FEWEST = 20  # words; scripts without spaces have fewer
_FEWEST_LETTERS = 60


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; empty where it is too short or not told surely.

    English is told by its function words; everything else by a naive Bayes classifier over byte n-grams
    (Lui and Baldwin 2012, langid.py).
    """
    words = _WORD.findall(_sample(text).casefold())
    if not words:
        return ""
    common = [w for w in words if w in ENGLISH_MARKERS]
    if len(common) >= _ENGLISH * len(words) and len(set(common)) >= min(_FEWEST_COMMON, len(words) // 8):
        return "en"
    if len(words) < _FEWEST and sum(map(len, words)) < _FEWEST_LETTERS:
        return ""
    code, probability = _classifier().classify(" ".join(words))
    return str(code) if probability >= _SURE else ""


def name_of_language(code: str) -> str:
    """What English calls a language; its code in words where the name is not known here."""
    return _NAMES.get(code, f"the language '{code}'")


def _sample(text: str) -> str:
    """The beginning, the middle and the end: a cover page or a foreign abstract does not decide alone."""
    if len(text) <= 3 * _READ:
        return text
    middle = (len(text) - _READ) // 2
    return " ".join((text[:_READ], text[middle : middle + _READ], text[-_READ:]))


@cache
def _classifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
