"""Which language a text is in, for telling documents in other languages from English ones."""

import re
from functools import cache
from typing import TYPE_CHECKING

from tools.language.words import ENGLISH_MARKERS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_WORD = re.compile(r"[^\W\d_]+")
_NAMES = dict(
    pair.split(" ")
    for pair in (
        "ar Arabic, be Belarusian, bg Bulgarian, bn Bengali, cs Czech, da Danish, de German, el Greek, es Spanish, "
        "et Estonian, fa Persian, fi Finnish, fr French, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, "
        "id Indonesian, it Italian, ja Japanese, ka Georgian, kk Kazakh, ko Korean, lt Lithuanian, lv Latvian, "
        "mk Macedonian, mr Marathi, nb Norwegian, ne Nepali, nl Dutch, no Norwegian, pl Polish, pt Portuguese, "
        "ro Romanian, ru Russian, sk Slovak, sl Slovene, sr Serbian, sv Swedish, ta Tamil, th Thai, tr Turkish, "
        "uk Ukrainian, ur Urdu, vi Vietnamese, zh Chinese"
    ).split(", ")
)
_ENGLISH, _FEWEST_COMMON = 0.06, 3  # of the words; how many different ones
# Scripts that English does not use: their letters, and the languages that are written in them, the likeliest first.
# Chinese signs stand in Japanese too, so that kana come before them.
_SCRIPTS = (
    ("\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f", ("ja",)),
    ("\u1100-\u11ff\u3130-\u318f\uac00-\ud7af", ("ko",)),
    ("\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff", ("zh", "ja")),
    ("\u0400-\u052f", ("ru", "uk", "bg", "sr", "be", "mk", "kk", "ky", "mn")),
    ("\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff", ("ar", "fa", "ur", "ps", "ug")),
    ("\u0370-\u03ff\u1f00-\u1fff", ("el",)),
    ("\u0590-\u05ff", ("he",)),
    ("\u0900-\u097f", ("hi", "mr", "ne")),
    ("\u0980-\u09ff", ("bn", "as")),
    ("\u0b80-\u0bff", ("ta",)),
    ("\u0e00-\u0e7f", ("th",)),
    ("\u0530-\u058f", ("hy",)),
    ("\u10a0-\u10ff", ("ka",)),
)
_ELSEWHERE = re.compile(f"[{''.join(letters for letters, _ in _SCRIPTS)}]")
_OF_SCRIPTS = [(re.compile(f"[{letters}]"), languages) for letters, languages in _SCRIPTS]
_MANY_KANA = 0.1  # of the letters of a text in Japanese; in Chinese there are none but in names
_FEWEST_SIGNS = 8
_SURE, _LIKELY, _EVEN = 0.9, 0.7, 0.5
_LIKELIEST = 0.45  # of the languages that are named here, where few words are all that there is
_ENGLISHES = ("en", "pcm")  # careless English reads as Nigerian Pidgin to the classifier
_READ = 3_000  # characters from each of three places
_FEWEST = 20  # words; scripts without spaces have fewer
_FEWEST_LETTERS = 60


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; empty where it is too short or not told surely.

    English is told by its function words; everything else by a naive Bayes classifier over byte n-grams
    (Lui and Baldwin 2012, langid.py). Where that is unsure of a text in a script that English does not use, it is the
    classifier's guess if that language is written so, or else the likeliest language of the script.
    """
    if len(text) > 3 * _READ:  # so that a cover page or a foreign abstract does not decide alone
        middle = (len(text) - _READ) // 2
        text = " ".join((text[:_READ], text[middle : middle + _READ], text[-_READ:]))
    words = _WORD.findall(text.casefold())
    if not words:
        return ""
    common = [w for w in words if w in ENGLISH_MARKERS]
    if len(common) >= _ENGLISH * len(words) and len(set(common)) >= min(_FEWEST_COMMON, len(words) // 8):
        return "en"
    likely = _of_script("".join(words))
    if not likely and len(words) < _FEWEST and sum(map(len, words)) < _FEWEST_LETTERS:
        return ""
    code, probability = _classifier().classify(" ".join(words))
    if likely:
        return str(code) if code in likely else likely[0]
    return str(code) if probability >= _SURE else ""


def is_likely_english(text: str) -> bool:
    """Whether the classifier finds English likelier than all other languages together, of a text of any length."""
    code, probability = _classifier().classify(text.casefold())
    return str(code) == "en" and probability >= _EVEN


def is_likely_foreign(text: str) -> bool:
    """Whether the classifier finds a language other than English likely for the words in Latin script, however few."""
    words = _WORD.findall(text.casefold())
    code, probability = _classifier().classify(" ".join(w for w in words if not _ELSEWHERE.search(w)))
    return str(code) not in _ENGLISHES and probability >= _LIKELY


def is_of_another_script(text: str) -> bool:
    """Whether most of the letters are of a script that English does not use, however few there are."""
    return bool(_of_script("".join(_WORD.findall(text)), fewest=1))


def likeliest_language(text: str) -> str:
    """The ISO 639-1 code of the likeliest language, but for English, of a text that may be as short as a question.

    Empty where none is likely. Of a few words in Latin script it is told among the languages that have a name here:
    hundreds of others, which hardly anybody asks in, would share the probability with them.
    """
    words = _WORD.findall(text.casefold())
    ranked = dict(_classifier().rank(" ".join(words)))
    likely = _of_script("".join(words), fewest=1)
    among = {code: float(ranked.get(code, 0.0)) for code in likely or _NAMES if code != "en"}
    best = max(among, key=lambda code: among[code])
    return best if likely or among[best] >= _LIKELIEST * sum(among.values()) else ""


def _of_script(letters: str, fewest: int = _FEWEST_SIGNS) -> tuple[str, ...]:
    """The languages of the script that most of the letters are of; none where that is Latin or there are too few."""
    counts = [len(script.findall(letters)) for script, _ in _OF_SCRIPTS]
    if sum(counts) < max(fewest, len(letters) / 2):
        return ()
    kana, _, signs = counts[:3]
    if kana + signs > len(letters) / 2 and kana >= _MANY_KANA * len(letters):
        return _OF_SCRIPTS[0][1]
    most = max(range(len(counts)), key=lambda i: counts[i])
    return _OF_SCRIPTS[most][1]


def name_of_language(code: str) -> str:
    """What English calls a language; its code in words where the name is not known here."""
    return _NAMES.get(code, f"the language '{code}'")


@cache
def _classifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
