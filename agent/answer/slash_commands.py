"""Commands on the answer that is shown: '/summarise', '/against 2'. The page's buttons call the same functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median_high

from agent.answer.followups import counter_target, find_side
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective
from agent.answer.words import citation_numbers, claim_text, format_date, in_quotes, side_name, strip_control_characters
from agent.options import Depth
from tools.errors import QuestionError
from tools.passages import Passage

_CLAIMS = 2  # of a side, in a summary
_ALSO = 3  # sentences of no side, in the summary of an answer without a case


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What the answer itself holds: a heading, and lines with the numbers of their sources."""

    heading: str
    lines: list[tuple[str, list[int]]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """For a terminal: a line a line."""
        listed = (f"  • {strip_control_characters(said)} {citation_numbers(of)}".rstrip() for said, of in self.lines)
        return "\n".join([strip_control_characters(self.heading), *listed])


@dataclass(frozen=True, slots=True)
class CommandSearch:
    """A question that a run has to answer, with its depth where that is not the usual one."""

    question: str
    depth: Depth | None = None


def run_command(typed: str, answer: Answer) -> CommandReply | CommandSearch:
    """Carries out a command. Raises QuestionError for an unknown one, or a number or side that the answer lacks."""
    word, _, what = typed.strip().partition(" ")
    if word.casefold() == "/help":
        return CommandReply("On the answer above:", [(said, []) for said in HELP.splitlines()])
    if (command := _COMMANDS.get(word.casefold())) is None:
        raise QuestionError(f"there is no command {word}. There are {', '.join(_COMMANDS)} and /help.")
    return command(answer, what.strip().strip("[]#"))


def repeated_question(answer: Answer) -> str:
    """The question of the answer, as it can be asked once more in its thread, where numbers mean something else now."""
    return f"What speaks against ‘{answer.against.side}’?" if answer.against else answer.question


def summarise_answer(answer: Answer, _: str = "") -> CommandReply:
    """The first sentence, and the best claims of each side."""
    best = [(side, claim) for side in answer.perspectives for claim in side.claims[:_CLAIMS]]
    lines: list[tuple[str, list[int]]] = [(answer.summary, [])] if best or not answer.also else []
    lines += [(_claim_line(answer, side, claim), claim.citations) for side, claim in best]
    lines += [(claim_text(claim), claim.citations) for claim in answer.also[:_ALSO] if not best]
    return CommandReply("In short", lines)


def newer_sources(answer: Answer, _: str = "") -> CommandReply:
    """What rests on the newer half of the sources."""
    if not (dates := sorted(c.date for c in answer.citations if c.date)):
        return CommandReply("None of the sources of this answer has a date.")
    since = median_high(dates)
    recent = {c.number for c in answer.citations if c.date >= since}
    told = _claims_citing(answer, recent, f"the sources dated {format_date(since)} or later say")
    undated = [c.number for c in answer.citations if not c.date]
    return CommandReply(told.heading, [*told.lines, *([("Left out, having no date:", undated)] if undated else [])])


def single_source(answer: Answer, what: str) -> CommandReply:
    """What rests on one source, by its number."""
    if not (kept := {c.number for c in answer.citations if str(c.number) == what}):
        raise QuestionError(f"/only needs the number of a source: {_listed([c.number for c in answer.citations])}.")
    return _claims_citing(answer, kept, f"source [{what}] says")


def similar_quotations(answer: Answer, found: Sequence[tuple[str, Passage]]) -> CommandReply:
    """What else the documents say that is like a quotation: sentences, each with who says it."""
    numbered = {i: c.number for c in answer.citations for i in (c.passage_id, *(q.passage_id for q in c.more))}
    lines = []
    for said, passage in found:
        by = f" – {passage.said_by or passage.title}" if passage.said_by or passage.title else ""
        lines.append((f"{in_quotes(said)}{by}", [numbered[passage.id]] if passage.id in numbered else []))
    return CommandReply(
        "More like this" if lines else "The documents say nothing else like this that argues the same.", lines
    )


def more_of_side(answer: Answer, what: str) -> CommandReply | CommandSearch:
    """What else the sources of a side say; where all of it is shown, the question is searched longest."""
    if (side := find_side(answer, what)) is None:
        sides = [f"{n} ({side_name(answer, s)})" for n, s in enumerate(answer.perspectives, start=1)]
        raise QuestionError(f"/more needs the number or the name of a side: {_listed(sides)}.")
    shown = {claim.text for claim in side.all_claims}
    responses = [response for group in side.groups for response in group.responses]
    said = [(part, r.citation) for r in responses for part in (r.thesis, *r.evidence) if part.text not in shown]
    if not said:
        return CommandSearch(repeated_question(answer), "deep")
    lines = [(in_quotes(part.shown or part.text), [number] if number else []) for part, number in said]
    return CommandReply(f"What else the sources of ‘{side_name(answer, side)}’ say", lines)


def counter_search(answer: Answer, what: str) -> CommandSearch:
    """Searches for what speaks against a claim, by its number, or against a side."""
    if not any(side.claims for side in answer.perspectives):
        raise QuestionError("the answer above makes no case that could be argued against.")
    side = find_side(answer, what) if not what.isdigit() else None
    question = f"What speaks against {f'‘{side.name}’' if side else what or '?'}?"
    if counter_target(question, [answer]) is None:
        raise QuestionError(
            f"/against needs the number of a claim, as in /against 2, or the name of a side, not '{what}'."
        )
    return CommandSearch(question)


HELP = """/summarise     the answer in a few lines
/more N        what else the sources of side N say: 1 is the first side; its name will do
/against N     what speaks against claim N, by the number in brackets; or against a side, by its name
/newer         what rests on the newer half of the sources
/only N        only this source: what rests on source N alone
new            another subject"""
_COMMANDS: dict[str, Callable[[Answer, str], CommandReply | CommandSearch]] = {
    "/summarise": summarise_answer,
    "/more": more_of_side,
    "/against": counter_search,
    "/newer": newer_sources,
    "/only": single_source,
}


def _claim_line(answer: Answer, side: AnswerPerspective, claim: AnswerClaim) -> str:
    return f"{'Against ' if claim in side.objections else ''}{side_name(answer, side)}: {claim_text(claim)}"


def _claims_citing(answer: Answer, known: set[int], what: str) -> CommandReply:
    """The claims, and the sentences of no side, that cite these sources."""
    claims = [(_claim_line(answer, s, c), c) for s in answer.perspectives for c in s.all_claims]
    claims += [(claim_text(c), c) for c in answer.also]
    lines = [(said, [n for n in c.citations if n in known]) for said, c in claims if known & {*c.citations}]
    return CommandReply(f"What {what}", lines)


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(str, names)) or "this answer has none"
