"""How people ask for what speaks against something that only the thread can name: a number, or a side."""

import re

_COUNTERS = (
    r"counter[- ]?(?:arguments?|claims?|points?|evidence|examples?)|counters?|rebuttals?|refutations?|objections?|"
    r"criticisms?|critiques?|replies|reply|responses?|answers?|challenges?"
)
_CASES = r"cases?|arguments?|evidence|points?|reasons?|things?|anything|something|sources?|passages?|studies|study"
_CRITICS = (
    r"(?:the |its |their )?(?:critics?|opponents?|s[ck]eptics?|other side|people who disagree|someone who disagrees)"
)
_REFUTE = (
    r"rebut|refute|counter|contradict|dispute|challenge|attack|oppose|criticis[e]|criticize|debunk|argue against|"
    r"argue with|push back (?:on|against)|disagree with|object to|answer|respond to|reply to"
)
_WORDINGS = (
    rf"(?:\w+[ -]){{0,4}}?(?:{_COUNTERS}) (?:to|against|for|of) ",
    rf"(?:\w+[ -]){{0,4}}?(?:{_CASES}) (?:(?:that |which )?(?:speaks?|argues?|counts?) )?against ",
    rf"(?:\w+[ -]){{0,4}}?(?:{_CASES}) (?:that |which |to )(?:{_REFUTE})s? ",
    r"(?:what|who|which sources?|anything|something) (?:is |are |most )?(?:strongly |there )?"
    r"(?:(?:speaks?|argues?|counts?|stands?|can be said|could be said|is (?:there )?to be said|would speak) )?against ",
    rf"(?:what|who|which sources?) (?:{_REFUTE})s? ",
    r"(?:what|who) disagrees with ",
    r"what(?: is|'s|’s) wrong with ",
    rf"(?:what|how) (?:do|does|would|might|could|can|will) {_CRITICS} (?:say|reply|respond|object|argue|{_REFUTE})"
    r"(?: (?:to|about|against|on))? ",
    rf"(?:how|what) (?:do|does|can|could|would|might|should) (?:you|i|we|one|people) (?:best )?(?:{_REFUTE}) ",
    rf"(?:{_REFUTE}) ",
    r"against ",
)
_POLITE = (
    r"(?:(?:and|but|so|now|then|ok(?:ay)?|please|well),? )*"
    r"(?:(?:can|could|would) you (?:please )?|please )?"
    r"(?:(?:give|show|tell|find|get) (?:me )?|i(?:'d| would) like (?:to (?:see|hear) )?|i want (?:to (?:see|hear) )?|"
    r"(?:what|who)(?:'s|’s| is| are| was| would be| could be) |is there |are there |let me (?:see|hear) )?"
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NOUN = r"(?:claim|source|citation|sentence|quote|quotation|reference|statement|point|argument|number|no\.?|nr\.?)"
_NUMBER = r"(?:(?:no\.?|nr\.?|number) )?[\[(#]?\s*(?P<number>\d{1,3})\s*[\])]?"
_ONE = r"[\[(#]?\d{1,3}[\])]?"
NUMBERED = re.compile(
    rf"(?:the )?(?:{_NOUN} )?{_NUMBER}|(?:the )?(?P<ordinal>{'|'.join(_ORDINALS)}|last)(?: (?:one|{_NOUN}))?", re.I
)
SEVERAL = re.compile(
    rf"(?:the )?(?:{_NOUN}s? )?{_ONE}(?:(?:\s*(?:,|and|or|&|\+|,\s*and)\s*|\s+){_ONE})+",
    re.I,
)
SIDE = re.compile(
    r"(?:the )?(?:side (?P<number>\d{1,2})|(?P<ordinal>first|second|third|fourth|fifth|sixth) side|"
    r"(?P<pro>for|pro|yes|agree)|(?P<con>against|contra|no|disagree))(?:[- ](?:side|case))?",
    re.I,
)
ASKS = re.compile(rf"{_POLITE}(?:the |a |an |any |some |your )?(?:{'|'.join(_WORDINGS)})(?P<what>.+)", re.I)
_MARKS = "'\"‘’“”"
_LONGEST = 160  # characters; whoever writes more asks a question of their own


def argued_with(question: str) -> str:
    """What the question wants argued against, as it names it; empty where it does not ask for that."""
    asked = " ".join(question.split()).rstrip(" ?.!")
    match = ASKS.fullmatch(asked) if len(asked) <= _LONGEST else None
    return re.sub(r",? please$", "", match["what"].strip(), flags=re.I).strip(_MARKS + " ") if match else ""


def refers(what: str) -> bool:
    """Whether that is nothing by itself: a number, several, or 'For' and 'Against'."""
    return any(p.fullmatch(what) for p in (NUMBERED, SEVERAL, SIDE))


def ordinal(word: str) -> int:
    """1 for 'first', 10 for 'tenth'."""
    return _ORDINALS.index(word.lower()) + 1


def bare_name(what: str) -> str:
    """'the Leave it free side' as 'leave it free'."""
    return re.sub(r"^the | (?:side|case)$", "", what.casefold()).strip(_MARKS + " ")
