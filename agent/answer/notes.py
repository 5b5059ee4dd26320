"""The notes of an answer: what failed, what was left out, what was not looked at."""

from collections import Counter
from collections.abc import Sequence
from textwrap import shorten

from agent.answer.model import AnswerPerspective, Note
from agent.answer.summary import passages_without_quotation
from agent.state import RunState
from tools.budget import NOT_ALL_JUDGED
from tools.language.identification import name_of_language
from tools.language.words import count
from tools.passages import Passage

_FEW_UNJUDGED = 5  # pairs: so few change nothing
_TO_READ = 3  # documents that are named of a side without a sentence to quote
_UNREAD_SHOWN = 3


def further_reading_notes(state: RunState, passages: dict[int, Passage]) -> list[Note]:
    """Where to read what leans to a side without a sentence to quote."""
    notes = []
    names = {p["id"]: p["name"] for p in state["perspectives"]}
    for side, ids in passages_without_quotation(state).items():
        sources = dict.fromkeys(_named(passages[i]) for i in ids if i in passages)
        if sources:
            text = f"To read on ‘{names[side]}’, which has no sentence to quote: {'; '.join([*sources][:_TO_READ])}."
            notes.append(Note(kind="thin", text=text))
    return notes


def uncited_notes(state: RunState, passages: dict[int, Passage], sides: Sequence[AnswerPerspective]) -> list[Note]:
    """The documents that count for a side and are neither cited for it nor among what its documents answer."""
    notes = []
    for side in sides if "drafts" in state else []:
        cited = {i for c in state.get("claims", []) if c["perspective"] == side.id for i in c["passages"]}
        answering = {r["thesis"]["passage"] for r in state.get("responses", []) if r["perspective"] == side.id}
        shown = {passages[i].document for i in {*cited, *(answering if side.groups else ())} if i in passages}
        counted = [passages[i] for i in state.get("coverage", {})[side.id]["ids"] if i in passages]
        more = dict.fromkeys(_named(p) for p in counted if p.document not in shown)
        if more and side.claims:
            notes.append(Note(kind="scope", text=f"Counted for ‘{side.name}’ and not quoted: {'; '.join(more)}."))
    return notes


def deleted_source_notes(passages: Sequence[Passage]) -> list[Note]:
    """That documents are quoted as they were: they were replaced or deleted while the run worked."""
    if not passages:
        return []
    named = _shortened(list(dict.fromkeys(map(_named, passages))))
    text = f"Replaced or deleted while this was answered, and quoted as it was before: {named}."
    return [Note(kind="scope", text=text)]


def _named(passage: Passage) -> str:
    """'“Walls within walls” (Sample Works, samples/nuclear/03.md)'"""
    where = passage.url or passage.document_id
    by = f"{passage.publisher}, {where}" if passage.publisher else where
    return f"“{shorten(passage.title or passage.document_id, 90, placeholder=' …')}” ({by})"


def notes_of(state: RunState, sides: Sequence[AnswerPerspective]) -> list[Note]:
    notes = [*stage_notes(state), *_reworded(state)]
    if state.get("unjudged", 0) > _FEW_UNJUDGED:
        text = f"{count(state['unjudged'], 'pair')} of side and passage stayed unjudged, past the budget."
        notes.append(Note(kind="unjudged", text=text, brief=NOT_ALL_JUDGED))
    room = [len(s.claims) for s in sides if s.stance != "other"]
    if len(room) == 2 and max(room) > 2 * max(1, min(room)):
        notes.append(Note(kind="balance", text="The sides have unequal room here because what was found is unequal."))
    return notes


def _reworded(state: RunState) -> list[Note]:
    """Of each side how many passages count once with another, since they say the same in other words."""
    names = {p["id"]: p["name"] for p in state["perspectives"]}
    notes = []
    for side, found in state.get("coverage", {}).items():
        if number := found["reworded"]:
            says, counts = ("says", "counts") if number == 1 else ("say", "count")
            what = f"{count(number, 'passage')} for ‘{names[side]}’ {says} in other words what another one says"
            notes.append(Note(kind="balance", text=f"{what}, and {counts} once with it."))
    return notes


def query_notes(state: RunState) -> list[Note]:
    """What was looked for in vain by a follow-up: against a claim, or on its focus."""
    if not state["framing"]["focus"]:
        return []
    queries = dict.fromkeys(q for asked in state.get("queries", {}).values() for q in asked)
    return [Note(kind="not_found", text=f"Looked for: {' · '.join(queries)}")] if queries else []


def stage_notes(state: RunState) -> list[Note]:
    """What failed, what stood in for it, and what was left out on purpose; each once."""
    failures = dict.fromkeys(
        (f.get("kind", "failed"), f["message"], f.get("hint", ""), f.get("brief", "")) for f in state.get("notes", [])
    )
    notes = [Note(kind=kind, text=text, hint=hint, brief=brief) for kind, text, hint, brief in failures]
    if unread := [f"{url} ({why})" for url, why in state.get("unread_pages", {}).items()]:
        brief = f"{count(len(unread), 'web page')} could not be read"
        text = f"{brief}: {_shortened(unread)}{_by_reason(state)}."
        notes.append(Note(kind="skipped", text=text, brief=f"{brief}."))
    if foreign := [
        f"“{title}” ({name_of_language(code)})" for title, code in state.get("foreign_documents", {}).items()
    ]:
        text = f"Left out of this English answer, being in another language: {_shortened(foreign)}."
        notes.append(Note(kind="scope", text=text))
    if addressed := [
        f"“{shorten(title, 90, placeholder=' …')}” ({where})"
        for title, where in state.get("addressing_documents", {}).items()
    ]:
        text = f"Left out, for words to whoever writes the answer where an argument should be: {_shortened(addressed)}."
        notes.append(Note(kind="scope", text=text))
    if dropped := sum(d["check"] != "unchecked" for d in state.get("dropped", [])):
        was = "was" if dropped == 1 else "were"
        text = f"{count(dropped, 'sentence')} did not pass verification and {was} left out."
        notes.append(Note(kind="dropped", text=text))
    return notes


def _by_reason(state: RunState) -> str:
    """How many pages could not be read for which reason, where not all of them are named."""
    reasons = Counter(state["unread_pages"].values())
    if reasons.total() <= _UNREAD_SHOWN:
        return ""
    return f" (in all: {', '.join(f'{why} {number}' for why, number in reasons.most_common())})"


def _shortened(items: Sequence[str]) -> str:
    """The first items of a list, and how many more there are."""
    more = [f"{len(items) - _UNREAD_SHOWN} more"] if len(items) > _UNREAD_SHOWN else []
    return ", ".join([*items[:_UNREAD_SHOWN], *more])
