"""Follow-ups to an answer: counter-arguments ('What speaks against 2?') and slash commands ('/summarise', '/against
2').

A counter-argument makes the same point with the opposite stance (Wachsmuth et al. 2018, 'Retrieval of the Best
Counterargument without Prior Topic Knowledge'). `agent.evidence.coverage.counter_rank` ranks counter-arguments. The
page's buttons call the same functions as the commands.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median_high
from textwrap import shorten

from agent.answer import wording
from agent.answer.document_list import document_title
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Countered
from agent.options import Depth
from agent.state import OTHER_WAYS, STATE_VERSION, CounterTarget, Perspective, QuotedStance, RunState, counter_framing
from tools.errors import QuestionError
from tools.language.quotable import with_bracketed_capital
from tools.language.reported_speech import speaker_of
from tools.passages import Passage
from tools.translation import in_its_language, labelled, mark, speaking, tr

_AGAINST = re.compile(
    r"(?:/against|what speaks against|strongest (?:case against|counter-argument to)) (?P<what>.+?)[\s?.!]*", re.I
)
_NUMBER = re.compile(r"[\[(#]?(\d{1,3})[\])]?")
_CLAIM_NAME = 70  # characters of a claim that name it in a question
_CLAIM = re.compile(r"[“\"‘](?P<words>.+?)(?: …)?[”\"’]")
_COMMAND = re.compile(r"/[a-z]+(?: \S+){0,2}", re.I)
_NO_ANSWER = mark(
    "there is no earlier answer in this thread. Ask a question first, then follow up with a number of its answer."
)


def initial_state(question: str, earlier: Sequence[str], answers: Sequence[Answer]) -> RunState:
    """Returns the state that a run begins with.

    earlier: questions asked before in the thread, oldest first. answers: the thread's answers, oldest first. Raises
    QuestionError for a command, and for the numbers that `counter_target` refuses.
    """
    before = [*earlier, *(a.neutral_question for a in answers)]
    state = RunState(version=STATE_VERSION, question=question, earlier=before)
    if against := counter_target(question, answers):  # the target becomes the focus of the thread's question
        return RunState(**state, against=against, framing=counter_framing(against))
    if opposed := _opposed(question, answers):
        state["opposed"] = opposed
    if _COMMAND.fullmatch(question):
        what = tr("'{command}' is no question, but a command: give it below an answer, on the page or in the chat.")
        raise QuestionError(what.format(command=question))
    return state


def counter_target(question: str, answers: Sequence[Answer]) -> CounterTarget | None:
    """Returns the claim or side that a follow-up argues against; None for any other question.

    answers: the thread's answers, oldest first; the latest answer with the named number or side counts. Raises
    QuestionError for an unknown number; the message names the valid numbers.
    """
    if not (what := _countered(question.strip(), answers)):
        return None
    with_case = [a for a in reversed(answers) if any(s.claims for s in a.perspectives)]
    if target := next((t for a in with_case if (t := _named(a, what))), None):
        return target
    if not (_NUMBER.fullmatch(what) or question.startswith("/")):
        return None
    if not with_case:
        missing = "no answer of this thread makes a case that could be argued against." if answers else _NO_ANSWER
        raise QuestionError(f"'{what}' stands for nothing yet: {missing}")
    names = ", ".join(f"'{s.name}'" for s in with_case[0].perspectives)
    numbers = _numbers_in_words(with_case[0])
    raise QuestionError(f"the last answer has no '{what}' to argue against. {numbers} Its sides are {names}.")


def _opposed(question: str, answers: Sequence[Answer]) -> str:
    """Returns the claim of no side, or the objection, that a follow-up quotes and wants to see opposed; else ''."""
    if not (match := _CLAIM.fullmatch(_countered(question.strip(), answers))):
        return ""
    sides = [(a, (o for s in a.perspectives for o in s.objections)) for a in reversed(answers)]
    listed = (c for a, objections in sides for c in (*a.also, *a.gaps, *objections))
    return next((c.text for c in listed if c.text.startswith(match["words"])), "")


def _countered(question: str, answers: Sequence[Answer]) -> str:
    """Returns what a follow-up in English or the language of an answer wants to see opposed; otherwise empty."""
    if match := _AGAINST.fullmatch(question):
        return str(match["what"])
    for language in {answer.language for answer in answers}:
        with speaking(language):
            before, _, after = tr(AGAINST).partition("{claim}")
        if question.startswith(before) and question.endswith(after):
            return question[len(before) : len(question) - len(after)].strip()
    return ""


def _named(answer: Answer, what: str) -> CounterTarget | None:
    claims = [(s, c) for s in answer.perspectives for c in s.claims if c.citations]
    if match := _NUMBER.fullmatch(what):  # the first claim that cites the number; yes and no come before other sides
        number = int(match[1])
        return next((_target(answer, s, c.text, number) for s, c in claims if number in c.citations), None)
    side = find_side(answer, what)
    if (match := _CLAIM.fullmatch(what)) and not (side and what.startswith("‘")):  # single marks name a side too
        named = (found for found in claims if found[1].text.startswith(match["words"]))
        return next((_target(answer, s, c.text, c.citations[0]) for s, c in named), None)
    if side and side.id == OTHER_WAYS:
        raise QuestionError(f"'{side.name}' are several. Name a claim of them. {_numbers_in_words(answer)}")
    return _target(answer, side, side.statement, 0) if side else None


def find_side(answer: Answer, what: str) -> AnswerPerspective | None:
    """Returns the side with that name, label or position. Positions start at 1."""
    sides, wanted = list(answer.perspectives), _bare(what)
    if wanted.isdecimal():
        return sides[int(wanted) - 1] if 1 <= int(wanted) <= len(sides) else None
    return next((side for side in sides if wanted in (_bare(side.name), _bare(wording.side_name(answer, side)))), None)


def _bare(name: str) -> str:
    return name.casefold().strip("'\"‘’“”?!.… ")


def _numbers_in_words(answer: Answer) -> str:
    numbers = {n for s in answer.perspectives for c in s.claims for n in c.citations}
    return f"The numbers of the last answer are {min(numbers)} to {max(numbers)}."


def _target(answer: Answer, perspective: AnswerPerspective, text: str, number: int) -> CounterTarget:
    """number: the citation that names the claim; 0 for the whole perspective."""
    named = [name for c in answer.citations if c.number == number for name in (c.speaker, c.publisher, c.title) if name]
    target = CounterTarget(
        question=answer.english_question,
        number=number,
        text=text,
        publisher=next(iter(named), ""),
        side=perspective.name,
        statement=text if perspective.id == OTHER_WAYS else perspective.statement,
        stance=perspective.stance,
        contrary=contrary_of(answer, perspective),
    )
    if any(claim.text == text and not claim.quoted for claim in perspective.claims if number):
        target["written"] = True
    if answer.language:
        target |= {"language": answer.language, "asked": answer.neutral_question, "english": perspective.english}
    return target


def contrary_of(answer: Answer, perspective: AnswerPerspective) -> Perspective | None:
    """Returns the opposing perspective: the perspective that `contrary` names, otherwise the target of the
    counter-arguments, otherwise the first perspective with the opposite stance."""
    facing = {"supports": "opposes", "opposes": "supports"}.get(perspective.stance)
    perspectives = list(answer.perspectives)
    linked = next((s for s in perspectives if perspective.contrary and s.id == perspective.contrary), None)
    if linked is None and answer.against is not None:
        replied = answer.against
        return _planned(replied.side, replied.statement, replied)
    other = linked or next((s for s in perspectives if s.stance == facing), None)
    if other is None:
        return None
    facing_side = _planned(other.name, other.english or other.statement, other)
    return Perspective(**facing_side, local=other.statement) if other.english else facing_side


def stance_of_quotation(answer: Answer, words: str) -> QuotedStance | None:
    """Returns the perspective that the quoted words support, and the opposing statement; None for words of no side."""
    cited = {c.number for c in answer.citations if any(q.quote == words for q in c.quotations)}
    claims = [(side, claim) for side in answer.perspectives for claim in side.all_claims]
    quoted = [found for found in claims if found[1].text == words]
    for side, claim in quoted or [f for f in claims if not f[1].quoted and cited & {*f[1].citations}]:
        statement = side.english or side.statement
        if claim in side.objections:
            return _planned("No", f"No: {statement}", side), f"Yes: {statement}"
        facing = contrary_of(answer, side)
        return _planned(side.name, statement, side), facing["statement"] if facing else ""
    return None


def _planned(name: str, statement: str, stands: AnswerPerspective | Countered) -> Perspective:
    return Perspective(id="p1", name=name, statement=statement, stance=stands.stance, contrary="", origin="question")


def suggested_followups(answer: Answer) -> list[str]:
    """Returns up to two questions, each against the first claim of a perspective whose opposing side has claims too."""
    offered: list[str] = []
    for perspective in answer.perspectives:
        facing = contrary_of(answer, perspective)
        has_case = answer.against or any(s.claims for s in answer.perspectives if facing and s.name == facing["name"])
        if facing and has_case and perspective.claims:
            offered.append(counter_question(answer, perspective.claims[0]))
    return list(dict.fromkeys(offered))[:2]


@in_its_language
def counter_question(answer: Answer, claim: AnswerClaim) -> str:
    """Returns 'What speaks against “Phones distract …”?', which names the claim by its first words. A claim that makes
    no case for a side has all its words. A model's sentence has single marks, because nobody said it."""
    cased = any(claim in side.claims for side in answer.perspectives)
    words = shorten(claim.text, _CLAIM_NAME, placeholder=" …") if cased else claim.text
    return tr(AGAINST, claim=f"“{words}”" if claim.quoted else f"‘{words}’")


_CLAIMS = 2  # claims of each side in a summary
_ALSO = 3  # sentences of no side in a summary, if no side has a claim


@dataclass(frozen=True, slots=True)
class CommandReply:
    """A reply that needs no search, because the answer contains it. lines: text with citation numbers. quotes: by a
    line's text, the words that its sources mark; without words they mark all that the answer quotes from them."""

    heading: str
    lines: list[tuple[str, list[int]]] = field(default_factory=list)
    quotes: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The reply for a terminal."""
        listed = (
            f"  • {wording.strip_control_characters(said)} {wording.citation_numbers(of)}".rstrip()
            for said, of in self.lines
        )
        return "\n".join([wording.strip_control_characters(self.heading), *listed])


@dataclass(frozen=True, slots=True)
class CommandSearch:
    """A question that needs a run. depth: None for the usual depth."""

    question: str
    depth: Depth | None = None


def run_slash_command(typed: str, answer: Answer) -> CommandReply | CommandSearch:
    """Runs a slash command. Raises QuestionError for an unknown command, number or side."""
    word, _, what = typed.strip().partition(" ")
    with speaking(answer.language):
        if word.casefold() == "/help":
            return CommandReply(tr("On the answer above:"), [(said, []) for said in tr(HELP).splitlines()])
        if (command := _COMMANDS.get(word.casefold())) is None:
            known = ", ".join(_COMMANDS)
            raise QuestionError(tr("there is no command {word}. There are {known} and /help.", word=word, known=known))
        return command(answer, what.strip().strip("[]#"))


@in_its_language
def repeated_question(answer: Answer) -> str:
    """Returns the answer's question for another run in the thread. A request for counter-arguments then names the side
    instead of a number, because claims may have other numbers."""
    return tr(AGAINST, claim=f"‘{answer.against.side}’") if answer.against else answer.question


@in_its_language
def summarise_answer(answer: Answer, _: str = "") -> CommandReply:
    best = [(side, claim) for side in answer.perspectives for claim in side.claims[:_CLAIMS]]
    lines: list[tuple[str, list[int]]] = [(answer.summary, [])] if best or not answer.also else []
    lines += [(_claim_line(answer, side, claim), claim.citations) for side, claim in best]
    lines += [(wording.claim_text(claim), claim.citations) for claim in answer.also[:_ALSO] if not best]
    return CommandReply(tr("In short"), lines)


@in_its_language
def newer_sources(answer: Answer, _: str = "") -> CommandReply:
    """Returns the claims that cite the newer half of the sources."""
    if not (dates := sorted(c.date for c in answer.citations if c.date)):
        return CommandReply(tr("None of the sources of this answer has a date."))
    since = median_high(dates)
    recent = {c.number for c in answer.citations if c.date >= since}
    result = _claims_citing(answer, recent, tr("sources dated {date} or later", date=wording.format_date(since)))
    undated = [c.number for c in answer.citations if not c.date]
    left_out = [(tr("Left out, having no date:"), undated)] if undated else []
    return CommandReply(result.heading, [*result.lines, *left_out])


@in_its_language
def single_source(answer: Answer, what: str) -> CommandReply:
    if not (kept := {c.number for c in answer.citations if str(c.number) == what}):
        numbers = _listed([c.number for c in answer.citations])
        raise QuestionError(tr("/only needs the number of a source: {numbers}.", numbers=numbers))
    return _claims_citing(answer, kept, tr("source [{number}]", number=what))


@in_its_language
def similar_quotations(answer: Answer, found: Sequence[tuple[str, Passage]]) -> CommandReply:
    cited, lines, quotes = {(q.passage_id, q.quote): c for c in answer.citations for q in c.quotations}, [], {}
    for said, passage in found:
        source = cited.get((passage.id, said))  # a source of the same passage may be another speaker
        speaker = source.speaker if source else speaker_of(passage, said)
        named = speaker, passage.publisher or document_title(passage, passage.document_id)
        words = wording.in_quotes(with_bracketed_capital(said))
        line = wording.with_speaker(words, ", ".join(dict.fromkeys(filter(None, named))))
        lines.append((line, [source.number] if source else []))
        quotes[line] = said
    nothing = tr("Nothing else was found that is close to this and surely argues the same.")
    return CommandReply(tr("More like this") if lines else nothing, lines, quotes)


def more_of_side(answer: Answer, what: str) -> CommandReply | CommandSearch:
    """Returns further sentences of a side's sources. If all are shown, returns a deep search."""
    if (side := find_side(answer, what)) is None:
        sides = [f"{n} ({wording.side_name(answer, s)})" for n, s in enumerate(answer.perspectives, start=1)]
        raise QuestionError(tr("/more needs the number or the name of a side: {sides}.", sides=_listed(sides)))
    shown = {claim.text for claim in side.all_claims}
    responses = [response for group in side.groups for response in group.responses]
    unshown = [(part, r.citation) for r in responses for part in (r.thesis, *r.evidence) if part.text not in shown]
    if not unshown:
        return CommandSearch(repeated_question(answer), "deep")
    lines = [(wording.in_quotes(part.shown or part.text), [number] if number else []) for part, number in unshown]
    return CommandReply(tr("What else the sources of ‘{side}’ say", side=wording.side_name(answer, side)), lines)


@in_its_language
def counter_search(answer: Answer, what: str) -> CommandSearch:
    if not any(side.claims for side in answer.perspectives):
        raise QuestionError(tr("the answer above makes no case that could be argued against."))
    side = find_side(answer, what) if not what.isdigit() else None
    question = tr(AGAINST, claim=f"‘{side.name}’" if side else what or "?")
    if counter_target(question, [answer]) is None:
        raise QuestionError(tr(_NEEDS_NUMBER, typed=what))
    return CommandSearch(question)


AGAINST = mark("What speaks against {claim}?")
_NEEDS_NUMBER = mark("/against needs the number of a claim, as in /against 2, or the name of a side, not '{typed}'.")
HELP = mark("""/summarise     the answer in a few lines
/more N        what else the sources of side N say: 1 is the first side; its name will do
/against N     what speaks against claim N, by the number in brackets; or against a side, by its name
/newer         what rests on the newer half of the sources
/only N        only this source: what rests on source N alone
new            another subject""")
_COMMANDS: dict[str, Callable[[Answer, str], CommandReply | CommandSearch]] = {
    "/summarise": summarise_answer,
    "/more": more_of_side,
    "/against": counter_search,
    "/newer": newer_sources,
    "/only": single_source,
}


def _claim_line(answer: Answer, side: AnswerPerspective, claim: AnswerClaim) -> str:
    name = wording.side_name(answer, side)
    return labelled(tr("Against {side}", side=name) if claim in side.objections else name, wording.claim_text(claim))


def _claims_citing(answer: Answer, known: set[int], what: str) -> CommandReply:
    claims = [(_claim_line(answer, s, c), c) for s in answer.perspectives for c in s.all_claims]
    claims += [(wording.claim_text(c), c) for c in answer.also]
    lines = [(said, [n for n in c.citations if n in known]) for said, c in claims if known & {*c.citations}]
    return CommandReply(tr("Claims that cite {sources}", sources=what), lines)


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(str, names)) or tr("this answer has none")
