"""The answer's notes and its summary: one or two sentences built from counts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import cast

from agent.answer.model import Answer, AnswerDocument, AnswerPerspective, DocumentStance, Note, Outcome
from agent.limits import FEW_UNJUDGED, UNBALANCED
from agent.state import ANSWER_WORDS, RunState
from tools.budget import NOT_ALL_JUDGED
from tools.language.identification import name_of_language
from tools.language.lexicon import count
from tools.language.question import ANSWERS, asks_yes_or_no
from tools.passages import EvidenceKind, Passage
from tools.translation import answer_language, grouped, in_its_language, in_marks, labelled, mark, tr, trn

_PART = re.compile(r"(.+?\.[A-Za-z]\w*), .+")  # id of a table's row or of a mail in a file
_SENTENCE_END = re.compile(r"(?<=[?!])\s+|(?<=\w{3}\.)\s+")  # not after 'St.'
_NAMED = 4  # the most answers that the summary names
_NOT_DONE = ("failed", "degraded", "late")
_NOT_READ = mark("Time ran out before all was read.")
_AGAINST_ONE = mark("only against an answer")
_AGAINST_OTHER = mark("against another way but for neither side")
_STRONGEST = mark("This is the strongest that was found against {claim}. The closest arguments come first.")


def summarise(outcome: Outcome, state: RunState, documents: Sequence[AnswerDocument]) -> str:
    """Returns the summary. If time ran out, the summary says so."""
    stages = {f["stage"] for f in state.get("notes", []) if f.get("kind") == "late"}
    late = (tr(_NOT_READ) if stages == {"judge"} else tr("Time ran out before all was searched.")) if stages else ""
    if late and outcome == "nothing_found":
        return f"{late} {tr('Nothing was found by then, which does not say that there is nothing.')}"
    return f"{_summary(outcome, state, documents)} {late}".rstrip()


@in_its_language
def summary_of(answer: Answer) -> str:
    late = "judge" if tr(_NOT_READ) in answer.summary else "retrieve"
    state = {
        "framing": {"focus": answer.focus, "question": answer.english_question},
        "perspectives": [side.model_dump() for side in answer.perspectives],
        "kinds": answer.kinds,
        "notes": [{"stage": late, "kind": note.kind} for note in answer.notes],
    } | ({"against": answer.against.model_dump()} if answer.against else {})
    return summarise(answer.outcome, cast(RunState, state), answer.documents)


def search_completed(kinds: Iterable[str]) -> bool:
    """Whether nothing failed or was late. Otherwise 'nothing was found' may be untrue. kinds: the notes' kinds."""
    return not any(kind in _NOT_DONE for kind in kinds)


def _summary(outcome: Outcome, state: RunState, documents: Sequence[AnswerDocument]) -> str:
    if against := state.get("against"):
        words, publisher = against["text"].rstrip(". "), against["publisher"]
        claim = f"‘{words}’" if against.get("written") else f"“{words}”" + (f" ({publisher})" if publisher else "")
        nothing = tr("Nothing sure enough to quote was found against {claim}.", claim=claim)
        return tr(_STRONGEST, claim=claim) if outcome == "answered" else nothing
    if outcome == "retrieved":
        covered = sum(c["passages"] > 0 for c in state["coverage"].values())
        sides = count(len(state["coverage"]), "side")
        return tr("Passages for {covered} of {sides}; nothing was written.", covered=covered, sides=sides)
    focus = state["framing"]["focus"].rstrip(" ?!.")
    if outcome == "nothing_found":
        about = focus if focus and state["perspectives"] else tr("this")
        undone = _what_was_not_done(state)
        return tr("Nothing on {topic} was found{where}{undone}.", topic=about, where=_where(documents), undone=undone)
    if not state["perspectives"]:
        return tr("What the sources say on this:")
    census = _stance_counts(state, documents)
    said = f"{census[:1].lower()}{census[1:]}"
    lead = tr("On {topic}, {census}", topic=focus, census=said) if focus else census
    counts = evidence_counts(d for d in documents if d.quoted) if len(state.get("kinds", [])) > 1 else ""
    return f"{lead} {tr('It rests on {counts}.', counts=counts)}".lstrip() if counts else lead


EVIDENCE_NAMES: dict[EvidenceKind, tuple[str, str]] = {
    "studies": ("study", "studies"),
    "news": ("news article", "news articles"),
    "encyclopedia": ("encyclopedia article", "encyclopedia articles"),
    "discussion": ("forum post", "forum posts"),
    "web": ("web page", "web pages"),
    "mine": ("document of the collections", "documents of the collections"),
}
"""Messages for one document of a kind, and for several."""


def evidence_counts(documents: Iterable[AnswerDocument]) -> str:
    """Returns '3 studies, 4 news articles and 2 forum posts'; empty without documents."""
    found = Counter(rows[0].evidence_kind for rows in by_file(documents))
    numbers = [(names, found[kind]) for kind, names in EVIDENCE_NAMES.items() if found[kind]]
    parts = [f"{grouped(number)} {trn(*names, number)}" for names, number in numbers]
    return tr(" and ").join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _where(documents: Sequence[AnswerDocument]) -> str:
    """Returns ' in the 14 documents that were read'."""
    read = by_file(filter(was_read, documents))
    was_or_were = tr(" in the {documents} that was read"), tr(" in the {documents} that were read")
    return was_or_were[len(read) > 1].format(documents=count(len(read), "document")) if read else ""


def _what_was_not_done(state: RunState) -> str:
    """Returns the end of a sentence that mentions failures; empty if everything was searched."""
    done = search_completed(f.get("kind", "failed") for f in state.get("notes", []))
    failed = tr(", though not all could be searched and read; the notes say what failed")
    return "" if done and not state.get("unread_pages") else failed


def _stance_counts(state: RunState, documents: Sequence[AnswerDocument]) -> str:
    """Returns 'Of 14 documents on this, 5 argue yes and 4 no; for 5 Steelman could not tell.'

    Copies count once. A file whose rows argue for both sides counts as 'both ways'. In a follow-up with a focus, only
    quoted documents count.
    """
    left_out = ("repeats", "off_question", "unread", *(["no_claim"] if state["framing"]["focus"] else []))
    on_question = by_file(d for d in documents if d.not_quoted not in left_out)
    where = tr("quoted here") if state["framing"]["focus"] else tr("on this")
    argued = Counter(_stance_class(s, state) for rows in on_question if (s := [s for d in rows for s in d.stances]))
    untold, whole = len(on_question) - argued.total(), count(len(on_question), "document")
    if not argued:
        one = tr("{documents} is {here}; Steelman could not tell which side it takes{undone}.")
        several = tr("{documents} are {here}; Steelman could not tell which side any of them takes{undone}.")
        undone, said = _what_was_not_done(state), one if untold == 1 else several
        return said.format(documents=whole, here=where, undone=undone) if untold else ""
    (first, number), *others = [(what, n) for (_, what), n in sorted(argued.items())]
    phrases = [trn("{number} argues {what}", "{number} argue {what}", number, what=first)]
    phrases += [f"{n} {what}" for what, n in others]
    listed = tr(" and ").join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
    rest = tr("; for {number} Steelman could not tell.", number=untold) if untold else "."
    return tr("Of {documents} {here}, {counts}", documents=whole, here=where, counts=listed) + rest


def was_read(document: AnswerDocument) -> bool:
    return document.not_quoted != "unread"


def by_file(documents: Iterable[AnswerDocument]) -> list[list[AnswerDocument]]:
    """Groups the parts of a file that have no title of their own, such as a survey's rows or a mail and the mails that
    it quotes. Every count of documents counts these groups, because a reader regards such a file as one document."""
    files: dict[tuple[str, ...], list[AnswerDocument]] = {}
    for document in documents:
        files.setdefault(file_of(document), []).append(document)
    return [*files.values()]


def file_of(document: AnswerDocument) -> tuple[str, ...]:
    """Returns what the parts of a file have in common; see `by_file`."""
    file = document.file or (part[1] if (part := _PART.fullmatch(document.id)) else document.id)
    return document.collection, file, document.title, document.url


def _stance_class(stances: Sequence[DocumentStance], state: RunState) -> tuple[int, str]:
    """Returns (position in the summary, class) of a document's stances. Yes and no come before other sides."""
    sides, supported = state["perspectives"], {s.perspective for s in stances if s.argues == "for"}
    if supported & {s.perspective for s in stances if s.argues == "against"} and len(supported) == 1:
        return len(sides) + 1, tr("both for and against an answer")
    mine = [(place, p) for place, p in enumerate(sides) if p["id"] in supported]
    faced = len({p["stance"] for p in sides} - {"other"}) == 2
    if not mine:
        return len(sides) + 2, tr(_AGAINST_OTHER) if faced else tr(_AGAINST_ONE)
    if faced:
        facing = {p["stance"] for _, p in mine} - {"other"}
        polar = any(p["name"] in ANSWERS["polar"] for p in sides) or asks_yes_or_no(state["framing"]["question"])
        yes_no, for_against = (tr("yes"), tr("no")), (tr("for"), tr("against"))
        words = dict(zip(("supports", "opposes"), yes_no if polar else for_against, strict=True))
        if len(facing) == 1:
            return next((place, words[p["stance"]]) for place, p in enumerate(sides) if p["stance"] in facing)
        return len(sides) + (not facing), tr("both ways") if facing else tr("for another way")
    if len(mine) > 1:
        return len(sides), tr("for more than one answer")
    place, only = mine[0]
    named = len(sides) <= _NAMED
    name = shorten(only["name"], 60, placeholder=" …")
    return (place, tr("for ‘{side}’", side=name)) if named else (0, tr("for one of the answers"))


_UNREAD_SHOWN = 3


def repeat_notes(state: RunState, originals: Mapping[int, int], passages: Mapping[int, Passage]) -> list[Note]:
    """Returns a note on copies, which were not judged. originals: the first copy of each passage."""
    judged = {i for scores in state.get("support", {}).values() for i in scores}
    if not (copies := [i for i, first in originals.items() if i not in judged and first in judged]):
        return []
    named = [*_titles(passages[i] for i in copies)]
    more = tr(" and {number} more", number=len(named) - _UNREAD_SHOWN) if len(named) > _UNREAD_SHOWN else ""
    titles = f"{', '.join(named[:_UNREAD_SHOWN])}{more}"
    text = tr("Passages that repeat others nearly word for word, and were read once: {number}, in {titles}.")
    return [Note(kind="scope", text=text.format(number=len(copies), titles=titles))]


def _titles(passages: Iterable[Passage]) -> dict[str, None]:
    return dict.fromkeys(in_marks(shorten(p.name, 90, placeholder=" …")) for p in passages)


def replaced_source_notes(passages: Sequence[Passage]) -> list[Note]:
    """Returns a note on documents that were replaced or deleted during the run."""
    named = _titles(passages)
    text = tr("Replaced or deleted while this was answered, and quoted as it was before: {titles}.")
    return [Note(kind="scope", text=text.format(titles=_shortened([*named])))] if named else []


def notes_of(state: RunState, sides: Sequence[AnswerPerspective]) -> list[Note]:
    notes = stage_notes(state)
    if state.get("unjudged", 0) > FEW_UNJUDGED:
        text = tr("{passages} found were left unread: a question reads only so many.")
        text = text.format(passages=count(state["unjudged"], "passage"))
        notes.append(Note(kind="unjudged", text=text, brief=tr(NOT_ALL_JUDGED)))
    return [*notes, *balance_notes(sides)]


def balance_notes(sides: Sequence[AnswerPerspective]) -> list[Note]:
    """Returns a note if one side shows far more claims than the other."""
    facing = sorted((s for s in sides if s.stance != "other"), key=lambda s: len(s.claims))
    few, many = (len(s.claims) for s in facing) if len(facing) == 2 else (0, 0)
    if many <= UNBALANCED * max(1, few):
        return []
    values = {"many": many, "few": few, "more": facing[1].name, "less": facing[0].name}
    return [Note(kind="balance", text=tr(_UNEQUAL, **values))]


_UNEQUAL = mark(
    "{many} claims are shown for ‘{more}’ and {few} for ‘{less}’: that does not say how much there is for either."
)


def query_notes(state: RunState) -> list[Note]:
    """Returns a note that lists the queries of a follow-up with a focus."""
    if not state["framing"]["focus"]:
        return []
    queries = [q for asked in state.get("queries", {}).values() for q in asked]
    return [Note(kind="not_found", text=queries_in_words(queries))] if queries else []


def queries_in_words(queries: Iterable[str]) -> str:
    """Returns 'Searched for: “landing fee”, “tourist tax”'. Each sentence of a query stands alone, and once. A side's
    answer word, as in 'Yes: …?', is left out."""
    parts = ((query, *query.partition(": ")) for query in queries)
    named = (rest if word in ANSWER_WORDS else query for query, word, _, rest in parts)
    sentences = dict.fromkeys(part.removesuffix(".") for query in named for part in _SENTENCE_END.split(query))
    return tr("Searched for: {queries}", queries=", ".join(map(in_marks, sentences)))


def stage_notes(state: RunState) -> list[Note]:
    failures = dict.fromkeys(
        (f.get("kind", "failed"), f["message"], f.get("hint", ""), f.get("brief", "")) for f in state.get("notes", [])
    )
    notes = [Note(kind=kind, text=text, hint=hint, brief=brief) for kind, text, hint, brief in failures]
    if unread := [f"{url} ({why})" for url, why in state.get("unread_pages", {}).items()]:
        brief = tr("{pages} could not be read", pages=count(len(unread), "web page"))
        text = labelled(brief, f"{_shortened(unread)}.")
        notes.append(Note(kind="skipped", text=text, brief=f"{brief}."))
    if foreign := [
        f"{in_marks(title)} ({name_of_language(code)})" for title, code in state.get("foreign_documents", {}).items()
    ]:
        english = "Left out of this English answer, being in another language: {titles}."  # no other answer has this
        text = (
            tr("Left out, being in a language that was not read: {titles}.")
            if answer_language() not in ("", "en")
            else english
        )
        notes.append(Note(kind="scope", text=text.format(titles=_shortened(foreign))))
    dropped = Counter(d["check"] for d in state.get("dropped", []))
    if number := dropped["source"]:
        text = trn(
            "{number} sentence did not stand up to the check against the sources and was left out.",
            "{number} sentences did not stand up to the check against the sources and were left out.",
            number,
        )
        notes.append(Note(kind="dropped", text=text))
    if number := dropped["side"]:
        text = trn(
            "{number} sentence was left out because it argues neither for nor against a side of what was asked.",
            "{number} sentences were left out because they argue neither for nor against a side of what was asked.",
            number,
        )
        notes.append(Note(kind="dropped", text=text))
    return notes


def _shortened(items: Sequence[str]) -> str:
    more = [tr("{number} more", number=len(items) - _UNREAD_SHOWN)] if len(items) > _UNREAD_SHOWN else []
    return ", ".join([*items[:_UNREAD_SHOWN], *more])
