"""Pages that ask for something instead of showing their text, recognised by their words."""

import re
from typing import Literal

Wall = Literal["human", "login", "payment", "cookies", "script"]

_READ = 20_000  # characters: whoever asks for something does so at the beginning
_REASONS: dict[Wall, str] = {
    "human": "asks whether the reader is human",
    "login": "a login is asked for",
    "payment": "a subscription is asked for",
    "cookies": "consent to cookies is asked for",
    "script": "shows nothing without JavaScript",
}
_WORDS: dict[Wall, tuple[str, ...]] = {
    "human": (
        r"captcha|are you (?:a )?(?:human|robot)|not a (?:ro)?bot|you are (?:a )?human|just a moment\W",
        r"checking (?:if the site|your browser)|unusual (?:traffic|activity)|ddos protection",
        r"security (?:check|verification)",
    ),
    "login": (
        r"(?:log|sign) ?in (?:or \w+(?: \w+){0,5} )?to (?:continue|view|read|access|see|keep)|login required",
        r"(?:must|need to) (?:be (?:logged|signed)|log|sign) ?in|please (?:log|sign) ?in|members only",
    ),
    "payment": (
        r"subscribe (?:now |today )?(?:to|and) (?:continue|read|keep|unlock|get (?:full|unlimited))",
        r"already a subscriber|(?:only )?(?:for|available to) (?:our )?subscribers|subscribers only",
        r"subscription (?:is )?required|to (?:continue|keep) reading|unlock this (?:article|story)",
        r"reached your (?:\w+ )?limit|free articles? (?:left|this)",
    ),
    "cookies": (
        r"(?:accept|consent to|enable|allow|uses?) (?:all |the use of |of )?cookies|before you continue to",
        r"cookies? (?:are|must be|is|have been) \w+|cookie (?:policy|settings|preferences|consent)",
    ),
    "script": (
        r"(?:enable|requires?|turn on|activate|without|need|run) java ?script",
        r"java ?script (?:\w+ ){0,3}(?:disabled|enabled|required|turned|available|run)",
    ),
}


def wall(text: str, *kinds: Wall) -> str:
    """What a text asks for, in words; empty when it asks for nothing. All kinds are looked for unless some are named.

    Only for texts that are short for a page: an article about paywalls uses the same words.
    """
    start = text[:_READ].lower()
    for kind in kinds or _WORDS:
        if any(re.search(words, start) for words in _WORDS[kind]):
            return _REASONS[kind]
    return ""
