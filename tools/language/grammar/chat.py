"""Careless typing: what hangs on at a question's beginning and end and says nothing of the matter ('tho', 'or what').

A story around a question is left as it is: of such a text no statement is made, and the question is taken as it was
asked.
"""

import re

from tools.language.grammar.word_classes import AUXILIARIES

_TAIL = re.compile(
    r"(?<=\w)[\s,]+(?:or (?:what|(?<!yes or )(?<!true or )(?:nah|naw|no)|"
    r"am i (?:wrong|mad|crazy|(?:just|only|being) \w+)|is it just me|something)|yay or nay|yea or nay|"
    r"tho(?:ugh)?|then|lol|lmao|"
    r"tbh|imo|imho|ngl|smh|innit|eh|huh|mate|guys|please|pls|anyway|already|idk(?: anymore)?|these days then)(?=\W*$)",
    re.I,
)
_JUST_ME = re.compile(
    r"(?:is it (?:just|only) me(?:,? or|,? who thinks| that thinks)|"
    r"am i (?:the only (?:one|person) (?:who|that) (?:thinks|believes|feels|finds)|(?:wrong|mad|crazy) (?:to "
    r"think|or)))"
    r"(?: that)? (?=\w+ \w)",
    re.I,
)
_TONE = re.compile(r"(?:^|\s)(?:imo|imho|tbh|ngl|lol|smh|lmao)\b", re.I)
_PUZZLED = re.compile(r"^(?:I )?(?:really |just )?do not (?:get|understand|see) (?=(?:why|how) \w+ \w)", re.I)
_EVEN = re.compile(
    rf"(\b(?:{'|'.join(AUXILIARIES)}) (?:not )?(?:[\w'-]+ ){{1,5}}?)even (?=(?!if|though|when|an?\b|the|in|"
    rf"after|for|more|less|so)\w)",
    re.I,
)
_JUST = re.compile(r"(\bshould (?:[\w'-]+ ){1,3}?)just (?=\w)", re.I)


def plainer(text: str) -> str:
    """The text without what is typed for its tone: 'tho' and 'or what' at its end, 'even' and 'just' in a question."""
    text = re.sub(r",\s*,", ",", _TONE.sub("", text)).lstrip(" ,")
    for _ in range(3):
        text = _TAIL.sub("", text) if len(text.split()) > 3 else text
    text = _JUST_ME.sub("", _PUZZLED.sub("", text))
    return _EVEN.sub(r"\1", _JUST.sub(r"\1", re.sub(r" way (?=too \w+\W*$)", " ", text)))
