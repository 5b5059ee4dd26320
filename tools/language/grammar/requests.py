"""Requests: 'give me both sides on zoos', 'I need the main points for and against zoos', 'explain the row over zoos'.

A request is told by its words: what leads up to the thing is nothing but words of asking and of showing.
"""

import re
from collections.abc import Sequence

from tools.language.grammar.lexicon import Word, join, words_of

_WISHES = frozenset("want need like love looking look trying try hoping seeking interested after curious".split())
_WISHERS = frozenset("i we i'd looking interested curious would need want wanting".split())
_SHOWS = frozenset(
    "give show tell walk talk run take lay set spell outline list present provide summarise summarize explain "
    "describe write assess evaluate examine analyse analyze consider "
    "compare argue steelman discuss help understand know hear see read learn get find sketch weigh make break teach "
    "send bring share offer state".split()
)
_ORDERS = _SHOWS - frozenset("help know hear see read learn get find understand run go bring weigh".split()) | {
    "help",
    "make",
}
_POLITE = frozenset("any can could would will please just kindly so ok okay hi hello hey".split())
_SMALL = frozenset(
    "any chance someone anyone i we i'd i'll would could can will you me us to for in a an the quick brief short "
    "please just kindly really am is "
    "are be so hi hello hey ok okay thanks out up down over through about man myself more some something both "
    "of with "
    "overview summary rundown breakdown balanced neutral fair unbiased impartial honest".split()
)
_ENDS = re.compile(r"[\s,.!]+(?:please|pls|plz|thanks|thank you|thx|cheers)(?: in advance)?\W*$", re.I)
_FOR_AND = re.compile(r"\bfor and (?:\d+ )?(?:reasons |arguments |points )?against\b", re.I)
_EACH = re.compile(r"\b(?:\d+|two|three|four|five|ten) ((?:good |strong )?(?:reasons|arguments|points)\b)", re.I)
_BEFORE_SIDES = re.compile(
    r"^.*?\b(?=(?:both sides|pros (?:and|&) cons|"
    r"(?:arguments?|points|case|reasons) (?:both )?for (?:and|or) against)\b)",
    re.I,
)
_PURPOSE = re.compile(
    r"(?: and (?:the )?(?:\w+ )?(?:case|arguments?|points|reasons?) against(?: it| them)?"
    r"| for (?:(?:my|a|an|the|our) )?(?:class|school|essay|homework|debate|presentation|work|me|us)"
    r"(?: tomorrow| today)?)$",
    re.I,
)
_TASK = re.compile(
    r"(?:(?:i|we) )?(?:am |are |have |have got |got |need |must |had )?(?:to )?(?:write |writing |doing |do |"
    r"preparing |"
    r"working on )?(?:an?|my|our|this) (?:\w+ ){0,2}?(?:essay|debate|paper|presentation|report|speech|project|"
    r"assignment|article|talk|discussion|argument|dissertation|coursework)(?: \w+)? (?:on|about|over|regarding) "
    r"(?P<thing>.+?)(?:,| -| –|\.|;| and| so| but| where| for which)\s.*?"
    r"\b(?:points?|arguments?|sides?|views?|pros|cases?|evidence|reasons?|opinions?|ideas|sources)\b.*",
    re.I,
)

_REASONS_TO = re.compile(
    r"(?:the )?(?:\w+ )?(?:reasons?|arguments?|case) to (?P<deed>.+?),? and (?:the )?(?:\w+ )?"
    r"(?:reasons?|arguments?|case) (?:against(?: it)?|not to)\W*$",
    re.I,
)
_SLASHED = re.compile(r"\bpros ?(?:/|&|vs\.?) ?cons\b", re.I)


def of_both_sides(asked: str) -> str:
    """What is asked from 'both sides', 'pros and cons' and the like on: whatever stands before says how."""
    return _BEFORE_SIDES.sub("", asked, count=1)


def plainly_asked(text: str) -> str:
    """The text without thanks at its end, and without how many arguments are wanted; reasons for something to be done
    and against it ask whether it should be done."""
    text = _REASONS_TO.sub(r"should we \g<deed>?", text)
    return _EACH.sub(r"\1", _FOR_AND.sub("for and against", _ENDS.sub("", _SLASHED.sub("pros and cons", text))))


def requested(text: str) -> str:
    """What a request asks to be shown ('the main points for and against zoos'), or '' where the text is none."""
    if task := _TASK.fullmatch(text):
        return f"the case for and against {task['thing']}"
    words = words_of(text)
    last = _end_of_asking(words)
    if last and words[last - 1].core == "to":  # 'I want to leave'
        return ""
    asking = {word.core for word in words[:last]}
    first = words[0].core if words else ""
    wishes = first in _WISHERS and bool(asking & _WISHES)
    orders = first in _ORDERS or (first in _POLITE and bool(asking & _ORDERS))
    return _PURPOSE.sub("", join(words[last:])) if last < len(words) and (wishes or orders) else ""


def _end_of_asking(words: Sequence[Word]) -> int:
    """Index of the first word that is none of asking; what shows and what is shown may share 'the' and 'both'."""
    end = 0
    while end < len(words) and words[end].core in _WISHES | _SHOWS | _SMALL:
        end += 1
    while end and words[end - 1].core in ("the", "a", "an", "both", "some", "more", "of", "quick", "brief", "about"):
        end -= 1
    return end
