"""What an answer says of all it found, in one or two sentences from counts alone; and its notes: what failed, what was
left out, what was not looked at.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import shorten

from agent.answer.model import AnswerPerspective, Note, Outcome
from agent.state import Coverage, Perspective, RunState, Stance, Target, in_case
from tools.budget import NOT_ALL_JUDGED
from tools.language.identification import name_of_language
from tools.language.question import ANSWERS
from tools.language.words import count
from tools.passages import Passage

_LOOKED_AT = 9  # of the passages that lean to a side, those that documents are named from
THOUGH = "though not all could be searched, read or judged; the notes say what failed"
"""What stands beside 'nothing was found' where something failed."""
_UNSURE = "is shown; read it before you use it."
_NEAREST = "Nothing that was found is surely about this question."
_NOT_DONE = ("failed", "degraded", "late")
SETTLED_PASSAGES, SETTLED_SOURCES, SETTLED_RATIO = 8, 4, 8
"""'The sources found agree': at least so many passages and sources on one side, and so many times the other's."""


def summarise(outcome: Outcome, state: RunState) -> str:
    """One or two sentences on what the sources found say, from counts alone; and whether time ran out before all was
    looked into."""
    if not (late := ran_out(state)):
        return _summary(outcome, state)
    if outcome == "nothing_found" and not passages_without_quotation(state):
        return f"{late} No case for a side was found by then, which does not say that there is none."
    return f"{_summary(outcome, state)} {late}"


def ran_out(state: RunState) -> str:
    """What was not done when time ran out, in a sentence; empty where all was."""
    stages = {f["stage"] for f in state.get("notes", []) if f.get("kind") == "late"}
    if not stages:
        return ""
    return f"Time ran out before all was {'judged' if stages == {'judge'} else 'searched'}."


def all_looked_into(kinds: Iterable[str]) -> bool:
    """Whether nothing failed or ran late, by the kinds of the notes: else 'nothing was found' may be for want of
    looking."""
    return not any(kind in _NOT_DONE for kind in kinds)


def _summary(outcome: Outcome, state: RunState) -> str:
    if outcome == "no_sides":
        return (
            "This looks like a question of fact, without sides to take. Steelman is for contentious questions: "
            "it finds the strongest sourced case for every side."
        )
    if "against" in state:
        return _countering(outcome, state, state["against"])
    focus = state["framing"]["focus"]
    if outcome == "retrieved":
        covered = sum(c["passages"] > 0 for c in state["coverage"].values())
        return f"Passages that support {covered} of {count(len(state['coverage']), 'side')}; nothing was written."
    if outcome == "nothing_found":
        on, though = f" on {focus}" if focus else "", _what_was_not_done(state)
        if passages_without_quotation(state):
            return f"No sentence was found{on} that makes a case by itself, for any side of this question{though}."
        return f"Nothing was found{on} that makes a case for any side of this question{though}."
    balance = _balance(state)
    silent = any(f["stage"] == "select" and f.get("kind") == "scope" for f in state.get("notes", []))
    on = f"By what comes nearest to {focus}" if silent else f"On {focus}"
    return f"{on}, {balance[0].lower()}{balance[1:]}" if focus else balance


def _what_was_not_done(state: RunState) -> str:
    """The end of a sentence that says that nothing was found, where that may be for want of looking."""
    done = all_looked_into(f.get("kind", "failed") for f in state.get("notes", []))
    return "" if done and not state.get("unread_pages") else f", {THOUGH}"


def _balance(state: RunState) -> str:
    coverage = state["coverage"]
    by_stance = {p["stance"]: coverage[p["id"]] for p in state["perspectives"] if p["stance"] != "other"}
    found = [p for p in state["perspectives"] if coverage[p["id"]]["status"] != "not_found"]
    others = [p for p in found if p["stance"] == "other"]
    claims = state.get("claims", [])
    if len(by_stance) < 2 or len(others) == len(found):
        sure = {c["perspective"] for c in claims if in_case(c)}
        return _answers(found, [p for p in found if p["id"] in sure])
    shown = {p["stance"]: [c for c in claims if c["perspective"] == p["id"]] for p in state["perspectives"]}
    cased = {stance for stance, mine in shown.items() if any(map(in_case, mine))}
    pro, con = by_stance["supports"], by_stance["opposes"]
    further = _beside([p for p in others if coverage[p["id"]]["status"] != "leaning"])
    if {"supports", "opposes"} <= cased:
        return _verdict(pro, con) + further
    leaning = {stance for stance, mine in shown.items() if mine} - cased
    yes_no = any(p["name"] in ANSWERS["polar"] for p in state["perspectives"])
    return _one_sided(pro, con, cased, leaning, yes_no=yes_no) + further


def _answers(found: Sequence[Perspective], sure: Sequence[Perspective]) -> str:
    """The summary of answers beside yes and no; those that are not sure are named for what they are."""
    if not sure:
        answers = "one answer" if len(found) == 1 else f"{len(found)} answers"
        return f"{_NEAREST} What may speak for {answers} {_UNSURE}"
    if len(sure) < len(found):
        rest = len(found) - len(sure)
        return f"The sources found give {count(len(sure), 'answer')}; what may speak for {rest} more is shown apart."
    return f"The sources found give {'one answer' if len(found) == 1 else f'{len(found)} different answers'}."


def _countering(outcome: Outcome, state: RunState, against: Target) -> str:
    """To what the answer replies, and whether anything was found to reply with."""
    what = f"“{against['text'].rstrip('. ')}”" + (f" ({against['publisher']})" if against["publisher"] else "")
    if outcome == "nothing_found":
        return f"Nothing was found that speaks against {what}."
    if not any(map(in_case, state.get("claims", []))):
        return f"No source found surely speaks against {what}. What may {_UNSURE}"
    counted = [c for c in state["coverage"].values() if c["passages"]]
    weight = f" The contrary view has {' and '.join(map(_weight, counted))}." if counted else ""
    return f"This is the strongest that was found against {what}; what comes nearest to its point stands first.{weight}"


def _one_sided(
    for_it: Coverage, against: Coverage, cased: set[Stance], leaning: set[Stance], *, yes_no: bool = False
) -> str:
    """The summary where at most one of the two sides has a case. leaning: sides with words that may speak for them;
    yes_no: whether the sides are Yes and No to the question."""
    if not cased - {"other"}:
        return _unsure(leaning - {"other"}, yes_no)
    word, one, other, rest = (
        ("for", for_it, against, "opposes") if "supports" in cased else ("against", against, for_it, "supports")
    )
    if rest in leaning:
        return f"A case {word} it was found ({_weight(one)}). What may speak for the other side is shown apart."
    if other["passages"]:
        lean = "leans" if other["passages"] == 1 else "lean"
        without = f"{_weight(other)} {lean} the other way without a sentence to quote."
        return f"A case {word} it was found ({_weight(one)}); {without}"
    if other.get("leaning"):
        return f"A case {word} it was found ({_weight(one)}); nothing that was found surely argues for the other side."
    return f"All that was found to make a case argues {word} it ({_weight(one)}); no case for the other side was found."


def _unsure(leaning: set[Stance], yes_no: bool) -> str:
    """The summary where neither of the two sides has a case."""
    if not leaning:
        return "Neither side was found in words that could be quoted."
    words = ("for yes", "for no") if yes_no else ("for it", "against it")
    which = "for each" if len(leaning) > 1 else words["supports" not in leaning]
    return f"{_NEAREST} What may speak {which} {_UNSURE}"


def _verdict(for_it: Coverage, against: Coverage) -> str:
    for word, one, other in (("for", for_it, against), ("against", against, for_it)):
        if is_settled(one, other):
            return f"The sources found agree {word} it: {_weight(one)}, with dissent in {_weight(other)}."
    return f"The sources found disagree: {_weight(for_it)} for, {_weight(against)} against."


def is_settled(one: Coverage, other: Coverage) -> bool:
    """Whether what was found leans so far to one side that the answer says the sources agree. Never 'true', and not
    where most of what speaks for the side, what only rewords the rest among it, is near to the rest: one voice may
    speak under many names."""
    if 2 * one.get("distinct", one["passages"]) < one["passages"] + one.get("reworded", 0):
        return False
    enough = one["passages"] >= SETTLED_PASSAGES and one["sources"] >= SETTLED_SOURCES
    doubt = other["passages"] + len(other.get("leaning", []))  # what may speak for the other side forbids 'agree' too
    return enough and one["passages"] >= SETTLED_RATIO * doubt


def _weight(coverage: Coverage) -> str:
    return f"{count(coverage['passages'], 'passage')} from {count(coverage['sources'], 'source')}"


def _beside(others: Sequence[Perspective]) -> str:
    what = "something else" if len(others) == 1 else "other ways"
    return f" Some propose {what} beside yes and no." if others else ""


def passages_without_quotation(state: RunState) -> dict[str, list[int]]:
    """The passages that speak most for each side that has no sentence to quote, best first."""
    if "drafts" not in state or "against" in state:
        return {}
    quoted = {c["perspective"] for c in state.get("claims", [])}
    found = {side: c["ids"][:_LOOKED_AT] for side, c in state.get("coverage", {}).items() if side not in quoted}
    return {side: ids for side, ids in found.items() if ids}


_FEW_UNJUDGED = 5  # passages: so few change nothing
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
    by = ", ".join(filter(None, (passage.speaker, passage.publisher, passage.url or passage.document_id)))
    return f"“{shorten(passage.title or passage.document_id, 90, placeholder=' …')}” ({by})"


def notes_of(state: RunState, sides: Sequence[AnswerPerspective]) -> list[Note]:
    notes = [*stage_notes(state), *_reworded(state)]
    if state.get("unjudged", 0) > _FEW_UNJUDGED:
        text = f"{count(state['unjudged'], 'passage')} stayed unjudged, past the budget."
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
        reasons = ", ".join(f"{why} {n}" for why, n in Counter(state["unread_pages"].values()).most_common())
        in_all = f" (in all: {reasons})" if len(unread) > _UNREAD_SHOWN else ""
        text = f"{brief}: {_shortened(unread)}{in_all}."
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


def _shortened(items: Sequence[str]) -> str:
    """The first items of a list, and how many more there are."""
    more = [f"{len(items) - _UNREAD_SHOWN} more"] if len(items) > _UNREAD_SHOWN else []
    return ", ".join([*items[:_UNREAD_SHOWN], *more])
