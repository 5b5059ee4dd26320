"""Careless typing: a story with a question behind its last comma, and what hangs on at a question's end.

'they shut the pool, wasnt that a mistake tho' tells that the pool was shut and asks 'Was that not a mistake?'.
"""

import re
from collections.abc import Sequence
from itertools import islice

from tools.grammar.boundary import takes_are
from tools.grammar.clause import from_question
from tools.grammar.finite import finite_verb
from tools.grammar.inflect import gerund, is_gerund, verb_strength
from tools.grammar.lexicon import Word, join, words_of
from tools.grammar.openers import strip_tail
from tools.grammar.pronouns import thing_in
from tools.grammar.word_classes import (
    AUXILIARIES,
    BE,
    DEGREES,
    DO,
    HAVE,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

_TAIL = re.compile(
    r"(?<=\w)[\s,]+(?:or (?:what|(?<!yes or )(?<!true or )(?:nah|naw|no|not)|am i (?:wrong|mad|crazy)|is it "
    r"just me|something)|tho(?:ugh)?|then|lol|lmao|"
    r"tbh|imo|imho|ngl|smh|innit|eh|huh|mate|guys|please|pls|anyway|idk|these days then)(?=\W*$)",
    re.I,
)
_FILLER = re.compile(
    r"(?:(?:so|and|but|like|well|tbh|honestly|seriously|surely|or|ngl|lol|genuinely|also|anyway)[, ]+)*"
    r"(?:(?:is|am) (?:it just me|i (?:wrong|mad|crazy|alone)) or )?",
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
_MOST_COMMAS = 6
_TELLING = frozenset(
    "been got had tried bought heard saw read started went moved lost just dont kinda sorta not so".split()
)
_GIVEN = frozenset("considering assuming regarding concerning supposing speaking following including".split())
_INTRODUCE = (PREPOSITIONS | SUBORDINATORS | {"to", "once", "according", "when"}) - {"like"}
_REPORTED = re.compile(
    r"(?:.*?\b)?(?:reckons?|says?|said|reads?|heard|hear|apparently|told|thinks?|claims?|claimed|keeps? "
    r"(?:saying|telling \w+)|told (?:me|us)|swears?|insists?|"
    r"believes?)(?: that)? (?P<what>\w+ \w+.*)",
    re.I,
)
_ASSENT = re.compile(
    rf"(?:{'|'.join(AUXILIARIES)})(?: not)? (?:they|he|she|it|this|that|there|i|we)(?: not)?(?: really| "
    rf"actually| even)?"
    r"(?: (?:got|have|had|having))?"
    r"(?: (?:a point|right|wrong|correct|true|legit|mad|crazy|on to something|onto something|(?:any|some|a bit of) "
    r"(?:truth|sense)(?: (?:to|in) (?:it|this|that))?))\W*",
    re.I,
)
_OPENS = re.compile(r"(?:it|they|he|she|this|that|these|those)\b", re.I)
_PLAN = re.compile(
    r".*?\b(?:(?:want|wants|wanted|plan|plans|planning|going|trying|about|decided|proposing|voted|like|likes) to |"
    r"(?P<be>is|are|keeps?|started|thinking of|thinking about|talking about) (?=\w+ing\b))(?P<what>\w+ .+)",
    re.I,
)
_TOPIC = re.compile(
    r".*\b(?:about|over|debate|discuss|(?:deal|wrong|up) with) (?P<thing>[^,.;]+?)"
    r"(?: (?:at|in|on|all|again|these|this|every|with|last|yesterday|"
    r"today|tonight)\b.*)?",
    re.I,
)
_NEGATED = re.compile(rf"^({'|'.join(AUXILIARIES - {'cannot'})}) not (?!only|all|every)", re.I)
_POINTING = re.compile(
    r"\b(?P<word>it|they|them|this|that|these|those)\b(?! (?:said|kind|sort|way\b(?! (?:too|more|less|better|"
    r"worse))))",
    re.I,
)


def plainer(text: str) -> str:
    """The text without what is typed for its tone: 'tho' and 'or what' at its end, 'even' in a question."""
    text = re.sub(r",\s*,", ",", _TONE.sub("", text)).lstrip(" ,")
    for _ in range(3):
        text = _TAIL.sub("", text) if len(text.split()) > 3 else text
    text = _JUST_ME.sub("", _PUZZLED.sub("", text))
    return _EVEN.sub(r"\1", re.sub(r" way (?=too \w+\W*$)", " ", text))


def spliced(text: str) -> tuple[str, str]:
    """The story before a question, and the question; the story is empty where there is none."""
    mark = "?" if text.endswith("?") else ""
    opening = words_of(text)
    if not opening or not _tells(opening) or strip_tail(text.rstrip(" ?"))[1]:
        return "", text
    for match in islice(re.finditer(r",\s+| [–-] |\.\.+\s*", text), _MOST_COMMAS):
        story, rest = text[: match.start()], text[match.end() :]
        if "," not in match[0] and finite_verb(words_of(story)) is None:
            continue
        rest = rest[_FILLER.match(rest).end() :]  # type: ignore[union-attr]
        rest = _NEGATED.sub(r"\1 ", rest)
        if len(story.split()) < 2 or _introduces(story):
            continue
        if begins_question(words_of(rest), bool(mark)):
            return story, rest
    return "", text


def _tells(opening: Sequence[Word]) -> bool:
    first = opening[0].core
    asks = first in AUXILIARIES and not (first in HAVE | DO and len(opening) > 1 and _no_subject(opening[1]))
    return not asks and first not in ("why", "how", "who", "which", "whose", "whom")


def _no_subject(word: Word) -> bool:
    """'had three …', 'do not get …': a verb without its subject."""
    return word.core == "not" or word.tag in ("CD", "VBN") or word.core in ("a", "been", "to")


def _introduces(story: str) -> bool:
    """'In a democracy', 'If it rains' lead up to the question and belong to it."""
    words = words_of(re.sub(r"^(?:so|ok|okay|well|and|but) ", "", story, flags=re.I))
    first = words[0].core
    if first in SUBORDINATORS or first in ("when", "as", "since", "once", "given", "now"):
        return True
    acts = (
        finite_verb(words) is not None
        or words[0].tag in ("VBN", "VBD")
        or first in _TELLING
        or words[0].adjective
        or _told_of(words[0])
    )
    if not acts or re.search(r"\b(?:or|vs?\.?|versus)\b", story):
        return True
    people = any(w.core in SUBJECT_PRONOUNS - {"it", "one"} for w in words[1:])
    return first in _INTRODUCE and not (people and not any(w.core in RELATIVES for w in words))


def _told_of(word: Word) -> bool:
    """'trying to save', and not 'considering the cost'."""
    return is_gerund(word.core) and not word.preposition and word.core not in _GIVEN


def begins_question(words: Sequence[Word], marked: bool = False) -> bool:
    """Whether a clause begins as a question does: an auxiliary before its subject, or 'what', 'why', 'how'."""
    if len(words) < 3:
        return False
    first, second = words[0].core, words[1]
    if first in ("what", "why", "how"):
        return marked or second.core in AUXILIARIES or first != "what"
    if first in ("which", "who", "where", "when", "whose"):
        return marked and second.core in AUXILIARIES
    if first not in AUXILIARIES or second.core in AUXILIARIES or verb_strength(second.core) > 2:
        return False
    if second.core in SUBJECT_PRONOUNS | {"this", "that", "these", "those"}:
        return True
    if second.preposition or second.adverb or second.core in ("no", "to", "not", "so"):
        return False
    clause = from_question(list(words))
    return bool(clause.rest) and clause.subject != ""


def put_together(story: str, question: str) -> str:
    """The question as one that stands alone, or '' where it leans on the story and its referent is not certain."""
    if _ASSENT.fullmatch(question.rstrip(" ?")):
        told = _REPORTED.fullmatch(story)
        sure = told and finite_verb(words_of(told["what"])) and not _OPENS.match(told["what"])
        return f"{told['what']}?" if told and sure else ""
    found = [m for m in _POINTING.finditer(question) if _points(question, m)]
    if not found:
        return question
    if len({m["word"].lower() for m in found} - {"them"}) > 1:
        return ""
    at = found[0]
    thing = _thing(story, at["word"].lower(), question)
    return f"{question[: at.start()]}{thing}{question[at.end() :]}" if thing and len(found) == 1 else ""


def _points(question: str, match: re.Match[str]) -> bool:
    """Whether a pronoun stands for something that was said; 'that' before a noun or a clause does not."""
    after = words_of(question[match.end() :])
    if match["word"].lower() in ("that", "this", "these", "those") and after:
        before = words_of(question[: match.start()])
        asked = bool(before) and before[-1].core in AUXILIARIES | {"not"}
        if after[0].core == "way" and after[1:2] and (after[1].core in DEGREES or after[1].tag == "JJR"):
            return asked
        return asked and (len(after) == 1 or not (after[0].noun and not verb_strength(after[0].core)))
    first = re.match(r"\S+ (?:not )?it\b", question, re.I)
    return not (first and match.end() == first.end() and _expletive(question))


def _expletive(question: str) -> bool:
    return re.match(r"\S+ it (?:not )?(?:\w+ ){0,4}?(?:to|that|if|when)\b (?=\w)", question, re.I) is not None


def topic_of(story: str) -> str:
    """What a story says that people talk or argue about, or ''."""
    found = _TOPIC.fullmatch(story)
    return found["thing"] if found and _plain(found["thing"]) else ""


def _thing(story: str, word: str, question: str) -> str:
    if word in ("that", "this") or (word == "it" and re.match(r"(?:is|was|will|would) (?:not )?it ", question)):
        plan = _PLAN.fullmatch(story)
        if plan and (done := _doing(plan["what"])):
            return done
    topic = topic_of(story)
    several = word in ("they", "them", "these", "those")
    if topic and takes_are(words_of(topic)) == several:
        return topic
    subject = thing_in(re.sub(r"^(?:.*\b(?:think|thinks|says?|reckons?) )?(?:that )?", "", story), word)
    if (
        subject
        and words_of(subject)[0].core not in _TELLING
        and not re.match(r"(?:my|our|his|her|your|their|the (?:council|government))\b", subject, re.I)
    ):
        return subject
    last = words_of(story)
    open_question = re.match(r"(?:what|how|which|where)\b", question, re.I)
    if open_question and len(last) > 2 and verb_strength(last[-2].core) >= 2 and last[-1].plural == several:
        return last[-1].text
    return ""


def _plain(thing: str) -> bool:
    words = words_of(thing)
    return len(words) <= 5 and not any(w.core in SUBJECT_PRONOUNS | AUXILIARIES | RELATIVES for w in words)


def _doing(action: str) -> str:
    """'close the pool' and 'closing the pool' as the latter."""
    words = words_of(action)
    if len(words) < 2 or any(w.core in AUXILIARIES | RELATIVES | SUBJECT_PRONOUNS | BE for w in words):
        return ""
    if is_gerund(words[0].core):
        return join(words)
    base = words[0].core
    return f"{gerund(base)} {join(words[1:])}" if verb_strength(base) >= 1 else ""
