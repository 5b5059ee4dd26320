"""Finds sentences that demand what a question asks, or its contrary. 'The hall must not become a cinema.' answers no to
'Should the corn hall become a cinema?'. Such a sentence needs no judge.

In doubt the result is ''. For example: a report ('He says that …'), a condition, another place or time, a second verb.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tools.language.lexicon import AUXILIARIES, KEYWORD_STOP_WORDS, NEGATORS, PREPOSITIONS, pos_tag
from tools.language.question import yes_or_no_answer

_WORD = re.compile(r"\w+(?:['-]\w+)*")
_IRREGULAR = dict(
    pair.split(">") for pair in "kept>keep paid>pay sold>sell sale>sell built>build left>leave gone>go".split()
)
_LETTERS = 5  # of a stem


def _stem(word: str) -> str:
    """Returns the letters that the forms of a word share: 'clos' for 'closing'."""
    low = word.casefold().removesuffix("'s")
    short = re.sub(r"(?:ing|ed|es|e|s)$", "", _IRREGULAR.get(low, low)) if len(low) > 3 else low
    doubled = len(short) > 3 and short[-1] == short[-2] and short[-1] not in "sl"
    return short[: -1 if doubled else None][:_LETTERS]


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(_stem, words.split()))


_END = _stems(
    "remove drop scrap close shut ban abolish demolish end stop silence axe fell bin ditch go forbid prohibit outlaw "
    "abandon cancel dismantle"
)
_KEEP = _stems("keep stay remain retain save preserve leave protect maintain continue")
_ALLOW, _FORBID = _stems("allow permit"), _stems("ban forbid prohibit outlaw")
_GET = _stems("become open build have get introduce create install turn")
_ACTIONS = _END | _KEEP | _ALLOW | _GET
_STOPPING = _stems("stop prevent block avoid reject oppose refuse")  # before another verb: 'stop them closing it'
_OTHER_VERBS = _stems("let make help delay fail vote consider pretend begin start resist risk hurry hesitate")
_FILLING = _stems("please just simply now really certainly clearly place own old alone way also still all arms heart")
_BODIES = _stems(
    "council county town village borough parish government parliament board trust committee authority city state agency"
)
_NO_CONTENT = KEYWORD_STOP_WORDS | NEGATORS | frozenset("i we you us our my your me".split())

_ASKS = re.compile(r"(?:should|must|ought|shall)\b", re.I)
_LEADS = re.compile(
    r"^(?:(?:(?:yes|no)[,:;.!]|(?:please|so|and|but|in (?:my|our) (?:view|opinion)|frankly|personally|of course)\b"
    r"[,:;]?|(?:I|we) (?:\w+ly |still )?(?:think|believe|feel|(?:would )?say|am sure|are sure)(?: that)?) )*",
    re.I,
)
_ENDS = re.compile(r"[.!;:,]|\s[–—-]\s| (?:because|since|so that|and (?:it|that|this|we|I|they|the)) ", re.I)
_OPEN = re.compile(  # a condition, a report, a doubt or a part of the whole
    r"\?|\b(?:if|unless|until|till|except|provided|only|whether|perhaps|maybe|might|partly|half|some|rather than|"
    r"instead|who|why|how|when|once|than|say|says|said|claims?|claimed|argues?|argued|asks?|asked|told|tells?|"
    r"proposes?|proposed|plans?|planned|suggests?|suggested|motion|petition|called|calls|wrote|writes|thinks|believes|nobody|"
    r"no one|hardly|at least|for now|yet|another|others?|otherwise)\b",
    re.I,
)
_TAKEN_BACK = re.compile(
    r"\b(?:but|unless|if|until|except|provided|though|although|only|(?:they|people|some|many|he|she) "
    r"(?:say|says|said|tell|told|think|thinks|claim|claims|wrote))\b",
    re.I,
)
_SPELLED_OUT = (
    ("’", "'"),
    (r"\b(?:pull|knock|tear|torn|tak|tear|com)(?:e|es|ed|en|ing|s)? ((?:\w+ ){0,4}?)down\b", r"demolish \1"),
    (r"\b(?:turn|vote|throw)(?:ed|ing|s)? (?:down|out)\b", "reject"),
    (r" as (?:it|they) (?:is|are)\b|\bgo(?:es|ing)? on\b(?= [a-z]+ing)", ""),
    (r"\bgo(?:es|ing)? on\b", "continue"),
    (r"\bcannot\b|\bcan't\b", "can not"),
    (r"n't\b", " not"),
    (r"(?<=[Ie])'d\b", " would"),
    (r"(?<=I)'m\b", " am"),
)
_NOT = r"(?P<no>(?:not|never|no longer) )?"
_MODAL = re.compile(
    rf"^(?P<subject>(?P<none>no (?=\w))?.*?)\b(?:should|must|ought to|shall|can(?= not)|(?:do(?:es)? (?P<need>not) )?"
    rf"(?:needs? to|ha(?:s|ve) to)) {_NOT}(?P<rest>.+)",
    re.I,
)
_FRAMES = (
    _MODAL,
    re.compile(
        r"^(?:I|we|our (?:\w+ ){1,4}?)(?: ?(?:am|are|is|was|were))? ?(?:all |\w+ly )?"
        r"(?:(?P<no>against|opposed to|opposes?|objects? to|rejects?|voted? against)|in favour of|supports?|backs?|"
        r"(?:would )?welcomes?|favours?|voted? for|(?<=are )for|(?<=am )for) (?P<rest>.+)",
        re.I,
    ),
    re.compile(rf"^(?:I|we) (?:do )?{_NOT}(?:really |also |all )?(?:want|wish|voted?)(?: to)? (?P<rest>.+)", re.I),
    re.compile(rf"^(?:I|we) would {_NOT}(?:rather |like to |prefer to |vote to )?(?P<rest>.+)", re.I),
    re.compile(r"^(?:(?:I|we) (?:would )?(?:say|vote) )?(?:yes|(?P<no>no)) to (?P<rest>.+)", re.I),
    re.compile(r"^(?:(?P<no>no) (?P<rest>\w.+)|(?P<wanting>.+?) (?:needs?|deserves?) (?P<rest2>(?!to\b).+))", re.I),
    re.compile(r"^(?P<no>do not |never )?(?:let us )?(?P<order>\w+)(?P<rest> .+)", re.I),
)

_QUESTION = re.compile(r"(?:should|is|are|must|would)\b", re.I)
_YOU = re.compile(
    r"^(?:(?:do|would) you (?:agree that |think that |think |want to )?|(?=(?:support|oppose|want|back|favour)\b))",
    re.I,
)
# A person ticked an answer
_TICKS = {
    "yes": r"yes|for|(?:in )?favou?r|supports?|agrees?",
    "no": r"no|against|oppose[sd]?|objects?|disagrees?",
    "": r"unsure|not sure|undecided|neutral|maybe|do(?: not|n['’]?t) know|no (?:opinion|view)|prefer not to say"
    r"|neither(?: \w+ nor \w+)?",
}
_DEGREE = r"(?:(?:strongly|fully|mostly|somewhat|slightly|definitely|probably|tend to) )?"
_NUMBERED = re.compile(r"q(?:uestion)?\W?\d+[a-z]?[\W_]+(?=\w)", re.IGNORECASE)  # 'Q3: ' before a question
_SENTENCE = re.compile(rf"([^:\n]{{2,300}}): {_DEGREE}(?:({_TICKS['yes']})|({_TICKS['no']})|{_TICKS['']})\.(?:\s+|$)")
_SIGNS = {"yes": 1, "no": -1, "": 0}


@dataclass(frozen=True, slots=True)
class _Proposal:
    """What a question proposes. verb: its stem. needed: the stems that a sentence must name. known: all stems. doers:
    the stems of its subject. by_whom: whether the subject is who does it. named: whether the subject is a name."""

    verb: str
    needed: frozenset[str]
    known: frozenset[str]
    doers: frozenset[str]
    by_whom: bool
    named: bool


def demanded_answer(text: str, question: str) -> Literal["yes", "no", ""]:
    """Returns the answer of a sentence that demands what a 'Should …?' question proposes, or its contrary; else ''.
    In a table's row the ticked answer decides: 'Silence bells at night: no.'"""
    ticks = ticked_answers(text)
    if not ticks:
        return _answer(_demanded(text, question))
    signs = {_ticked(header, question, wished) * _SIGNS[side] for header, side, wished in ticks} - {0}
    return _answer(signs.pop() if len(signs) == 1 else 0)


def _answer(sign: int) -> Literal["yes", "no", ""]:
    return "yes" if sign > 0 else "no" if sign else ""


def _ticked(header: str, question: str, wished: bool) -> int:
    """Returns 1 if 'yes' below a column's header says yes to the question, -1 if it says no, 0 in doubt. wished: the
    ticked answer is a wish, such as 'against'. 'Pay for parking: yes' may tell what a resident does."""
    said = _YOU.sub("I ", header)
    asked, proposal = _proposal(said), _proposal(question)
    if _content(header) == _content(question):
        return _SIGNS[yes_or_no_answer(header, question)]
    if proposal is None or (_QUESTION.match(said) and asked is None):
        return 0
    if _content(header) == [proposal.verb] and proposal.named:  # 'Merge: yes.' for 'Should Hill School merge …?'
        return 1
    if asked:
        same = asked.needed <= proposal.known and proposal.needed <= asked.known
        same &= asked.doers <= (proposal.doers if proposal.by_whom else proposal.known)
        return _relation(proposal.verb, asked.verb) if same else 0
    told = wished or proposal.doers <= _BODIES or any(frame.match(said) for frame in _FRAMES[:-1])
    return _demanded(said, question) if told or not proposal.by_whom else 0


def _demanded(text: str, question: str) -> int:
    """Returns 1 if a sentence demands what the question proposes, -1 if it demands the contrary, 0 in doubt."""
    proposal = _proposal(question)
    demand = _demand(text, proposal.verb) if proposal else None
    if proposal is None or demand is None:
        return 0
    sign, subject, rest = demand
    verbs = [w for w in _content(rest) if w in _ACTIONS | _STOPPING or w == proposal.verb]
    if verbs and verbs[0] in _STOPPING and (len({*verbs}) > 1 or verbs[0] not in _END):
        sign, verbs = -sign, verbs[1:]
    if len(verbs) > 1 and verbs[0] in _KEEP:  # 'It must stay closed.'
        verbs = verbs[1:]
    turned = {_relation(proposal.verb, verb) for verb in verbs}
    if not verbs and not subject:  # 'We want no cinema.'
        turned = {int(proposal.verb in _GET)}
    return sign * turned.pop() if len(turned) == 1 and _is_about(proposal, subject, rest) else 0


def _relation(asked: str, said: str) -> int:
    """Returns 1 if both verbs ask the same, -1 if they ask the contrary, 0 in doubt."""
    if asked == said:
        return 1
    for one, other in ((_END, _KEEP), (_ALLOW, _FORBID), (_GET, _END)):
        for here, there in ((one, other), (other, one)):
            if asked in here and said in here | there:
                return 1 if said in here else -1
    return -(asked not in _ACTIONS and said in _KEEP)  # 'Keep the allotments.' for 'Should they sell …?'


def _content(words: str) -> list[str]:
    return [_stem(w) for w in _WORD.findall(words) if w.casefold() not in _NO_CONTENT]


def _proposal(question: str) -> _Proposal | None:
    """Returns what the question proposes; None for questions with a second verb or a negation."""
    opening = _ASKS.match(question)
    asked = re.sub(r"\blet\b ", "", _spelled_out(question), count=1)  # 'Should Hill let shops open?'
    words = _WORD.findall(asked[opening.end() :]) if opening else []
    low = [w.casefold() for w in words]
    places = [i for i in range(1, len(words)) if _is_verb(low, i)]
    certain = [i for i in places if _stem(low[i]) in _ACTIONS - _GET]
    twice = len({_stem(low[i]) for i in certain}) > 1 or {*map(_stem, low)} & _OTHER_VERBS
    if not places or twice or {*low} & (NEGATORS | {"or", "if", "only", "when"}):
        return None
    at = (certain or places)[0]
    subject, object_ = (_heads(part) for part in (words[:at], words[at + 1 :]))
    needed = object_ or subject
    doers, known = (frozenset(_content(" ".join(part))) for part in (words[:at], words))
    named = all(word[0].isupper() for word in words[:at])  # a town, whose council or people may do it
    by_whom = bool(object_) and not named
    return _Proposal(_stem(low[at]), needed, known, doers, by_whom, named) if needed else None


def _is_verb(low: Sequence[str], at: int) -> bool:
    word, before = low[at], low[at - 1]
    if word in AUXILIARIES or word in KEYWORD_STOP_WORDS or before in ("the", "a", "an", "their", "our", "its", "of"):
        return False
    return _stem(word) in _ACTIONS or pos_tag(word) in ("VB", "VBP", "VBN", "VBD")


def _heads(words: Sequence[str]) -> frozenset[str]:
    """Returns the stems of the words before a preposition that no word follows: 'hall' of 'the old corn hall'."""
    ends = (i for i, w in enumerate(words) if w.casefold() in PREPOSITIONS | {"to"})
    own = words[: next(ends, len(words))]
    content = [*(bool(_content(w)) for w in own), False]
    return frozenset(_stem(w) for i, w in enumerate(own) if content[i] and not content[i + 1])


def _spelled_out(text: str) -> str:
    for pattern, full in _SPELLED_OUT:
        text = re.sub(pattern, full, text)
    return text


def _demand(text: str, verb: str) -> tuple[int, str, str] | None:
    """Returns a demand's sign (-1: against it), the subject of its modal verb, and the words after the verb."""
    said = _LEADS.sub("", _spelled_out(text).strip(" \n\"“”‘'("), count=1)
    end = _ENDS.search(said)
    clause, after = (said[: end.start()], said[end.end() :]) if end else (said, "")
    if _OPEN.search(clause) or _TAKEN_BACK.search(after) or after.startswith("?"):
        return None
    frame = next((found for pattern in _FRAMES if (found := pattern.match(clause))), None)
    told = frame.groupdict("") if frame else {}
    order, rest = told.get("order", ""), told.get("rest") or told.get("rest2", "")
    if order and re.match(r"\s?and\b", after):  # 'Cut it down, and all is lost.'
        return None
    command = (
        not order or _stem(order) in {*_ACTIONS, *_STOPPING, verb} or pos_tag(order.casefold()) in ("VB", "VBP", "JJ")
    )
    if not rest or not command:
        return None
    rest, none = re.subn(r"^no (?=\w)", "", rest)
    denials = none + sum(bool(told.get(name)) for name in ("none", "need", "no"))
    subject = told.get("subject", "").removeprefix(told.get("none", ""))
    doubtful = denials > 1 or {w.casefold() for w in _WORD.findall(f"{subject} {rest}")} & (NEGATORS | {"without"})
    return None if doubtful else (1 - 2 * denials, subject, order + rest)


def _is_about(proposal: _Proposal, subject: str, rest: str) -> bool:
    """Whether a demand names all that the question needs, and nothing of weight that the question does not name."""
    said, after = {*_content(f"{subject} {rest}")}, {*_content(rest)}
    extra = {*_content(re.sub(r"\b\w+ing\b", "", rest))} - proposal.known - _ACTIONS - _STOPPING - _FILLING
    extra -= frozenset() if proposal.by_whom else _BODIES
    named = proposal.named and proposal.needed <= proposal.doers and proposal.doers & said
    alone = not subject and said == {proposal.verb} and re.fullmatch(r"\W*(?:(?:the|an?|any) )?\w+\W*", rest)
    told = proposal.needed <= said or named or alone  # 'We oppose a ban.'
    if extra or not told or said & _OTHER_VERBS:
        return False
    if proposal.by_whom and not proposal.needed <= after and after & proposal.doers:
        return False  # 'The train should replace the bus.' for 'Should the bus replace the train?'
    same = {*_content(subject)} <= proposal.known
    body = not proposal.by_whom and {*_content(subject)} & _BODIES  # whoever is to do it
    return same or bool(body and proposal.needed <= after)


def is_tick(value: str) -> bool:
    """Whether a value is such an answer."""
    return bool(_SENTENCE.fullmatch(f"It: {value.strip('.').lower()}."))


def tick_sentence(question: str, value: str) -> str:
    """Returns 'Silence bells at night: no.' for the column 'silence_bells_at_night' and the value 'No'."""
    asked = " ".join(_NUMBERED.sub("", question, count=1).replace("_", " ").split()).rstrip(" ?:.")
    said = value.lower() if is_tick(value) else value  # a remark keeps its capitals
    return f"{asked[:1].upper()}{asked[1:]}: {said.rstrip('.')}."


def ticked_answers(text: str) -> list[tuple[str, str, bool]]:
    """Returns for each such sentence that begins the text its question, its side ('yes', 'no', or '' for the undecided)
    and whether the answer is a wish, such as 'against'; 'no' may also tell a fact."""
    found, at = list[tuple[str, str, bool]](), 0
    while match := _SENTENCE.match(text, at):
        said = match[2] or match[3] or ""
        found.append((match[1], "yes" if match[2] else "no" if said else "", said not in ("yes", "no")))
        at = match.end()
    return found
