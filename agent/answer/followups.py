"""Follow-ups that argue with the thread's latest answer: 'What speaks against 2?', and which ones to offer.

A counter-argument makes the same point with the opposite stance (Wachsmuth et al. 2018, 'Retrieval of the Best
Counterargument without Prior Topic Knowledge'). The run that follows searches for the perspective that contradicts what
is named, ranked by `agent.evidence.coverage.counter_rank`.
"""

import re
from collections.abc import Sequence

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Countered
from agent.answer.words import side_name
from agent.state import OTHER_WAYS, STATE_VERSION, CounterTarget, Perspective, QuotedStance, RunState, counter_framing
from tools.errors import QuestionError

_AGAINST = re.compile(
    r"(?:/against|what speaks against|strongest (?:case against|counter-argument to)) (?P<what>.+?)[\s?.!]*", re.I
)
_NUMBER = re.compile(r"[\[(#]?(\d{1,3})[\])]?")
_COMMAND = re.compile(r"/[a-z]+(?: \S+){0,2}", re.I)
_NO_ANSWER = (
    "there is no earlier answer in this thread. Ask a question first, then follow up with a number of its answer."
)


def initial_state(question: str, earlier: Sequence[str], answers: Sequence[Answer]) -> RunState:
    """Returns the state that a run begins with.

    earlier: questions asked before in the thread, oldest first. answers: the thread's, oldest first. Raises as
    `counter_target` does, and QuestionError for a command.
    """
    before = [*earlier, *(a.neutral_question for a in answers)]
    begun = RunState(version=STATE_VERSION, question=question, earlier=before)
    if against := counter_target(
        question, answers
    ):  # the thread's question, with what is to be argued against as its focus
        return RunState(**begun, against=against, framing=counter_framing(against))
    if _COMMAND.fullmatch(question):
        what = "is no question, but a command: give it below an answer, on the page or in the chat."
        raise QuestionError(f"'{question}' {what}")
    return begun


def counter_target(question: str, answers: Sequence[Answer]) -> CounterTarget | None:
    """What a follow-up wants argued against; None for any other question.

    `answers` are the thread's, oldest first; the latest that has what is named is the one that is meant. Raises
    QuestionError where the thread has nothing that the number could stand for, with what there is.
    """
    if (match := _AGAINST.fullmatch(question.strip())) is None:
        return None
    what = match["what"]
    cased = [a for a in reversed(answers) if any(s.claims for s in a.perspectives)]
    if target := next((t for a in cased if (t := _named(a, what))), None):
        return target
    if not (_NUMBER.fullmatch(what) or question.startswith("/")):
        return None
    if not cased:
        missing = "no answer of this thread makes a case that could be argued against." if answers else _NO_ANSWER
        raise QuestionError(f"'{what}' stands for nothing yet: {missing}")
    names = ", ".join(f"'{s.name}'" for s in cased[0].perspectives)
    numbers = _numbers_in_words(cased[0])
    raise QuestionError(f"the last answer has no '{what}' to argue against. {numbers} Its sides are {names}.")


def _named(answer: Answer, what: str) -> CounterTarget | None:
    """What the words name in the answer: the claim that a number stands for, or a side."""
    if match := _NUMBER.fullmatch(what):
        return _claim_target(answer, int(match[1]))
    side = find_side(answer, what)
    if side and side.id == OTHER_WAYS:
        raise QuestionError(f"'{side.name}' are several. Name a claim of them. {_numbers_in_words(answer)}")
    return _target(answer, side, 0, side.statement, "") if side else None


def find_side(answer: Answer, what: str) -> AnswerPerspective | None:
    """The side that is called so or has that name, or of that place: '1' is the first."""
    sides, said = list(answer.perspectives), _bare(what)
    if said.isdecimal():
        return sides[int(said) - 1] if 1 <= int(said) <= len(sides) else None
    return next((side for side in sides if said in (_bare(side.name), _bare(side_name(answer, side)))), None)


def _bare(name: str) -> str:
    return name.casefold().strip("'\"‘’“”?!.… ")


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


def _claim_target(answer: Answer, number: int) -> CounterTarget | None:
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


def _target(answer: Answer, perspective: AnswerPerspective, number: int, text: str, publisher: str) -> CounterTarget:
    return CounterTarget(
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


def stance_of_quotation(answer: Answer, words: str) -> QuotedStance | None:
    """Where the answer quotes the words, or a claim that a model wrote from them; None for words of no side."""
    cited = {c.number for c in answer.citations if words in (c.quote, *(q.quote for q in c.more))}
    claims = [(side, claim) for side in answer.perspectives for claim in side.all_claims]
    quoted = [found for found in claims if found[1].text == words]
    for side, claim in quoted or [f for f in claims if not f[1].quoted and cited & {*f[1].citations}]:
        if claim in side.objections:
            return _planned("No", f"No: {side.statement}", side), f"Yes: {side.statement}"
        facing = contrary_of(answer, side)
        return _planned(side.name, side.statement, side), facing["statement"] if facing else ""
    return None


def _planned(name: str, statement: str, stands: AnswerPerspective | Countered) -> Perspective:
    return Perspective(id="p1", name=name, statement=statement, stance=stands.stance, contrary="", origin="question")


# What to offer


def suggested_followups(answer: Answer) -> list[str]:
    """A counter-argument to the best claim of each perspective whose contrary has a case to reply with, two at most."""
    numbers: list[int] = []
    for perspective in answer.perspectives:
        facing = contrary_of(answer, perspective)
        cased = answer.against or any(s.claims for s in answer.perspectives if facing and s.name == facing["name"])
        claims = ((n, _claim_of(answer, n)) for n in _numbered(answer))
        own = {n: _support(answer, found[1]) for n, found in claims if found and found[0].id == perspective.id}
        if facing and cased and own:
            numbers.append(max(own, key=lambda n: (own[n], -n)))
    return [f"What speaks against {n}?" for n in numbers[:2]]
