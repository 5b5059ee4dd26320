"""What of a passage can be quoted: sentences that a reader understands, with what they lean on.

A sentence that leans on the one before it is decontextualised, by the subject of that one in square brackets, or is
quoted with it. An opening 'But' or 'And' is left out, as an editor would: '[S]chools lose more than they gain.'
References, page numbers and addresses in a sentence are no reason to refuse it; a long address is shown by where it
begins. A word of more than a hundred letters that is no address is one: it would fill a page, and nobody reads it.
"""

import re
from dataclasses import dataclass, replace

from tools.language.decontextualising import antecedent_added
from tools.language.lexicon import finite_verb
from tools.language.prose import is_heading, without_mark
from tools.language.sentences import split_sentences
from tools.language.standalone import ADDRESS, is_prose, leans_back
from tools.passages import Passage

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
    r"^(?:read more|click|sign up|subscribe|share (?:this|on|via)|copyright|all rights reserved|see also|photo by|"
    r"(?:dear|hi|hello|thanks?|thank you|regards|yours|sincerely)\b[^.]{0,40}[,.!]?$)|©|"
    r"\bcookies?\b.{0,40}\b(?:accept|policy)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """Words of a passage that can be quoted.

    text: as they stand there, white space folded. shown: as they are read, with square brackets for what was changed or
    added; the same as `text` where nothing was. positions: of its sentences among the passage's. clear: whether a
    reader who sees only this can be expected to understand it.
    """

    passage: Passage
    text: str
    shown: str
    positions: tuple[int, ...]
    clear: bool = True


def units(passage: Passage) -> list[Unit]:
    """What can be quoted of the passage, in its order; of a sentence that can only be guessed at, `clear` is False."""
    sentences = split_sentences(passage.text)
    found: list[Unit] = []
    before = -1  # the position of the last sentence of prose
    for position, sentence in enumerate(sentences):
        if is_heading(sentence):
            before = -1
            continue
        if unit := _unit(passage, sentences, position, before):
            found.append(replace(unit, shown=ADDRESS.sub(_shortened, unit.shown)))
        before = position
    return found


def _unit(passage: Passage, sentences: list[str], position: int, before: int) -> Unit | None:
    own = without_mark(sentences[position])
    if not _quotable(own, LONGEST) or (own != sentences[position] and finite_verb(own.split()) is None):
        return None  # an item of a list may be half a sentence that ends as a whole one does
    text = _without_connective(own)
    shown = _bracketed(text) if text != own else text
    if not leans_back(text):
        return Unit(passage, text, shown, (position,))
    leading = sentences[before] if before == position - 1 and before >= 0 else ""
    if text == own and (added := antecedent_added(own, without_mark(leading))):
        return Unit(passage, own, added, (position,))
    if pair := _with_the_one_before(passage, leading, sentences[position]):
        first = _without_connective(without_mark(leading))
        shown = pair[len(without_mark(leading)) - len(first) :]
        opening = _bracketed(shown) if first != without_mark(leading) else shown
        return Unit(passage, shown, opening, (before, position))
    return Unit(passage, own, own, (position,), clear=False)


def _quotable(sentence: str, longest: int) -> bool:
    words = sentence.split()
    if not SHORTEST <= len(words) <= longest or not _ENDS.search(sentence) or not _OPENS.match(sentence):
        return False
    return is_prose(sentence) and not _FURNITURE.search(sentence)


def _with_the_one_before(passage: Passage, leading: str, sentence: str) -> str:
    """The two sentences as they stand in the passage, or '' where that helps no reader."""
    first = without_mark(leading)
    if not first or without_mark(sentence) != sentence or len(first.split()) + len(sentence.split()) > LONGEST_PAIR:
        return ""
    if not _quotable(first, LONGEST) or leans_back(_without_connective(first)):
        return ""
    pair = f"{first} {sentence}"
    return pair if pair in _SPACES.sub(" ", passage.text) else ""


def _without_connective(sentence: str) -> str:
    match = _CONNECTIVE.match(sentence)
    rest = sentence[match.end() :] if match else ""
    return rest if len(rest.split()) >= SHORTEST else sentence


def _bracketed(text: str) -> str:
    """'schools lose …' as '[S]chools lose …'; a capital stays as it is."""
    return f"[{text[0].upper()}]{text[1:]}" if text[:1].islower() else text


def _shortened(address: re.Match[str]) -> str:
    return address[0] if len(address[0]) <= _LONGEST_ADDRESS else f"{address[0][:_KEPT_OF_IT]}[…]"
