"""Which sentences can stand alone: what an extractive writer may quote without the sentences around it."""

import re

SHORTEST, LONGEST = 7, 45
"""Words in a sentence that may be quoted."""

# A sentence that opens with one of these leans on the one before it.
_LEANING = re.compile(
    r"""^["'“‘(]?(?:
    this|that(?!\s+(?:is\s+why\s+)?\w+\s+(?:who|which))|these|those(?!\s+who)|it|its|they|their|them|he|she|his|her|him|here(?!\s+and\s+there)|there(?:fore|by)|such(?!\s+(?:\w+\s+){1,2}as\b)|
    however|but|and|or|nor|so|yet|thus|hence|then|also|moreover|furthermore|besides|additionally|similarly|likewise|
    indeed|instead|otherwise|nevertheless|nonetheless|meanwhile|consequently|accordingly|finally|lastly|first(?:ly)?,|
    second(?:ly)?,|third(?:ly)?,|next|again(?!\s+and\s+again)|still,|rather,|conversely|overall|in\s+(?:this|that|these|those|such|addition|contrast|conclusion|
    short|turn|fact|other\s+words|either\s+case|both\s+cases|the\s+(?:same|first|second|latter|former))|on\s+the\s+(?:other|contrary|one\s+hand)|
    as\s+(?:a\s+result|such|well|mentioned|noted|above)|for\s+(?:example|instance|this|that|these|the\s+same)|at\s+the\s+same\s+time|after\s+all|of\s+course|
    because\s+of\s+(?:this|that|it)|due\s+to\s+(?:this|that)|if\s+(?:so|not|this|that|it|they)|when\s+(?:this|that|it|they)|while\s+(?:this|that|it|they)|
    another|the\s+(?:same|other|others|latter|former|above|following)|both(?=\s+(?:of\s+)?(?:these|those|are|were|have))|
    neither(?!.*\bnor\b)|either(?!.*\bor\b)|one\s+(?:of\s+(?:these|them)|such)|some\s+of\s+(?:these|them)|many\s+of\s+(?:these|them)|most\s+of\s+(?:these|them)|what\s+is\s+more|
    not\s+only|even\s+so|even\s+(?:this|that|then|if\s+(?:this|that|it|they))|perhaps,|yes,|no,|well,|secondly|thirdly|firstly|
    all\s+(?:of\s+)?(?:this|these|those|that)|with\s+(?:this|that|these)|by\s+(?:this|that|these|doing\s+(?:this|so))|
    without\s+(?:this|that|it|them)|under\s+(?:this|that|such)|to\s+do\s+(?:this|so|that)|doing\s+so|given\s+(?:this|that)|
    who|which|whose|whereas|whereby|where(?![^,]+,)|e\.g|i\.e|see|(?:figure|table|fig\.?)\s+\d+|(?:sources?|photos?|images?)(?:\s*:|\s+(?:by|credit))|
    read\s+more|click|sign\s+up|subscribe|share\s+(?:this|on|via)|copyright(?:\s+by|(?=\s*[©\d(]))
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
# A pronoun early in the sentence with nothing before it that it could stand for: 'they' and 'its' after words that name
# nothing, 'she' unless one person was named; an 'it' that only prepares a clause ('make it harder to …') is no pronoun.
_EARLY_PRONOUN = re.compile(
    r"""^(?:
    (?:(?:about|according|after|all|although|and|as|at|because|before|by|despite|during|even|for|from|if|in|into|like|most|of|on|once|only|
    over|since|so|some|through|to|today|under|unless|until|when|while|with|within|without|yesterday|yet)\s+){1,3}(?:they|them|their|its)|
    (?:\S+\s+){1,3}(?:it(?!\s+(?:\S+\s+){1,3}(?:to|that|for)\b)|this|these)|
    (?!(?:the|an?|each|every|no|any|one)\s)(?:\S+\s+){1,3}(?:he|she|him|his|her)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_POINTS_AWAY = re.compile(
    r"\b(?:(?:the|this|that|these|those)\s+(?:above|aforementioned|motion|proposition|opposition|opponent|policy|proposal|measure|resolution|"
    r"argument|point|approach|issue|article|essay|author|book|paper|idea|case|claim)s?|as\s+(?:stated|discussed|mentioned|noted|argued|seen)|"
    r"above|aforesaid|former|latter|do(?:es|ing)?\s+so|(?:your|you|my|me|mine|our|us)\s+(?:argument|opponent|point|case))\b",
    re.IGNORECASE,
)
_DEMONSTRATIVE = re.compile(
    r"\b(?:(?:this|these|those)\s+(?!as\b|who\b|that\b)|such\s+(?!as\b|(?:\w+\s+){1,2}as\b))\w+", re.IGNORECASE
)
_THAT = re.compile(
    r"\bthat (?:problem|way|case|reason|point|idea|argument|kind|sort|time|moment|policy|system|country|amount|level|"
    r"sense|fact|view|claim|regard|respect|end|goal|day|period|group|state|law|rule|approach|question|issue|position|"
    r"choice|vast|same|much|many)\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"^(?:The|A|Our|One|Another) (?:first|second|third|fourth|fifth|next|final|last|further|other|main|key) "
    r"(?:benefit|reason|argument|point|problem|advantage|issue|factor|question|concern|aspect|example|way|thing|step)\b|"
    r"^By (?:comparison|contrast)\b|\bone and not the other\b|\bthe other(?: one)?[.!]$|"
    r"\b(?:of|for|with|from|by|to|at|on|about|against|behind) that\b(?! of\b)|"
    r"^(?!.*\b\w+s\b.*\bof them\b).*\b(?:none|some|any|all|both|most|many|few|each|one|neither|either) of them\b",
    re.IGNORECASE,
)
_MIDWAY = re.compile(
    r"\b(?:however|therefore|moreover|furthermore|thus|hence|nevertheless|nonetheless|likewise|previously mentioned)\b|"
    r"^(?:\S+ ){1,4}(?:also|too|though)\b|,? (?:too|as well|though|either|instead)[.!]$",
    re.IGNORECASE,
)
# An 'it' or a 'there' that only prepares a clause stands for nothing.
_PREPARES = re.compile(
    r"^(?:it(?: is|'s|’s| was| would be| may be| seems)(?: \S+){0,7} (?:that|to|for|when|if|how|whether|who)\b|"
    r"there\b)",
    re.I,
)
_OPENING = 6
"""Words in which a 'this' or a 'the proposal' points at what stands before the sentence."""
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|me|my|mine|we've|you|your|you're)\b")
_LONGEST_WORD, _LONGEST_ADDRESS = 100, 500  # characters
ADDRESS = re.compile(r"(?:https?://|\bwww\.)[^\s\"“”<>]*[^\s\"“”<>.,;:!?)\]'’]")
"""An address in a text, without the sign that ends the sentence after it."""
_REFERENCE = re.compile(r"\[\d+\]|\[[a-z]{1,4}\]|https?://|www\.|\bet al\b|\bibid\b|\bpp?\.\s*\d", re.IGNORECASE)
_ENDS = re.compile(r"[.!][\"'”’)]*$")
_OPENS = re.compile(r"^[\"'“‘(]?[A-Z0-9]")


def stands_alone(sentence: str) -> bool:
    """Whether a reader who sees only this sentence can know what it says, and it reads as a statement of anybody's.

    A judgement by form: it refuses fragments, questions, sentences that lean on another part of their text or speak
    of their writer, and web-page furniture. What is mined as a side has to pass; what is quoted need not
    (`tools.language.quotable`).
    """
    words = sentence.split()
    if not SHORTEST <= len(words) <= LONGEST or not _ENDS.search(sentence) or not _OPENS.match(sentence):
        return False
    if (
        _LEANING.match(sentence)
        or leans_back(sentence)
        or any(p.search(sentence) for p in (_POINTS_AWAY, _DEMONSTRATIVE, _THAT, _MIDWAY))
    ):
        return False
    return not _REFERENCE.search(sentence) and not _FIRST_PERSON.search(sentence) and is_prose(sentence)


def leans_back(sentence: str) -> bool:
    """Whether the sentence opens with a connective or a pronoun, or points at what stands before it: what its reader
    misses. A 'these' late in a sentence mostly stands for something in it."""
    opening = " ".join(sentence.split()[:_OPENING])
    leaning = _LEANING.match(sentence) and not _PREPARES.match(sentence)
    pointing = any(p.search(opening) for p in (_POINTS_AWAY, _DEMONSTRATIVE, _THAT))
    return bool(leaning or pointing or _EARLY_PRONOUN.match(sentence) or _ORDINAL.search(sentence))


def is_prose(sentence: str) -> bool:
    """Whether the signs in it are in pairs, and its words are a sentence's and not those of a list or a table."""
    return _balanced(sentence) and _reads_as_prose(sentence.split()) and _has_words_to_read(sentence)


def _has_words_to_read(sentence: str) -> bool:
    """What is longer than words that people write (the longest names of places and most of substances have fewer
    letters) is data, broken text or an attempt to spoil a page: no reader is shown it."""
    addresses = ADDRESS.findall(sentence)
    words = ADDRESS.sub("", sentence).split() if addresses else sentence.split()
    return max(map(len, words), default=0) <= _LONGEST_WORD and max(map(len, addresses), default=0) <= _LONGEST_ADDRESS


def _balanced(sentence: str) -> bool:
    pairs = (("(", ")"), ("[", "]"), ("“", "”"))
    return all(sentence.count(a) == sentence.count(b) for a, b in pairs) and sentence.count('"') % 2 == 0


def _reads_as_prose(words: list[str]) -> bool:
    """Headings, lists of names and tables have too many capitals or too few plain words."""
    inner = [w for w in words[1:] if w[0].isalpha()]
    capitals = sum(w[0].isupper() for w in inner)
    return len(inner) >= SHORTEST - 2 and capitals <= 0.4 * len(inner)
