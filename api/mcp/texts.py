"""What a model reads of a result: Markdown, short, with citations and with what was not found."""

from agent.answer.files import escape, to_markdown
from agent.answer.model import Answer
from agent.answer.notes import all_looked_into
from agent.answer.retrieved import Retrieved, RetrievedPassage, RetrievedPerspective
from agent.answer.words import plain, undone
from agent.state import is_answer
from api.schemas import Judged, JudgePair
from tools.language.words import count

SCHEME = "steelman://answers/"
_SHOWN = 5
"""Passages of a side that are shown; the structured result has them all."""
_LABELS = {"supports": "For", "opposes": "Against", "other": "Other"}
_BEGINNING = 60
_USE = "Keep the numbers in square brackets and the list of sources when you pass this on, and say what was not found."
_NOTHING = "There is nothing to cite: say that nothing was found, rather than answer from memory."
_LATE = "There is nothing to cite: say that time ran out before all was searched, rather than answer from memory."
_UNDONE = (
    "There is nothing to cite: say that not all could be searched, read or judged, rather than that nothing was found, "
    "and do not answer from memory."
)
_ON = f"Follow up: call `ask` with thread={{run}}. Kept as {SCHEME}{{run}}"


def answer_text(answer: Answer) -> str:
    """The answer with how to cite it and where to go on from it."""
    kinds = {note.kind for note in answer.notes}
    nothing = _LATE if "late" in kinds else _NOTHING if all_looked_into(kinds) else _UNDONE
    use = _USE if answer.citations else nothing
    return f"{to_markdown(answer, remote=True)}\n{use} {_ON.format(run=answer.run_id)}\n"


def retrieved_text(found: Retrieved) -> str:
    """The sides with their best passages."""
    lines = [f"# {_escaped(found.question)}", ""]
    for side in found.perspectives:
        lines += _side(side)
    lines += [f"> {_escaped(line)}\n" for line in [undone(found.notes)] if line]
    if not found.perspectives:
        lines += ["No sides were found for this question.", ""]
    lines.append("Quote passages word for word and name their sources. A number in front is the support, from 0 to 1.")
    lines.append(f"Follow up: call `ask` or `retrieve` with thread={found.run_id}.")
    return "\n".join(lines) + "\n"


def judged_text(judged: Judged, pairs: list[JudgePair]) -> str:
    """A line for each pair, in their order."""
    lines = [f"Support from {judged.threshold:g} on counts as support (judge: {judged.judge}).", ""]
    for number, (chance, pair) in enumerate(zip(judged.probabilities, pairs, strict=True), 1):
        verdict = "supports" if chance is not None and chance >= judged.threshold else "does not support"
        judgement = "not judged" if chance is None else f"{chance:.2f} {verdict}"
        lines.append(f"{number}. {judgement}: {_escaped(_beginning(pair.statement))}")
    lines += ["", *judged.notes] if judged.notes else []
    return "\n".join(lines) + "\n"


def _side(side: RetrievedPerspective) -> list[str]:
    head = side.name if is_answer(side.name, side.statement) else f"{_LABELS[side.stance]}: {side.statement}"
    lines = [f"## {_escaped(head)}", ""]
    if side.status == "not_found":
        tried = " · ".join(_escaped(q) for q in side.queries)
        lines += [f"Nothing was found that makes this case. Looked for: {tried}", ""]
    else:
        lines += [f"*{side.strength}: {count(side.sources, 'source')}*", ""]
    best = [p for p in side.passages if p.counts] or side.passages
    lines += [_passage(p) for p in best[:_SHOWN]]
    if more := len(side.passages) - len(best[:_SHOWN]):
        lines.append(f"- {more} more in the structured result")
    return [*lines, ""]


def _passage(passage: RetrievedPassage) -> str:
    support = "not judged" if passage.support is None else f"{passage.support:.2f}"
    source = [passage.title, passage.publisher, passage.date, passage.url or passage.document_id]
    return f"- ({support}) “{_escaped(passage.text)}” {_escaped(', '.join(filter(None, source)))}"


def _escaped(text: str) -> str:
    """Text of others: on one line, without unseen marks, and nothing in it is Markdown."""
    return escape(plain(text))


def _beginning(text: str) -> str:
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING].rstrip()} …"
