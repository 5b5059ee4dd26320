"""Follow-ups that argue with the thread's latest answer: 'strongest counter-argument to 2?', and which ones to offer.

A counter-argument makes the same point with the opposite stance (Wachsmuth et al. 2018, 'Retrieval of the Best
Counterargument without Prior Topic Knowledge'). Here the wording is read and resolved against the answer that it speaks
of; the run that follows searches for the perspective that contradicts what was named, ranked by
`agent.evidence.coverage.counter_rank`.
"""

import re
from collections.abc import Sequence

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Countered
from agent.evidence.aspects import aspects_of
from agent.state import OTHER_WAYS, STATE_VERSION, Perspective, RunState, Target
from tools.errors import QuestionError

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
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NOUN = r"(?:claim|source|citation|sentence|quote|quotation|reference|statement|point|argument|number|no\.?|nr\.?)"
_NUMBER = r"(?:(?:no\.?|nr\.?|number) )?[\[(#]?\s*(?P<number>\d{1,3})\s*[\])]?"
_ONE = r"[\[(#]?\d{1,3}[\])]?"
NUMBERED = re.compile(
    rf"(?:the )?(?:{_NOUN} )?{_NUMBER}|(?:the )?(?P<ordinal>{'|'.join(ORDINALS)}|last)(?: (?:one|{_NOUN}))?", re.I
)
SEVERAL = re.compile(rf"(?:the )?(?:{_NOUN}s? )?{_ONE}(?:(?:\s*(?:,|and|or|&|\+|,\s*and)\s*|\s+){_ONE})+", re.I)
SIDE = re.compile(
    r"(?:the )?(?:side (?P<number>\d{1,2})|(?P<ordinal>first|second|third|fourth|fifth|sixth) side|"
    r"(?P<pro>for|pro|yes|agree)|(?P<con>against|contra|no|disagree))(?:[- ](?:side|case|camp|people|arguments?))?",
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
    return ORDINALS.index(word.lower()) + 1


_MOST = 4
_NO_ANSWER = (
    "there is no earlier answer in this thread. Ask a question first, then follow up with a number of its answer."
)


def opening(question: str, earlier: Sequence[str], answers: Sequence[Answer]) -> RunState:
    """What a run begins with: `earlier` questions, oldest first, and the thread's `answers`. Raises as `resolve`."""
    before = [*earlier, *(a.neutral_question for a in answers)]
    begun = RunState(version=STATE_VERSION, question=question, earlier=before)
    against = resolve(question, answers)
    return RunState(**begun, against=against) if against else begun


def resolve(question: str, answers: Sequence[Answer]) -> Target | None:
    """What a follow-up wants argued against; None for any other question.

    `answers` are the thread's, oldest first; the latest that has what is named is the one that is meant. Raises
    QuestionError where the thread has nothing that the reference could stand for, with what there is.
    """
    what = argued_with(question)
    cased = [a for a in reversed(answers) if any(s.claims for s in a.perspectives)]
    if target := next((t for a in cased if (t := _named(a, what))), None):
        return target
    if not refers(what):
        return None
    if not cased:
        missing = "no answer of this thread makes a case that could be argued against." if answers else _NO_ANSWER
        raise QuestionError(f"'{what}' stands for nothing yet: {missing}")
    numbers = _numbers_in_words(cased[0])
    if SEVERAL.fullmatch(what):
        raise QuestionError(f"one claim at a time can be argued against, not {what}. {numbers}")
    names = ", ".join(f"'{s.name}'" for s in cased[0].perspectives)
    raise QuestionError(f"the last answer has no '{what}' to argue against. {numbers} Its sides are {names}.")


def _named(answer: Answer, what: str) -> Target | None:
    """What the words name in the answer: a perspective by its name or place, or the claim that a number stands for."""
    if match := NUMBERED.fullmatch(what):
        return _claim_target(answer, _number(answer, match))
    match = SIDE.fullmatch(what)
    perspective = _perspective_of_name(answer, what) or (_perspective(answer, match) if match else None)
    if perspective and perspective.id == OTHER_WAYS:
        raise QuestionError(f"'{perspective.name}' are several. Name a claim of them. {_numbers_in_words(answer)}")
    return _target(answer, perspective, 0, perspective.statement, "") if perspective else None


# Numbers


def _numbered(answer: Answer) -> list[int]:
    """The numbers that a perspective's claim cites, in order."""
    return sorted({n for s in answer.perspectives for c in s.claims for n in c.citations})


def _numbers_in_words(answer: Answer) -> str:
    numbers = _numbered(answer)
    if len(numbers) == 1:
        return f"The last answer has one number, {numbers[0]}."
    unbroken = numbers[-1] - numbers[0] == len(numbers) - 1
    listed = f"{numbers[0]} to {numbers[-1]}" if unbroken else ", ".join(map(str, numbers))
    return f"The numbers of the last answer are {listed}."


def _number(answer: Answer, match: re.Match[str]) -> int:
    if word := match["ordinal"]:
        return _numbered(answer)[-1] if word.lower() == "last" else ordinal(word)
    return int(match["number"])


def _claim_target(answer: Answer, number: int) -> Target | None:
    if (found := _claim_of(answer, number)) is None:
        return None
    perspective, claim = found
    named = [name for c in answer.citations if c.number == number for name in (c.speaker, c.publisher, c.title) if name]
    return _target(answer, perspective, number, claim.text, named[0] if named else "")


def _claim_of(answer: Answer, number: int) -> tuple[AnswerPerspective, AnswerClaim] | None:
    """The claim that a number stands for where several cite it: of a perspective that answers yes or no rather than of
    one beside them, its perspective's thesis rather than another, the best supported."""
    citing = [(s, c) for s in answer.perspectives for c in s.claims if number in c.citations]
    return min(
        citing, key=lambda sc: (sc[0].stance == "other", sc[1].role != "thesis", -_support(answer, sc[1])), default=None
    )


def _support(answer: Answer, claim: AnswerClaim) -> float:
    """The judge's probability for the claim, or of the strongest words that it stands on."""
    cited = [c for c in answer.citations if c.number in claim.citations]
    words = [(c.quote, c.support or 0.0) for c in cited] + [(q.quote, q.support or 0.0) for c in cited for q in c.more]
    return max([s for quote, s in words if quote == claim.text] or [s for _, s in words], default=0.0)


# Perspectives


def _perspective_of_name(answer: Answer, what: str) -> AnswerPerspective | None:
    """The perspective of that very name, with or without 'the … side' around it."""
    said = what.casefold()
    wanted = {said, re.sub(r"^the | (?:side|case)$", "", said).strip(_MARKS + " ")} - {""}
    return next((s for s in answer.perspectives if s.name.removesuffix(" …").casefold() in wanted), None)


def _perspective(answer: Answer, match: re.Match[str]) -> AnswerPerspective | None:
    """'For', 'Against', or a perspective by its place."""
    stance = "supports" if match["pro"] else "opposes" if match["con"] else ""
    perspectives = [s for s in answer.perspectives if not stance or s.stance == stance]
    place = ordinal(match["ordinal"]) if match["ordinal"] else int(match["number"] or 1)
    return perspectives[place - 1] if 1 <= place <= len(perspectives) else None


def _target(answer: Answer, perspective: AnswerPerspective, number: int, text: str, publisher: str) -> Target:
    return Target(
        question=answer.neutral_question,
        number=number,
        text=text,
        publisher=publisher,
        side=perspective.name,
        statement=text if perspective.id == OTHER_WAYS else perspective.statement,
        stance=perspective.stance,
        contrary=contrary_of(answer, perspective),
    )


def contrary_of(answer: Answer, perspective: AnswerPerspective) -> Perspective | None:
    """The perspective that says the opposite: the one it is linked to, what a counter-argument replied to, or the first
    that answers the question the other way round; None for a perspective without one."""
    facing = {"supports": "opposes", "opposes": "supports"}.get(perspective.stance)
    perspectives = list(answer.perspectives)
    linked = next((s for s in perspectives if perspective.contrary and s.id == perspective.contrary), None)
    if linked is None and answer.against is not None:
        replied = answer.against
        return _planned(replied.side, replied.statement, replied)
    other = linked or next((s for s in perspectives if s.stance == facing), None)
    return _planned(other.name, other.statement, other) if other else None


def _planned(name: str, statement: str, stands: AnswerPerspective | Countered) -> Perspective:
    return Perspective(id="p1", name=name, statement=statement, stance=stands.stance, contrary="", origin="question")


# What to offer


def suggestions(answer: Answer, texts: Sequence[str], asked: Sequence[str] = ()) -> list[str]:
    """At most four follow-ups that can be answered: a counter-argument to the best claim of each of two facing
    perspectives, then what the passages found speak of besides.

    `texts` are the passages that the run found, `asked` the thread's questions so far. None without a case: of what
    merely may speak for a side, a follow-up on it finds nothing surer.
    """
    claims = [c.text for s in answer.perspectives for c in s.claims]
    if not claims:
        return []
    known = [answer.question, answer.neutral_question, *asked]
    # Numbers begin anew with each answer: the same words ask for something else.
    offered = [f"Strongest counter-argument to {n}?" for n in _worth_countering(answer)]
    offered += [f"What about {aspect}?" for aspect in aspects_of(texts, claims, known)]
    return offered[:_MOST]


def _worth_countering(answer: Answer) -> list[int]:
    """The number of the best claim of each perspective whose contrary has a case to answer with, two at most."""
    numbers: list[int] = []
    for perspective in answer.perspectives:
        facing = contrary_of(answer, perspective)
        cased = answer.against is not None or any(
            s.claims for s in answer.perspectives if facing and s.name == facing["name"]
        )
        claims = ((n, _claim_of(answer, n)) for n in _numbered(answer))
        own = {n: _support(answer, found[1]) for n, found in claims if found and found[0].id == perspective.id}
        if facing and cased and own:
            numbers.append(max(own, key=lambda n: (own[n], -n)))
    return numbers[:2]
