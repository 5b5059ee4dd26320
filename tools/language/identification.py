"""Identifies the language of documents and questions, and recognises greetings."""

import re
from functools import cache
from typing import TYPE_CHECKING

from tools.language.lexicon import ENGLISH_MARKERS, FOREIGN_OPENERS, is_word
from tools.translation import mark, spoken_language, tr

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_WORD = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT = re.compile(
    "[\u0370-\u1cff\u1f00-\u1fff\u2e80-\ua4cf\ua830-\ud7ff\uf900-\ufaff\ufb13-\ufefc\uff66-\uffdc]"
)
_QUESTION_LANGUAGES = frozenset("cs da de el es et fi fr hr hu id it lt lv nb nl no pl pt ro sk sl sv tr vi".split())
"""Languages in Latin script that questions may be in. Among hundreds of languages none would be probable enough."""
_CODES = {"yue": "zh"}  # the classifier takes traditional Chinese characters for Cantonese
_ENGLISH, _FEWEST_COMMON = 0.06, 3  # least share of common words; least number of different common words
_FEWEST_SIGNS = 8
_SURE_PROBABILITY, _LIKELY, _EVEN = 0.9, 0.7, 0.5
_LIKELIEST = 0.45  # least probability among the languages that a question may be in
_ENGLISHES = ("en", "pcm")  # careless English reads as Nigerian Pidgin to the classifier
_SAMPLE = 3_000  # characters from each of three places
_FEWEST = 20  # words; scripts without spaces have fewer
_FEWEST_LETTERS = 60


def language_of(text: str) -> str:
    """Returns the ISO 639-1 code of a text's language; '' if the text is too short or the language is uncertain.
    Function words identify English. A naive Bayes classifier over byte n-grams (Lui and Baldwin 2012, langid.py)
    identifies other languages. Texts in other scripts always go to the classifier."""
    if len(text) > 3 * _SAMPLE:  # a cover page or a foreign abstract must not decide
        middle = (len(text) - _SAMPLE) // 2
        text = " ".join((text[:_SAMPLE], text[middle : middle + _SAMPLE], text[-_SAMPLE:]))
    words = _WORD.findall(text.casefold())
    if not words:
        return ""
    common = [w for w in words if w in ENGLISH_MARKERS]
    if len(common) >= _ENGLISH * len(words) and len(set(common)) >= min(_FEWEST_COMMON, len(words) // 8):
        return "en"
    told_by_script = is_of_another_script(text, _FEWEST_SIGNS)
    if not told_by_script and len(words) < _FEWEST and sum(map(len, words)) < _FEWEST_LETTERS:
        return ""
    code, probability = _classifier().classify(" ".join(words))
    return _CODES.get(code, str(code)) if told_by_script or probability >= _SURE_PROBABILITY else ""


def is_of_another_script(text: str, fewest: int = 1) -> bool:
    """Whether half of the letters, and at least `fewest`, belong to scripts that English does not use."""
    letters = "".join(_WORD.findall(text))
    return len(_OTHER_SCRIPT.findall(letters)) >= max(fewest, len(letters) / 2)


def _likeliest_language(text: str) -> str:
    """Returns the ISO 639-1 code of the likeliest language other than English; '' if none is likely."""
    ranked = _classifier().rank(" ".join(_WORD.findall(text.casefold())))
    if is_of_another_script(text):
        likeliest = str(ranked[0][0])
        return _CODES.get(likeliest, likeliest)
    among = [(float(probability), str(code)) for code, probability in ranked if code in _QUESTION_LANGUAGES]
    best, code = max(among)
    return code if best >= _LIKELIEST * sum(probability for probability, _ in among) else ""


def name_of_language(code: str, within: str = "") -> str:
    """Returns the name of a language; the quoted code if unknown. within: the language of the name (ISO 639-1); by
    default the current language."""
    from babel import Locale

    found = Locale(within or spoken_language()).languages.get(code)
    return str(found or tr("the language '{code}'", code=code))


def code_of_language(name: str, text: str) -> str:
    """Returns the ISO 639-1 code of a language's English name; if the name is unknown, of the text's likeliest language
    other than English. Returns '' for English, without a name, or if no language is likely."""
    from babel import Locale

    codes = {str(known).casefold(): str(code).partition("_")[0] for code, known in Locale("en").languages.items()}
    code = codes.get(name.casefold()) or _likeliest_language(text)
    return "" if code == "en" or not name else code


@cache
def _classifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


_NOUN = re.compile(r"[a-z]{3,}(?:ism|isation|ization|ing|ship|hood|ness|ption|ology)$")  # 'veganism', 'fracking'
_OPENERS = frozenset(
    "is are am do does did should can could would has have must what how why who when which where".split()
)
_TELLING = frozenset("the teh hte should shoud shuld shud would woud wud which wich".split())
"""Words that no other language has, and their commonest misspellings."""


def question_words(text: str) -> list[str]:
    """Returns the words of a question; an apostrophe splits no word."""
    return re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text)


def question_language(question: str) -> str:
    """Returns the name of a question's language; '' if the language is English or uncertain."""
    words = question_words(question)
    if not words or reads_as_english(question):
        return ""
    language = _likeliest_language(question) or FOREIGN_OPENERS.get(words[0].casefold(), "")
    return name_of_language(language) if language else ""


def reads_as_english(question: str) -> bool:
    """Whether a question is in English. The lexicon and function words decide for nearly all questions. The classifier
    decides for the rest only, because it costs a second and 100 MB."""
    words = question_words(question)
    if not words or is_of_another_script(question) or words[0].casefold() in FOREIGN_OPENERS:
        return False
    english = is_english(words)
    all_known = all(_is_known(w) or is_word(w.removesuffix("s")) for w in _words_but_names(words))
    if english and (all_known or any(w.casefold() in ENGLISH_MARKERS for w in words)):
        return True
    begins = words[0].casefold() in _OPENERS and any(map(_is_known, _words_but_names(words)[1:]))
    latin = " ".join(w for w in _WORD.findall(question.casefold()) if not _OTHER_SCRIPT.search(w))
    code, probability = _classifier().classify(latin)
    if str(code) == "en" and probability >= _EVEN:  # likelier than all other languages together
        return True
    if (english or begins) and (str(code) in _ENGLISHES or probability < _LIKELY):
        return True
    return not _TELLING.isdisjoint(map(str.casefold, words)) and not _likeliest_language(question)


def is_english(words: list[str]) -> bool:
    """Whether three fifths of the words, or half of up to three words, are in the lexicon. Inner names do not count."""
    inner = _words_but_names(words)
    return sum(map(_is_known, inner)) >= (0.5 if len(inner) <= 3 else 0.6) * len(inner)


def _is_known(word: str) -> bool:
    return is_word(word) or is_word(word.split("'")[0]) or _NOUN.search(word.lower()) is not None


def _words_but_names(words: list[str]) -> list[str]:
    """Returns the words without names and acronyms; all words if no others remain."""
    return [w for i, w in enumerate(words) if w.islower() or (i == 0 and _is_known(w))] or words


# Greetings and thanks

_LONGEST_GREETING = 80  # characters
_HELLO = (
    "hi|hello|hey|hiya|howdy|yo|greetings|hallo|hola|bonjour|bonsoir|salut|ciao|moin|servus|namaste|merhaba|hej|"
    "good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|how(?:'s| is) it going|"
    "how (?:are|r) (?:you|u)(?: doing)?|what's up|nice to meet you"
)
_WHO_YOU_ARE = (
    "(?:and |so )?(?:(?:who|what) (?:are|r) (?:you|u)|(?:who|what)(?:'s| is) steelman|what (?:do|can) (?:you|u) do|"
    "how (?:do you|does steelman) work|what can i ask(?: (?:you|u))?|(?:can|could) you help(?: me)?|"
    "are you (?:a |an )?(?:ai|bot|robot|human|person|chatbot)|introduce yourself|help(?: me)?)"
)
_THANKS = "thanks|thank (?:you|u)|thx|many thanks|cheers|danke|merci|gracias"
_BESIDE = "there|all|everyone|everybody|again|today|steelman|friend|so much|very much|a lot"


def _run_of(openers: str) -> re.Pattern[str]:
    """Returns a pattern for one or more of these openers, each perhaps with words such as 'there' or 'again'."""
    return re.compile(rf"(?:(?:{openers})(?: (?:{_BESIDE}))*(?: |$))+")


_GREETS, _THANKED = _run_of(f"{_HELLO}|{_WHO_YOU_ARE}|{_THANKS}"), _run_of(_THANKS)


def reply_to_greeting(text: str) -> str:
    """Returns the reply to a greeting, to thanks or to 'who are you?'; '' for a text that says more."""
    said = " ".join(question_words(text)).casefold().replace("’", "'")
    if len(text) > _LONGEST_GREETING or not _GREETS.fullmatch(said):
        return ""
    return mark("You are welcome!") if _THANKED.fullmatch(said) else mark("Hello!")
