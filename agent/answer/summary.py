"""The answer's notes and its summary: one or two sentences built from counts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import cast

from agent.answer.model import Answer, AnswerDocument, AnswerPerspective, Note, Outcome, SourceFacts
from agent.limits import FEW_UNJUDGED, UNBALANCED
from agent.state import CounterTarget, FailedCheck, RunState
from tools.budget import NOT_ALL_JUDGED
from tools.language.identification import name_of_language
from tools.language.lexicon import count
from tools.language.question import ANSWERS, asks_yes_or_no
from tools.passages import EvidenceKind, Passage

_ROW = re.compile(r"(.+), row [^/]+")  # id of a table's row
_NAMED = 4  # the most answers that the summary names
_NOT_DONE = ("failed", "degraded", "late")


def summarise(outcome: Outcome, state: RunState, documents: Sequence[AnswerDocument]) -> str:
    """Returns the summary. If time ran out, the summary says so."""
    stages = {f["stage"] for f in state.get("notes", []) if f.get("kind") == "late"}
    late = f"Time ran out before all was {'read' if stages == {'judge'} else 'searched'}." if stages else ""
    if late and outcome == "nothing_found":
        return f"{late} Nothing was found by then, which does not say that there is nothing."
    return f"{_summary(outcome, state, documents)} {late}".rstrip()


def summary_of(answer: Answer) -> str:
    late = "judge" if "all was read" in answer.summary else "retrieve"
    state = {
        "framing": {"focus": answer.focus, "question": answer.neutral_question},
        "perspectives": [side.model_dump() for side in answer.perspectives],
        "kinds": answer.kinds,
        "notes": [{"stage": late, "kind": note.kind} for note in answer.notes],
    } | ({"against": answer.against.model_dump()} if answer.against else {})
    return summarise(answer.outcome, cast(RunState, state), answer.documents)


def search_completed(kinds: Iterable[str]) -> bool:
    """Whether nothing failed or was late. Otherwise 'nothing was found' may be untrue. kinds: the notes' kinds."""
    return not any(kind in _NOT_DONE for kind in kinds)


def _summary(outcome: Outcome, state: RunState, documents: Sequence[AnswerDocument]) -> str:
    if "against" in state:
        return _counter_summary(outcome, state["against"])
    if outcome == "retrieved":
        covered = sum(c["passages"] > 0 for c in state["coverage"].values())
        return f"Passages for {covered} of {count(len(state['coverage']), 'side')}; nothing was written."
    focus = state["framing"]["focus"].rstrip(" ?!.")
    if outcome == "nothing_found":
        about = focus if focus and state["perspectives"] else "this"
        return f"Nothing on {about} was found{_where(documents)}{_what_was_not_done(state)}."
    if not state["perspectives"]:
        return "What the sources say on this:"
    census = _stance_counts(state, documents)
    lead = f"On {focus}, {census[:1].lower()}{census[1:]}" if focus else census
    counts = evidence_counts(d for d in documents if d.quoted) if len(state.get("kinds", [])) > 1 else ""
    return f"{lead} It rests on {counts}.".lstrip() if counts else lead


EVIDENCE_NAMES: dict[EvidenceKind, tuple[str, str]] = {
    "studies": ("study", "studies"),
    "news": ("news article", "news articles"),
    "encyclopedia": ("encyclopedia article", "encyclopedia articles"),
    "discussion": ("forum post", "forum posts"),
    "web": ("web page", "web pages"),
    "mine": ("document of the collections", "documents of the collections"),
}


def evidence_counts(sources: Iterable[SourceFacts]) -> str:
    """Returns '3 studies, 4 news articles and 2 forum posts'; empty without sources."""
    found = Counter(source.evidence_kind for source in sources)
    parts = [f"{found[kind]} {names[found[kind] > 1]}" for kind, names in EVIDENCE_NAMES.items() if found[kind]]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _where(documents: Sequence[AnswerDocument]) -> str:
    """Returns ' in the 14 documents that were read'."""
    read = list(filter(was_read, documents))
    return f" in the {documents_and_rows(read)} that {'was' if len(read) == 1 else 'were'} read" if read else ""


def _what_was_not_done(state: RunState) -> str:
    """Returns the end of a sentence that mentions failures; empty if everything was searched."""
    done = search_completed(f.get("kind", "failed") for f in state.get("notes", []))
    failed = ", though not all could be searched and read; the notes say what failed"
    return "" if done and not state.get("unread_pages") else failed


def _stance_counts(state: RunState, documents: Sequence[AnswerDocument]) -> str:
    """Returns 'Of 14 documents on this, 5 argue yes and 4 no; for 5 Steelman could not tell.'

    Copies count once. In a follow-up with a focus, only quoted documents count.
    """
    left_out = ("repeats", "off_question", "unread", *(["no_claim"] if state["framing"]["focus"] else []))
    on_question = [d for d in documents if d.not_quoted not in left_out]
    where = "quoted here" if state["framing"]["focus"] else "on this"
    argued = Counter(_stance_class(d, state) for d in on_question if d.stances)
    untold, whole = len(on_question) - argued.total(), documents_and_rows(on_question)
    if not argued:
        found, which = ("is", "which side it takes") if untold == 1 else ("are", "which side any of them takes")
        undone = _what_was_not_done(state)
        return f"{whole} {found} {where}; Steelman could not tell {which}{undone}." if untold else ""
    phrases = [f"{n} {what}" for (_, what), n in sorted(argued.items())]
    phrases[0] = phrases[0].replace(" ", " argues " if phrases[0].startswith("1 ") else " argue ", 1)
    listed = " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
    return f"Of {whole} {where}, {listed}" + (f"; for {untold} Steelman could not tell." if untold else ".")


def was_read(document: AnswerDocument) -> bool:
    return document.not_quoted != "unread"


def documents_and_rows(documents: Sequence[AnswerDocument]) -> str:
    """Returns '6 documents and 8 rows of a table', because a reader regards a table as one file."""
    tables = [d.file or (row[1] if (row := _ROW.fullmatch(d.id)) else "") for d in documents]
    held = Counter((d.collection, table) for d, table in zip(documents, tables, strict=True) if table)
    alone = len(documents) - held.total()
    named = "a table" if len(held) == 1 else f"{len(held)} tables"
    whole = [count(alone, "document")] if alone or not held else []
    return " and ".join([*whole, *([f"{count(held.total(), 'row')} of {named}"] if held else [])])


def _stance_class(document: AnswerDocument, state: RunState) -> tuple[int, str]:
    """Returns (position in the summary, class) of the document. Yes and no come before other sides."""
    sides, supported = state["perspectives"], {s.perspective for s in document.stances if s.argues == "for"}
    mine = [(place, p) for place, p in enumerate(sides) if p["id"] in supported]
    faced = len({p["stance"] for p in sides} - {"other"}) == 2
    if not mine:
        return len(sides) + 2, f"only against {'another way' if faced else 'an answer'}"
    if faced:
        facing = {p["stance"] for _, p in mine} - {"other"}
        polar = any(p["name"] in ANSWERS["polar"] for p in sides) or asks_yes_or_no(state["framing"]["question"])
        words = {"supports": "yes", "opposes": "no"} if polar else {"supports": "for", "opposes": "against"}
        if len(facing) == 1:
            return next((place, words[p["stance"]]) for place, p in enumerate(sides) if p["stance"] in facing)
        return len(sides) + (not facing), "both" if facing else "for another way"
    if len(mine) > 1:
        return len(sides), "for more than one answer"
    place, only = mine[0]
    named = len(sides) <= _NAMED
    return (place, f"for ‘{shorten(only['name'], 60, placeholder=' …')}’") if named else (0, "for one of the answers")


def _counter_summary(outcome: Outcome, against: CounterTarget) -> str:
    what = f"“{against['text'].rstrip('. ')}”" + (f" ({against['publisher']})" if against["publisher"] else "")
    if outcome == "answered":
        return f"This is the strongest that was found against {what}; what comes nearest to its point stands first."
    return f"Nothing sure enough to quote was found against {what}."


_UNREAD_SHOWN = 3
_WHY_DROPPED: dict[FailedCheck, str] = {
    "source": "did not stand up to the check against the sources and {} left out",
    "side": "{} left out for serving no side",
}


def repeat_notes(state: RunState, originals: Mapping[int, int], passages: Mapping[int, Passage]) -> list[Note]:
    """Returns a note on passages that were not judged because they are copies. originals: the first copy of each
    passage."""
    judged = {i for scores in state.get("support", {}).values() for i in scores}
    if not (copies := [i for i, first in originals.items() if i not in judged and first in judged]):
        return []
    named = [*_titles(passages[i] for i in copies)]
    more = f" and {len(named) - _UNREAD_SHOWN} more" if len(named) > _UNREAD_SHOWN else ""
    where = f"{len(copies)}, in {', '.join(named[:_UNREAD_SHOWN])}{more}"
    return [Note(kind="scope", text=f"Passages that repeat others nearly word for word, and were read once: {where}.")]


def _titles(passages: Iterable[Passage]) -> dict[str, None]:
    return dict.fromkeys(f"“{shorten(p.name, 90, placeholder=' …')}”" for p in passages)


def replaced_source_notes(passages: Sequence[Passage]) -> list[Note]:
    """Returns a note on documents that were replaced or deleted during the run."""
    named = _titles(passages)
    text = f"Replaced or deleted while this was answered, and quoted as it was before: {_shortened([*named])}."
    return [Note(kind="scope", text=text)] if named else []


def notes_of(state: RunState, sides: Sequence[AnswerPerspective]) -> list[Note]:
    notes = stage_notes(state)
    if state.get("unjudged", 0) > FEW_UNJUDGED:
        text = f"{count(state['unjudged'], 'passage')} found were left unread: a question reads only so many."
        notes.append(Note(kind="unjudged", text=text, brief=NOT_ALL_JUDGED))
    return [*notes, *balance_notes(sides)]


def balance_notes(sides: Sequence[AnswerPerspective]) -> list[Note]:
    """Returns a note if one side shows far more claims than the other."""
    facing = sorted((s for s in sides if s.stance != "other"), key=lambda s: len(s.claims))
    few, many = (len(s.claims) for s in facing) if len(facing) == 2 else (0, 0)
    if many <= UNBALANCED * max(1, few):
        return []
    shown = f"{many} claims are shown for ‘{facing[1].name}’ and {few} for ‘{facing[0].name}’"
    return [Note(kind="balance", text=f"{shown}: that does not say how much there is for either.")]


def query_notes(state: RunState) -> list[Note]:
    """Returns a note that lists the queries of a follow-up with a focus."""
    if not state["framing"]["focus"]:
        return []
    queries = dict.fromkeys(q for asked in state.get("queries", {}).values() for q in asked)
    return [Note(kind="not_found", text=f"Looked for: {' · '.join(queries)}")] if queries else []


def stage_notes(state: RunState) -> list[Note]:
    failures = dict.fromkeys(
        (f.get("kind", "failed"), f["message"], f.get("hint", ""), f.get("brief", "")) for f in state.get("notes", [])
    )
    notes = [Note(kind=kind, text=text, hint=hint, brief=brief) for kind, text, hint, brief in failures]
    if unread := [f"{url} ({why})" for url, why in state.get("unread_pages", {}).items()]:
        brief = f"{count(len(unread), 'web page')} could not be read"
        text = f"{brief}: {_shortened(unread)}."
        notes.append(Note(kind="skipped", text=text, brief=f"{brief}."))
    if foreign := [
        f"“{title}” ({name_of_language(code)})" for title, code in state.get("foreign_documents", {}).items()
    ]:
        text = f"Left out of this English answer, being in another language: {_shortened(foreign)}."
        notes.append(Note(kind="scope", text=text))
    dropped = Counter(d["check"] for d in state.get("dropped", []))
    for check, why in _WHY_DROPPED.items():
        was = "was" if dropped[check] == 1 else "were"
        text = f"{count(dropped[check], 'sentence')} {why.format(was)}."
        notes += [Note(kind="dropped", text=text)] if dropped[check] else []
    return notes


def _shortened(items: Sequence[str]) -> str:
    more = [f"{len(items) - _UNREAD_SHOWN} more"] if len(items) > _UNREAD_SHOWN else []
    return ", ".join([*items[:_UNREAD_SHOWN], *more])
