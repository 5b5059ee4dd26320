"""Quotable parts of a passage: sentences that a reader understands by themselves, or with the one before them.

An opening 'But' or 'And' is left out, as an editor would: '[S]chools lose more than they gain.'
References, page numbers and addresses in a sentence are no reason to refuse it; a long address is shown by where it
begins. A word of more than a hundred letters that is no address is one: it would fill a page, and nobody reads it.
"""

import re
from dataclasses import dataclass, replace

from tools.language.lexicon import finite_verb
from tools.language.sentences import is_heading, split_sentences, without_mark
from tools.language.speech import said_of_others, speaker_of
from tools.passages import Passage

_FEWEST_ALONE, _MOST_ALONE = 7, 45
"""Words of a sentence that may be taken for a side."""

# A sentence that opens with one of these leans on the one before it.
_LEANING = re.compile(
    r"""^["'“‘(]?(?:
    this|that(?!\s+(?:is\s+why\s+)?\w+\s+(?:who|which))|these|those(?!\s+who)|it|its|they|their|he|she|his|her|
    (?:in|for|with|without|by|under|given|because\s+of|due\s+to|if|when|while|even(?:\s+if)?|to\s+do|doing|by\s+doing|
    all(?:\s+of)?|(?:one|some|many|most)\s+of)\s+(?:this|that|these|those(?!\s+who)|it|they|them|such|so)|
    here(?!\s+and\s+there)|there(?:fore|by)|such(?!\s+(?:\w+\s+){1,2}as\b)|one\s+such|even\s+(?:so|then)|
    however|but|and|or|nor|so|yet|thus|hence|then|also|moreover|furthermore|besides|additionally|similarly|likewise|
    indeed|instead|otherwise|nevertheless|nonetheless|meanwhile|consequently|accordingly|finally|lastly|conversely|
    (?:first|second|third)(?:ly|,)|(?:still|rather|well|yes|no|perhaps),|next|again(?!\s+and\s+again)|overall|
    in\s+(?:addition|contrast|conclusion|short|turn|fact|other\s+words|either\s+case|both\s+cases)|
    (?:in|for)\s+the\s+(?:same|first|second|latter|former)|on\s+the\s+(?:other|contrary|one\s+hand)|
    as\s+(?:a\s+result|such|well|mentioned|noted|above)|for\s+(?:example|instance)|at\s+the\s+same\s+time|after\s+all|
    of\s+course|not\s+only|what\s+is\s+more|another|the\s+(?:same|others?|latter|former|above|following)|
    both(?=\s+(?:of\s+)?(?:these|those|are|were|have))|neither(?!.*\bnor\b)|either(?!.*\bor\b)|
    them|him|who|which|whose|whereas|whereby|where(?![^,]+,)|e\.g|i\.e|see|(?:figure|table|fig\.?)\s+\d+|
    (?:sources?|photos?|images?)(?:\s*:|\s+(?:by|credit))
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
_POINTING = (_POINTS_AWAY, _DEMONSTRATIVE, _THAT)
_ORDINAL = re.compile(
    r"^(?:The|A|Our|One|Another) (?:first|second|third|fourth|fifth|next|final|last|further|other|main|key) "
    r"(?:benefit|reason|argument|point|problem|advantage|issue|factor|question|concern|aspect|example|way|thing|step)\b|"
    r"^By (?:comparison|contrast)\b|\bthe other(?: one)?[.!]$|"
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
_PREPARES_A_CLAUSE = re.compile(
    r"^(?:it(?: is|'s|’s| was| would be| may be| seems)(?: \S+){0,7} (?:that|to|for|when|if|how|whether|who)\b|"
    r"there\b)",
    re.I,
)
_OPENING = 6
"""Words in which a 'this' or a 'the proposal' points at what stands before the sentence."""
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|me|my|mine|we've|you|your|you're)\b")
_LONGEST_WORD, _FARTHEST = 100, 500  # characters
ADDRESS = re.compile(r"(?:https?://|\bwww\.)[^\s\"“”<>]*[^\s\"“”<>.,;:!?)\]'’]")
"""An address in a text, without the sign that ends the sentence after it."""
_REFERENCE = re.compile(r"\[\d+\]|\[[a-z]{1,4}\]|https?://|www\.|\bet al\b|\bibid\b|\bpp?\.\s*\d", re.IGNORECASE)


def stands_alone(sentence: str) -> bool:
    """Whether a reader who sees only this sentence can know what it says, and it reads as a statement of anybody's.

    A judgement by form: it refuses fragments, questions, sentences that lean on another part of their text or speak
    of their writer, and web-page furniture. What is mined as a side has to pass; what is quoted need not
    (`tools.language.quotable`).
    """
    if len(sentence.split()) < _FEWEST_ALONE or not _quotable(sentence, _MOST_ALONE) or is_heading(sentence):
        return False
    refused = (_LEANING, *_POINTING, _MIDWAY, _REFERENCE, _FIRST_PERSON)
    return not needs_context(sentence) and not any(p.search(sentence) for p in refused)


def needs_context(sentence: str) -> bool:
    """Whether the sentence depends on the one before: it opens with a connective or a pronoun, or points back. A
    'these' late in a sentence mostly stands for something in it."""
    opening = " ".join(sentence.split()[:_OPENING])
    leaning = _LEANING.match(sentence) and not _PREPARES_A_CLAUSE.match(sentence)
    pointing = any(p.search(opening) for p in _POINTING)
    return bool(leaning or pointing or _EARLY_PRONOUN.match(sentence) or _ORDINAL.search(sentence))


def is_prose(sentence: str) -> bool:
    """Whether the signs in it are in pairs, and its words are a sentence's and not those of a list or a table."""
    pairs = all(sentence.count(a) == sentence.count(b) for a, b in ("()", "[]", "“”"))
    balanced = pairs and sentence.count('"') % 2 == 0
    # Headings, lists of names and tables have too many capitals or too few plain words.
    inner = [w for w in sentence.split()[1:] if w[0].isalpha()]
    plain = len(inner) >= _FEWEST_ALONE - 2 and sum(w[0].isupper() for w in inner) <= 0.4 * len(inner)
    # What is longer than words that people write (the longest names of places and most of substances have fewer
    # letters) is data, broken text or an attempt to spoil a page: no reader is shown it.
    addresses, words = ADDRESS.findall(sentence), ADDRESS.sub("", sentence).split()
    readable = all(len(w) <= _LONGEST_WORD for w in words) and all(len(a) <= _FARTHEST for a in addresses)
    return balanced and plain and readable


SHORTEST, LONGEST, LONGEST_PAIR = 6, 60, 75
"""Words of a sentence, and of two together, that may be quoted."""

_LONGEST_ADDRESS, _KEPT_OF_IT = 80, 60  # characters of an address that is shown whole, and that is kept of a longer one
_SPACES = re.compile(r"\s+")
# What joins a sentence to the one before and says nothing itself: 'otherwise' and 'nor' say something, and 'but for',
# 'so far' and 'yet to' are something else.
_CONNECTIVE = re.compile(
    r"^(?:(?:but|and|so|yet|also|however|moreover|furthermore|besides|additionally|similarly|likewise|therefore|thus|"
    r"hence|consequently|accordingly|nevertheless|nonetheless|still|indeed|in fact|of course|after all|finally|lastly|"
    r"overall|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|then|meanwhile|in addition|in short|in other words|"
    r"in conclusion|in turn|as a result|by contrast|in contrast|on the contrary|on the other hand|on the one hand|"
    r"at the same time|for example|for instance|what is more|even so|well|yes|no|again)(?:,\s+|:\s+)|"
    r"(?:but|and)\s+(?!for\b|so\b|yet\b|still\b|not\b|also\b)(?=\w)|"
    r"(?:so|yet)\s+(?=(?:I|we|the|a|an|there is|there are|it is)\b))",
    re.IGNORECASE,
)
_OPENS = re.compile(r"^[\"'“‘(\[]*[A-Z0-9£$€]")
_ENDS = re.compile(r"[.!][\"'”’)\]]*(?:\s*(?:\[[\d,\s–-]+\]|\([^()]{0,60}\)))*$")
_FURNITURE = re.compile(
    r"^(?:(?:read more|click|sign up|subscribe|share (?:this|on|via)|copyright|"
    r"all rights reserved|see also|photo by)\b|"
    r"(?:dear|hi|hello|thanks?|thank you|regards|yours|sincerely)\b[^.]{0,40}[,.!]?$)|©|"
    r"\bcookies?\b.{0,40}\b(?:accept|policy)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuotablePart:
    """A part of a passage that can be quoted: a sentence, or two.

    text: as they stand there, white space folded. shown: as they are read, with square brackets for what was changed;
    the same as `text` where nothing was. positions: of its sentences among the passage's. clear: whether a
    reader who sees only this can be expected to understand it.
    """

    passage: Passage
    text: str
    shown: str
    positions: tuple[int, ...]
    clear: bool = True


def quotable_parts(passage: Passage) -> list[QuotablePart]:
    """The quotable parts of a passage in its order; where a reader can only guess what one means, `clear` is False."""
    sentences = split_sentences(passage.text)
    found: list[QuotablePart] = []
    before = -1  # the position of the last sentence of prose
    for position, sentence in enumerate(sentences):
        if is_heading(sentence):
            before = -1
            continue
        denied = said_of_others(sentence, "".join(sentences[position + 1 : position + 2]))
        if not denied and (unit := _quotable_part(passage, sentences, position, before)):
            found.append(replace(unit, shown=ADDRESS.sub(_shortened, unit.shown)))
        before = position
    return found


def _quotable_part(passage: Passage, sentences: list[str], position: int, before: int) -> QuotablePart | None:
    own = without_mark(sentences[position])
    if not _quotable(own, LONGEST) or (own != sentences[position] and finite_verb(own.split()) is None):
        return None  # an item of a list may be half a sentence that ends as a whole one does
    text = _without_connective(own)
    if position == 1 and before == 0 and len(sentences[0].split()) < SHORTEST:  # 'Close it. My children …'
        both = f"{sentences[0]} {own}"
        if _quotable(both, LONGEST_PAIR) and both in _SPACES.sub(" ", passage.text):
            return QuotablePart(passage, both, both, (0, 1))
    if not needs_context(text):
        return QuotablePart(passage, text, _bracketed(text), (position,))
    leading = without_mark(sentences[before]) if before == position - 1 and before >= 0 else ""
    if own == sentences[position] and (pair := _with_the_one_before(passage, leading, own)):
        return QuotablePart(passage, pair, _bracketed(pair), (before, position))
    return QuotablePart(passage, own, own, (position,), clear=False)


def _quotable(sentence: str, longest: int) -> bool:
    words = sentence.split()
    if not SHORTEST <= len(words) <= longest or not _ENDS.search(sentence) or not _OPENS.match(sentence):
        return False
    return is_prose(sentence) and not _FURNITURE.search(sentence)


def _with_the_one_before(passage: Passage, leading: str, sentence: str) -> str:
    """The two sentences as they stand in the passage, without a connective, or '' where that helps no reader or two
    people say them."""
    first = _without_connective(leading)
    if not _quotable(leading, LONGEST) or needs_context(first):
        return ""
    pair = f"{leading} {sentence}"
    fits = len(pair.split()) <= LONGEST_PAIR and pair in _SPACES.sub(" ", passage.text)
    fits = fits and speaker_of(passage, leading) == speaker_of(passage, sentence)
    return pair[len(leading) - len(first) :] if fits else ""


def _without_connective(sentence: str) -> str:
    match = _CONNECTIVE.match(sentence)
    rest = sentence[match.end() :] if match else ""
    return rest if len(rest.split()) >= SHORTEST else sentence


def _bracketed(text: str) -> str:
    """'schools lose …' as '[S]chools lose …'; a capital stays as it is."""
    return f"[{text[0].upper()}]{text[1:]}" if text[:1].islower() else text


def _shortened(address: re.Match[str]) -> str:
    return address[0] if len(address[0]) <= _LONGEST_ADDRESS else f"{address[0][:_KEPT_OF_IT]}[…]"
