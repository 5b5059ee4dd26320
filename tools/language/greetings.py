"""Greetings and thanks: what people type first and last, and what asks nothing."""

import re

from tools.language.identification import question_words

_LONGEST = 80  # characters
_HELLO = (
    "hi|hello|hey|hiya|howdy|yo|greetings|hallo|hola|bonjour|bonsoir|salut|ciao|moin|servus|namaste|merhaba|hej|"
    "good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|how(?:'s| is) it going|"
    "how (?:are|r) (?:you|u)(?: doing)?|what's up|nice to meet you"
)
_THANKS = "thanks|thank (?:you|u)|thx|many thanks|cheers|danke|merci|gracias"
_BESIDE = "there|all|everyone|everybody|again|today|steelman|friend|so much|very much|a lot"


def _typed(openers: str) -> re.Pattern[str]:
    """A run of such words, with what may stand beside them."""
    return re.compile(rf"(?:(?:{openers})(?: (?:{_BESIDE}))*(?: |$))+")


_GREETS, _THANKED = _typed(f"{_HELLO}|{_THANKS}"), _typed(_THANKS)


def reply_to_greeting(text: str) -> str:
    """'Hello!', or 'You are welcome!' to thanks; empty for a text that is neither, or that says anything else, too."""
    if len(text) > _LONGEST:
        return ""
    said = " ".join(question_words(text)).casefold().replace("’", "'")
    if not _GREETS.fullmatch(said):
        return ""
    return "You are welcome!" if _THANKED.fullmatch(said) else "Hello!"
