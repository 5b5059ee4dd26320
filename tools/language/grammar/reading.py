"""What of a text is asked: the statement of an exam question without its frame, the question after an introduction.

A *frame* asks for a discussion and says nothing of the matter: 'Discuss.', 'Do you agree?', 'Is this still true?'.
"""

import re
from dataclasses import dataclass

from tools.language.grammar.chat import plainer
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.lexicon import words_of
from tools.language.grammar.openers import ECHO
from tools.language.grammar.requests import plainly_asked

_SAYS = r"(?:said|says|wrote|writes|argued|argues|claimed|claims|according to|remarked|declared|once)"
_OPINION = r"(?:statement|view|claim|idea|assertion|opinion|proposition|argument|assessment|judgement|judgment|comment)"
_TASK = (
    r"(?:critically )?(?:discuss|debate|comment|evaluate|assess|consider|analy[sz]e|respond|examine|explain|"
    r"elaborate|"
    r"justify|give|support|use|refer|answer|illustrate|write|include)"
)
_FRAME = re.compile(
    rf"(?:please )?{_TASK}\b.*"
    r"|(?:(?:to what extent|how far|how strongly|in what ways|why) )?(?:do|would|can|could|must|should) (?:you|"
    r"we|one) "
    r"(?:(?:personally|really|strongly|dis)? ?(?:agree|accept|concur|share)|think (?:so|this)|(?:support|"
    r"believe) this)"
    r"\b.*"
    r"|(?:agree|disagree)(?: or (?:dis)?agree)?\W*"
    r"|(?:and |if so,? |if not,? )?(?:why|how)(?:,? (?:and|or) (?:how|why)(?: not)?| not)?"
    r"(?: (?:is|are) (?:this|that|it))?\W*"
    r"|(?:if|and if) (?:so|not|yes|no),? .*"
    r"|what (?:do|would) (?:you|people|we) (?:all )?(?:think|say|reckon|make)\b.*|what (?:are|is) your .*"
    r"|(?:any |your )?(?:thoughts|opinions?|views?|comments?)(?: (?:on|about) (?:this|that|it))?\W*"
    r"|(?:yes or no|(?:true|right|fair) or (?:false|not)|fact or fiction|right or wrong|"
    r"am i (?:right|wrong)|right|no|"
    r"(?:both|all) sides.*|fair(?: enough| point)?|true|false|correct|surely|makes? sense|who agrees|"
    r"anyone agree|thanks|thank you|go)\W*",
    re.I,
)
_STILL_TRUE = re.compile(
    r"(?:but |and )?(?:is|was|are|were) "
    rf"(?:it|this|that|he|she|they|[A-Z]\w+|(?:this|the|his|her|that) (?:{_OPINION}|author)),?"
    r"(?: (?P<how>still|always|ever|really|actually|indeed|necessarily))?"
    r"(?: (?:right|true|correct|so|accurate|wrong|valid|the case|a fact|a fair \w+|justified|convincing|defensible))?"
    r"(?: (?:today|now|nowadays|about this|to (?:say|think|claim) (?:so|this|that)))?\W*",
    re.I,
)
_ENDS_FRAMED = re.compile(
    r"(?:[\s,;.?!–—-]+|: )(?!(?<=: )(?:yes or no|thoughts))(?:(?:do you )?agree(?: or disagree)?|discuss|"
    r"true or (?:false|not)|is (?:that|this) (?:right|true|so|fair)|yes or no|thoughts|(?<=, )fair|cmv|am i wrong|"
    r"right or wrong|what do you think|fact or fiction|myth or reality|(?<=[.,?!] )go)\W*$",
    re.I,
)
_AND_MORE = re.compile(r",? (?:and|but),? (?:if (?:so|not)\b.*|(?:why\b|how\b|to what extent|in what)[^,]*\?)$", re.I)
_OR_NOT = re.compile(r",? or not\W*$", re.I)
_ORDERS = re.compile(r"(?:and |but |just |please )*do not\b", re.I)
_OTHERS = re.compile(r",? (?:while|whereas|but) (?:others|other people|some)\b.*$", re.I)
_QUOTED = re.compile(r"""(?P<before>[^"'?]*?)(?P<mark>["'])(?P<quote>\S.*)$""")
_OTHERS_THINK = re.compile(
    r"(?:but )?(?:others|other people|some others) (?:think|believe|argue|say|feel|claim)\b", re.I
)
_ANSWERED = re.compile(r"\?\s*[-–—:]\s*(?P<answer>[A-Z]{2,})\W*$")
_BREAK = re.compile(r"(?<=[?!])[\"')\]]*\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Reading:
    """`text` is what is at issue, a question if `asks`. `asked` says that an answer is asked for, be it by a frame.

    `given` is what came before it, in full sentences. `how` is a frame's adverb ('Is this still true?'), `answered`
    says that the answer was given with the question, `framed` that a frame was there, `quoted` that it is about a
    quotation.
    """

    text: str
    asks: bool
    asked: bool
    given: tuple[str, ...] = ()
    how: str = ""
    answered: bool = False
    framed: bool = False
    quoted: bool = False


def read(text: str) -> Reading:
    """Take a tidy text apart."""
    marked = _ANSWERED.search(text)
    answered = marked is not None and marked["answer"] in ("YES", "NO")
    text = _ANSWERED.sub("?", text)
    quote, rest = _quotation(text)
    parts = ([quote] if quote else []) + _sentences(rest)
    parts, framed, how = _without_frames(_without_wishes(parts))
    if not parts:
        return Reading("", asks=False, asked=framed)
    last = parts[-1]
    last = _OTHERS.sub("", _AND_MORE.sub("?", last))
    tail = _ENDS_FRAMED.sub("", last) if len(words_of(last)) > 2 else last
    framed = framed or tail != last
    tail = plainer(plainly_asked(_OR_NOT.sub("?", tail)))
    asks = tail.rstrip("\"')").endswith("?") or (tail != last and last.endswith("?"))
    return Reading(tail, asks, asks or framed, tuple(parts[:-1]), how, answered, framed, bool(quote))


def _sentences(text: str) -> list[str]:
    from tools.language.sentences import split_sentences

    if not re.search(r"[.!?][\"')]*\s+\S", text):
        return [text] if text.strip() else []
    found: list[str] = []
    for piece in _BREAK.split(text):
        for sentence in split_sentences(piece):
            joins = re.match(r"or\b", sentence, re.I) and found and found[-1].endswith("?")
            if joins:
                found[-1] = f"{found[-1].rstrip(' ?')}, {sentence[:1].lower()}{sentence[1:]}"
            elif re.search(r"\w", sentence):
                found.append(sentence.strip())
    return found


def _without_wishes(parts: list[str]) -> list[str]:
    """The parts without what follows a question and only says how the answer is wanted: 'No lecture, please.'; of what
    some think and what others think, what some think."""
    parts = [part for i, part in enumerate(parts) if not (i and _OTHERS_THINK.match(part))]
    while len(parts) > 1 and parts[-2].endswith("?") and not parts[-1].endswith("?"):
        if finite_verb(words_of(parts[-1])) is not None and not _ORDERS.match(parts[-1]):
            break
        parts = parts[:-1]
    return parts


def _without_frames(parts: list[str]) -> tuple[list[str], bool, str]:
    """The parts without the frames at their end; whether one of those was a question; the adverb in it."""
    asked, how = False, ""
    while len(parts) > 1:
        last = parts[-1]
        true = _STILL_TRUE.fullmatch(last)
        if not (true or _FRAME.fullmatch(last) or ECHO.fullmatch(last)):
            break
        asked = asked or last.endswith("?")
        how = how or ((true["how"] or "") if true else "")
        parts = parts[:-1]
    return parts, asked, how.lower()


def _quotation(text: str) -> tuple[str, str]:
    """A quoted statement that the text is about, and what is asked of it; its speaker is left out."""
    match = _QUOTED.match(text)
    if not match:
        return "", text
    before, mark, rest = match["before"].strip(), match["mark"], match["quote"]
    for close in re.finditer(rf"{mark}(?=[\s.,:;?!(\[–—-]|$)", rest):
        quote, after = rest[: close.start()].strip(), rest[close.end() :]
        follows = re.sub(r"^[\s.,:;]+", "", after)
        said = re.match(rf"(?:{_SAYS}|[-–—]|\()", follows, re.I) or re.match(r"\s*[:,–—-]", after)
        ends = (
            not follows
            or said
            or follows[0].isupper()
            or quote.endswith((".", "?", "!"))
            or after.startswith((".", "?"))
        )
        if len(quote.split()) < 3 or not ends or (before and not before.endswith((",", ":"))):
            return "", text
        lead = before if before and not re.search(_SAYS, before, re.I) and before.endswith(",") else ""
        sentences = _sentences(follows)
        tail = sentences[-1:] if said else sentences
        tail = [s for s in tail if s.endswith("?") or _FRAME.fullmatch(s)] if said else tail
        return f"{lead} {quote}".strip(), " ".join(tail)
    return "", text
