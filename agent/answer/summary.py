"""What an answer says of all it found, in one or two sentences from counts alone; and its notes: what failed, what was
left out, what was not looked at.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import shorten

from agent.answer.model import AnswerDocument, AnswerPerspective, Note, Outcome
from agent.state import RunState, Stance, Target, in_case
from tools.budget import NOT_ALL_JUDGED
from tools.language.identification import name_of_language
from tools.language.question import ANSWERS
from tools.language.words import count
from tools.passages import Passage

THOUGH = "though not all could be searched, read or judged; the notes say what failed"
"""What stands beside 'nothing was found' where something failed."""
_UNSURE = "is shown; read it before you use it."
_NEAREST = "Nothing that was found is surely about this question."
_NAMED = 4  # answers of which each is named with its documents, at most
_NOT_DONE = ("failed", "degraded", "late")


def summarise(outcome: Outcome, state: RunState, documents: Sequence[AnswerDocument]) -> str:
    """One to three sentences on what the documents say, from counts alone; and whether time ran out before all was
    looked into."""
    stages = {f["stage"] for f in state.get("notes", []) if f.get("kind") == "late"}
    late = f"Time ran out before all was {'judged' if stages == {'judge'} else 'searched'}." if stages else ""
    if late and outcome == "nothing_found" and not leans_unquoted(state):
        return f"{late} No case for a side was found by then, which does not say that there is none."
    return f"{_summary(outcome, state, documents)} {late}".rstrip()


def all_looked_into(kinds: Iterable[str]) -> bool:
    """Whether nothing failed or ran late, by the kinds of the notes: else 'nothing was found' may be for want of
    looking."""
    return not any(kind in _NOT_DONE for kind in kinds)


def _summary(outcome: Outcome, state: RunState, documents: Sequence[AnswerDocument]) -> str:
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
        if leans_unquoted(state):
            return f"No sentence was found{on} that makes a case by itself, for any side of this question{though}."
        return f"Nothing was found{on} that makes a case for any side of this question{though}."
    balance = f"{_balance(state)} {_census(state, documents)}".strip()
    silent = any(f["stage"] == "select" and f.get("kind") == "scope" for f in state.get("notes", []))
    on = f"By what comes nearest to {focus}" if silent else f"On {focus}"
    return f"{on}, {balance[:1].lower()}{balance[1:]}" if focus else balance


def _what_was_not_done(state: RunState) -> str:
    """The end of a sentence that says that nothing was found, where that may be for want of looking."""
    done = all_looked_into(f.get("kind", "failed") for f in state.get("notes", []))
    return "" if done and not state.get("unread_pages") else f", {THOUGH}"


def _balance(state: RunState) -> str:
    """What the counts of documents do not say by themselves; empty where both sides have a case."""
    coverage, stances = state["coverage"], {p["id"]: p["stance"] for p in state["perspectives"]}
    claims = [c for c in state.get("claims", []) if c["perspective"] in stances and not c.get("objection")]
    if not claims:
        return "No case for a side was found, only what speaks against one."
    cased = {c["perspective"] for c in claims if in_case(c)}
    found = [side for side in stances if coverage[side]["status"] != "not_found"]
    facing: set[Stance] = {*stances.values()} - {"other"}
    sure = {stances[side] for side in cased} & facing
    leaning = {stances[c["perspective"]] for c in claims} & facing - sure
    beside = cased and leaning and not sure  # another way has a case
    if len(facing) < 2 or beside or all(stances[side] == "other" for side in found):
        return _answers(len(found), len(cased))
    if not sure:
        return _unsure(leaning, _yes_no(state))
    if len(sure) == 2:
        return ""
    rest: Stance = "opposes" if "supports" in sure else "supports"
    word, others = ("for" if rest == "opposes" else "against"), [coverage[s] for s in stances if stances[s] == rest]
    if rest in leaning:
        return f"A case {word} it was found. What may speak for the other side is shown apart."
    if passages := sum(c["passages"] for c in others):
        lean = f"{count(passages, 'passage')} {'leans' if passages == 1 else 'lean'}"
        return f"A case {word} it was found; {lean} the other way without a sentence to quote."
    return f"All that was found to make a case argues {word} it; no case for the other side was found."


def _yes_no(state: RunState) -> bool:
    return any(p["name"] in ANSWERS["polar"] for p in state["perspectives"])


def _census(state: RunState, documents: Sequence[AnswerDocument]) -> str:
    """'Of 16 documents read, 4 argue yes, 7 no; 5 take no clear side.' Each is counted once."""
    read = list(filter(is_read, documents))
    why = Counter(d.not_quoted for d in read if d.not_quoted in ("repeats", "off_question"))
    argued = Counter(_argued(d, state) for d in read if d.stances and d.not_quoted not in why)
    rest = (
        (why["repeats"], "says the same as another", "say the same as others"),
        (len(read) - argued.total() - why.total(), "takes no clear side", "take no clear side"),
        (why["off_question"], "is off the question", "are off the question"),
    )
    told = ", ".join(f"{n} {what}" for (_, what), n in sorted(argued.items()))
    told = told.replace(" ", " argues " if told.startswith("1 ") else " argue ", 1)
    besides = ", ".join(f"{n} {one if n == 1 else more}" for n, one, more in rest if n)
    return f"Of {count(len(read), 'document')} read, {'; '.join(filter(None, (told, besides)))}." if told else ""


def is_read(document: AnswerDocument) -> bool:
    return document.not_quoted != "unread"


def _argued(document: AnswerDocument, state: RunState) -> tuple[int, str]:
    """The one class of a document that takes a side, after its place in the sentence: yes or no before other ways."""
    sides, supported = state["perspectives"], {s.perspective for s in document.stances if s.argues == "for"}
    mine = [(place, p) for place, p in enumerate(sides) if p["id"] in supported]
    faced = len({p["stance"] for p in sides} - {"other"}) == 2
    if not mine:
        return len(sides) + 2, f"only against {'another way' if faced else 'an answer'}"
    if faced:
        facing = {p["stance"] for _, p in mine} - {"other"}
        words = {"supports": "yes", "opposes": "no"} if _yes_no(state) else {"supports": "for", "opposes": "against"}
        if len(facing) == 1:
            return next((place, words[p["stance"]]) for place, p in enumerate(sides) if p["stance"] in facing)
        return len(sides) + (not facing), "both ways" if facing else "for another way"
    if len(mine) > 1:
        return len(sides), "for more than one"
    place, only = mine[0]
    named = len(sides) <= _NAMED
    return (place, f"for ‘{shorten(only['name'], 60, placeholder=' …')}’") if named else (0, "for one of them")


def _answers(found: int, sure: int) -> str:
    """The summary of answers beside yes and no; those that are not sure are named for what they are."""
    if not sure:
        return f"{_NEAREST} What may speak for {'one answer' if found == 1 else f'{found} answers'} {_UNSURE}"
    if sure < found:
        return f"The sources found give {count(sure, 'answer')}; what may speak for {found - sure} more is shown apart."
    return f"The sources found give {'one answer' if found == 1 else f'{found} different answers'}."


def _countering(outcome: Outcome, state: RunState, against: Target) -> str:
    """To what the answer replies, and whether anything was found to reply with."""
    what = f"“{against['text'].rstrip('. ')}”" + (f" ({against['publisher']})" if against["publisher"] else "")
    if outcome == "nothing_found":
        return f"Nothing was found that speaks against {what}."
    if not any(map(in_case, state.get("claims", []))):
        return f"No source found surely speaks against {what}. What may {_UNSURE}"
    return f"This is the strongest that was found against {what}; what comes nearest to its point stands first."


def _unsure(leaning: set[Stance], yes_no: bool) -> str:
    """The summary where neither of the two sides has a case."""
    if not leaning:
        return "Neither side was found in words that could be quoted."
    words = ("for yes", "for no") if yes_no else ("for it", "against it")
    which = "for each" if len(leaning) > 1 else words["supports" not in leaning]
    return f"{_NEAREST} What may speak {which} {_UNSURE}"


def leans_unquoted(state: RunState) -> bool:
    """Whether passages speak for a side that has no sentence to quote."""
    quoted = {c["perspective"] for c in state.get("claims", [])}
    found = {side for side, c in state.get("coverage", {}).items() if c["ids"]}
    return "drafts" in state and "against" not in state and bool(found - quoted)


_FEW_UNJUDGED = 5  # passages: so few change nothing
_UNREAD_SHOWN = 3


def deleted_source_notes(passages: Sequence[Passage]) -> list[Note]:
    """That documents are quoted as they were: they were replaced or deleted while the run worked."""
    if not passages:
        return []
    named = _shortened(
        list(dict.fromkeys(f"“{shorten(p.title or p.document_id, 90, placeholder=' …')}”" for p in passages))
    )
    text = f"Replaced or deleted while this was answered, and quoted as it was before: {named}."
    return [Note(kind="scope", text=text)]


def notes_of(state: RunState, sides: Sequence[AnswerPerspective]) -> list[Note]:
    notes = stage_notes(state)
    if state.get("unjudged", 0) > _FEW_UNJUDGED:
        text = f"{count(state['unjudged'], 'passage')} stayed unjudged, past the budget."
        notes.append(Note(kind="unjudged", text=text, brief=NOT_ALL_JUDGED))
    if len(facing := sorted((s for s in sides if s.stance != "other"), key=lambda s: len(s.claims))) == 2:
        few, many = (len(s.claims) for s in facing)
        if many > 2 * max(1, few):
            text = f"{many} claims for ‘{facing[1].name}’ and {few} for ‘{facing[0].name}’: what was found is unequal."
            notes.append(Note(kind="balance", text=text))
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
        text = f"Left out were words to whoever writes the answer, in: {_shortened(addressed)}."
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
