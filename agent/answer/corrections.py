"""A reader's corrections: quotations moved to another side.

The stored answer does not change. The corrections are applied whenever an answer is loaded. Exports, follow-ups and
lists therefore show the corrected answer.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import shorten
from typing import NamedTuple

from sqlalchemy import Select, delete, func, insert, select

from agent.answer import model, wording
from agent.answer.model import Answer, AnswerClaim, AnswerDocument, AnswerPerspective, Citation, CoverageLine
from agent.answer.summary import balance_notes, summary_of
from agent.limits import ENOUGH_PASSAGES, ENOUGH_SOURCES
from tools.errors import InputError
from tools.language.lexicon import count
from tools.store.database import Database
from tools.store.schema import corrections, runs
from tools.translation import in_its_language, in_marks, tr

ALSO, OFF_QUESTION = "also", "off"
"""Targets other than sides. `ALSO`: the claim has no side. `OFF_QUESTION`: the claim leaves the answer."""
_NAMED = 3  # moves that the note names


class ClaimPlace(NamedTuple):
    """The place of a claim. side: a side's id, or `ALSO`. against: whether the claim is an objection."""

    side: str
    against: bool = False


class MovedClaim(NamedTuple):
    claim: AnswerClaim
    place: ClaimPlace
    to: ClaimPlace


def claim_key(answer: Answer, claim: AnswerClaim) -> str:
    """Returns a stable key of the claim: a digest of its text and passages."""
    return hashlib.sha256(f"{claim.text}\n{sorted(_passages(answer, claim))}".encode()).hexdigest()[:16]


def moved_claims(answer: Answer, moves: Mapping[str, str]) -> list[MovedClaim]:
    """Returns the claims that change their place. moves: maps claim keys to targets."""
    targets = ((claim, place, moves.get(claim_key(answer, claim))) for place, claim in _placed(answer))
    return [MovedClaim(claim, place, ClaimPlace(to)) for claim, place, to in targets if to and ClaimPlace(to) != place]


def repeated_moves(answer: Answer, before: Answer, moves: Mapping[str, str]) -> dict[str, str]:
    """Returns the moves for claims of `answer` that repeat a moved claim of an earlier answer: on a side of the same
    stance, with no words that the moved claim does not rest on. Of sides of the stance 'other' the statement counts.
    moves: the moves in the earlier answer; a move to the claim's first place revokes an earlier one. A side that
    `answer` lacks becomes `ALSO`."""
    found = dict[str, str]()
    names, earlier = _side_names(answer), _side_names(before)
    for was, moved in _placed(before):
        if not (to := moves.get(claim_key(before, moved))):
            continue
        side = next((side for side, name in names.items() if name == earlier.get(to)), ALSO)
        for place, claim in _placed(answer):
            same = names.get(place.side) == earlier.get(was.side) and place.against == was.against
            if same and {*(claim.evidence or [claim.text])} <= {*(moved.evidence or [moved.text])}:
                found[claim_key(answer, claim)] = OFF_QUESTION if to == OFF_QUESTION else side
    return found


def _side_names(answer: Answer) -> dict[str, str]:
    return {side.id: side.statement if side.stance == "other" else side.stance for side in answer.perspectives}


def _earlier_answers(run_id: str) -> Select[tuple[str, str]]:
    """Selects id and answer of the same person's earlier runs in the run's thread that have corrections."""
    e, r = runs.alias(), runs.alias()
    return (
        select(e.c.id, e.c.answer)
        .join_from(e, r, (e.c.thread == r.c.thread) & (e.c.person == r.c.person))
        .where(r.c.id == run_id, r.c.answer.is_not(None), e.c.answer.is_not(None), e.c.created_at < r.c.created_at)
        .where(e.c.id.in_(select(corrections.c.run_id)))
        .order_by(e.c.created_at)
    )


class Corrections:
    """Reads and writes the table of corrections.

    A row moves one claim of a run to a `target`: a side's id, `ALSO` or `OFF_QUESTION`. The row names the claim by its
    key, and stores the person and the time (ISO, UTC) of the correction.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, run_id: str, to: str, person: str = "", *, text: str = "", number: int = 0) -> None:
        """Moves the claims with this text, this citation number, or both. Claims that are already there stay.

        Raises InputError if the answer has no such claim or target.
        """
        answer, moves = self.original(run_id), self.moves(run_id)
        named = ((p, c) for p, c in _placed(answer) if text in ("", c.text) and number in (0, *c.citations))
        places = {claim_key(answer, claim): place for place, claim in named}
        if not places:
            raise InputError("this answer has no such quotation. Name one by its number and its words.")
        if to not in (there := [*(side.id for side in answer.perspectives), ALSO, OFF_QUESTION]):
            raise InputError(f"'{to}' is no side of this answer. There are: {', '.join(there)}.")
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        now = {key: ClaimPlace(moves[key]) if key in moves else place for key, place in places.items()}
        row = {"run_id": run_id, "target": to, "person": person, "at": at}
        if rows := [row | {"claim": key} for key, place in now.items() if place != ClaimPlace(to)]:
            with self._db.write() as db:
                db.execute(insert(corrections), rows)

    def undo(self, run_id: str, text: str = "") -> None:
        """Revokes the run's last correction. text: revokes the last correction of the claims with this text."""
        last = select(func.max(corrections.c.id)).where(corrections.c.run_id == run_id)
        if text:
            answer = self.original(run_id)
            keys = [claim_key(answer, claim) for _, claim in _placed(answer) if claim.text == text]
            last = last.where(corrections.c.claim.in_(keys)).group_by(corrections.c.claim)
        with self._db.write() as db:
            db.execute(delete(corrections).where(corrections.c.id.in_(last)))

    def moves(self, run_id: str) -> dict[str, str]:
        """Maps each claim key to its last target. Corrections of earlier answers in the thread come first."""
        found = dict[str, str]()
        for row in self._db.rows(_earlier_answers(run_id)):
            before = model.answer_from_json(row.answer)
            found |= repeated_moves(self.original(run_id), before, self.own_moves(row.id))
        return found | self.own_moves(run_id)

    def own_moves(self, run_id: str) -> dict[str, str]:
        """Maps each claim key of this run to its last target."""
        rows = self._db.rows(select(corrections).where(corrections.c.run_id == run_id).order_by(corrections.c.id))
        return {row.claim: row.target for row in rows}

    def runs(self) -> list[str]:
        run = corrections.c.run_id
        return [row.run_id for row in self._db.rows(select(run).distinct().order_by(run))]

    def original(self, run_id: str) -> Answer:
        """Returns the stored answer. Raises InputError if there is none."""
        rows = self._db.rows(select(runs.c.answer).where(runs.c.id == run_id, runs.c.answer.is_not(None)))
        if not rows:
            raise InputError("this run has no answer that could be corrected.")
        return model.answer_from_json(rows[0].answer)


@in_its_language
def apply_corrections(answer: Answer, moves: Mapping[str, str]) -> Answer:
    """Returns the answer with moved claims and updated counts. moves: maps claim keys to targets."""
    if not (moved := moved_claims(answer, moves)):
        return answer
    overlay = _CorrectedParts(answer, moved)
    also = overlay.claims(ClaimPlace(ALSO), answer.also)
    sides = [s for s in map(overlay.side, answer.perspectives) if s]
    cased = [claim for side in sides for claim in side.all_claims]
    lost = {source for m in moved for source in _rests_on(answer, m.claim)}
    crux = answer.crux if answer.crux and lost.isdisjoint(_rests_on(answer, answer.crux)) else None
    known = {n for claim in (*cased, *also, *([crux] if crux else [])) for n in claim.citations}
    off = {m.claim.text for m in moved if m.to.side == OFF_QUESTION}
    gaps = [gap for gap in answer.gaps if (cased or also) and gap.text not in off]
    cited = known.union(*(gap.citations for gap in gaps))
    lines = [overlay.line(next(s for s in answer.coverage if s.perspective == side.id), side) for side in sides]
    sides = [s.model_copy(update={"status": line.status}) for s, line in zip(sides, lines, strict=True)]
    crux = crux if cased else None
    message = _moves_in_words(answer, moved)
    if answer.crux and not crux:
        gone = tr("‘{label}’ is left out, because it rested on a moved quotation.", label=tr(wording.CRUX_LABEL))
        message = f"{message} {gone}"
    notes = [model.Note(kind="corrected", text=message), *(n for n in answer.notes if n.kind != "balance")]
    update = {
        "outcome": "answered" if cased else "no_sides" if also else "nothing_found",
        "perspectives": sides,
        "also": also,
        "gaps": gaps,
        "crux": crux,
        "citations": [overlay.citation(c, [*cased, *also, *gaps]) for c in answer.citations if c.number in cited],
        "documents": model.sort_documents(overlay.document(d, sides, known) for d in answer.documents),
        "coverage": lines,
        "notes": [*notes, *balance_notes(sides)],
    }
    changed = answer.model_copy(update=update)
    return changed.model_copy(update={"summary": summary_of(changed)}) if answer.documents else changed


def _moves_in_words(answer: Answer, moved: Sequence[MovedClaim]) -> str:
    """Returns 'A reader moved 4 quotations: “The hall must …” from Yes to No; … and 1 more.' A claim that stands in two
    places is named once."""
    names = {side.id: wording.side_in_text(answer, side) for side in answer.perspectives}
    names |= {ALSO: tr("‘Also on this question’"), OFF_QUESTION: tr("‘Not on this question’")}
    once, parts = list({m.claim.text: m for m in moved}.values()), list[str]()
    for claim, (left, against), to in once[:_NAMED]:
        words = in_marks(wording.shortened(claim.text, 60), "“{}”" if claim.quoted else "‘{}’")
        place = tr("against {side}", side=names[left]) if against else names[left]
        parts.append(tr("{words} from {place} to {other}", words=words, place=place, other=names[to.side]))
    more = tr(" and {number} more", number=len(once) - _NAMED) if len(once) > _NAMED else ""
    quotations, moves = count(len(once), "quotation"), f"{'; '.join(parts)}{more}"
    return tr("A reader moved {quotations}: {moves}.", quotations=quotations, moves=moves)


@dataclass(frozen=True, slots=True)
class _CorrectedParts:
    """Applies the moves to each part of an answer."""

    answer: Answer
    moved: Sequence[MovedClaim]

    def claims(self, place: ClaimPlace, before: Sequence[AnswerClaim]) -> list[AnswerClaim]:
        """Returns the remaining claims of a place, then the claims moved there. Links to moved claims are removed."""
        gone = [m.claim for m in self.moved if m.place == place]
        numbers, texts = {n for m in self.moved for n in m.claim.citations}, {m.claim.text for m in self.moved}
        stay = [c for c in before if c not in gone]
        known = {c.text for c in stay}
        come = {m.claim.text: m.claim for m in self.moved if m.to == place and m.claim.text not in known}
        new: dict[str, object] = {
            "role": "also" if place == ClaimPlace(ALSO) else "case",
            "answers": [],
            "answered_by": [],
        }

        def kept(claim: AnswerClaim) -> AnswerClaim:
            others = (c for _, c in _placed(self.answer) if c.text not in texts and claim.text in c.answered_by)
            still = {n for c in others for n in c.citations}  # another claim of the same source is answered
            answers = [n for n in claim.answers if n not in numbers or n in still]
            return claim.model_copy(
                update={"answers": answers, "answered_by": [t for t in claim.answered_by if t not in texts]}
            )

        return [*map(kept, stay), *(c.model_copy(update=new) for c in come.values())]

    def side(self, side: AnswerPerspective) -> AnswerPerspective | None:
        """Returns the side. If its statement was a moved quotation, the side's next quotation becomes the statement.
        Returns None if the side has no further quotation."""
        claims = self.claims(ClaimPlace(side.id), side.claims)
        objections = self.claims(ClaimPlace(side.id, against=True), side.objections)
        groups = [g for group in side.groups if claims and (g := self._group(group, side.id, claims)).responses]
        update: dict[str, object] = {"claims": claims, "objections": objections, "groups": groups}
        if any(m.claim.text == side.statement and m.place == ClaimPlace(side.id) for m in self.moved):
            if not claims:
                return None
            name = shorten(claims[0].text, 60, placeholder=" …").rstrip(".")
            update |= {"name": name, "statement": claims[0].text}
        return side.model_copy(update=update)

    def _group(self, group: model.ResponseGroup, side: str, claims: Sequence[AnswerClaim]) -> model.ResponseGroup:
        """Returns the group without moved sentences and documents that the side's `claims` no longer cite."""
        moved = [m.claim for m in self.moved if m.place == ClaimPlace(side) or m.to == ClaimPlace(OFF_QUESTION)]
        said, stay = {c.text for c in moved}, {n for c in claims for n in c.citations}
        gone = {n for c in moved for n in c.citations} - stay
        kept = [
            r.model_copy(update={"evidence": [s for s in r.evidence if s.text not in said]})
            for r in group.responses
            if r.citation not in gone and r.thesis.text not in said
        ]
        return model.ResponseGroup(sources=min(group.sources, len(kept)), responses=kept)

    def citation(self, citation: Citation, shown: Sequence[AnswerClaim]) -> Citation:
        """Returns the citation without unused words. Moved words lose their support, because the judge gave it for
        another side."""
        moved = [m.claim for m in self.moved]
        words, said = ({q for c in claims for q in c.evidence or [c.text]} for claims in (moved, shown))
        whole = citation.quotations
        quotations = [q for q in whole if q.quote not in words or q.quote in said] or whole
        first, *more = (q.model_copy(update={"support": None}) if q.quote in words else q for q in quotations)
        return citation.model_copy(update={**dict(first), "more": more})

    def line(self, line: CoverageLine, side: AnswerPerspective) -> CoverageLine:
        """Returns the side's coverage line. The line of a changed side counts the claims that the answer shows."""
        if not any(side.id in (m.place.side, m.to.side) for m in self.moved):
            return line
        before = next(s for s in self.answer.perspectives if s.id == side.id)
        (was_passages, was_sources), (now_passages, now_sources) = self._counts(before), self._counts(side)
        # The stored counts know more than the answer shows: one person in two documents, passages with the same text.
        passages = max(0, line.passages + now_passages - was_passages) if side.claims else 0
        sources = max(0, line.sources + now_sources - was_sources) if side.claims else 0
        some = side.claims or line.status != "not_found"
        enough = passages >= ENOUGH_PASSAGES and sources >= ENOUGH_SOURCES
        status = "supported" if enough else "thin" if some else "not_found"
        counts = {"passages": passages, "sources": sources, "status": status}
        return line.model_copy(update={**counts, "strength": model.side_strength(sources, len(side.claims))})

    def _counts(self, side: AnswerPerspective) -> tuple[int, int]:
        """Returns the numbers of passages and sources of the side's claims that the answer shows."""
        cited = [c for c in self.answer.citations if any(c.number in claim.citations for claim in side.claims)]
        known = Counter((c.collection, c.document_id) for c in self.answer.citations)
        several = {c.number for c in cited if known[c.collection, c.document_id] > 1}  # speakers of one document
        sources = {(c.publisher.casefold() or c.document_id, c.speaker if c.number in several else "") for c in cited}
        passages = {i for claim in side.claims for i in _passages(self.answer, claim)}
        return len(passages), len(sources)

    def document(self, document: AnswerDocument, sides: Sequence[AnswerPerspective], known: set[int]) -> AnswerDocument:
        """Returns the document with the stances of its remaining quotations. Without quotations and stances it is off
        the question. A document that repeats another loses all its stances, because the other's may have changed."""
        if document.not_quoted == "repeats":
            return document.model_copy(update={"stances": []})
        own = {*document.quoted}
        left = {(m.place.side, m.place.against) for m in self.moved if own & {*m.claim.citations}}
        if not left:
            return document
        cited = {(s.id, False) for s in sides if any(own & {*c.citations} for c in s.claims)}
        cited |= {(s.id, True) for s in sides if any(own & {*c.citations} for c in s.objections)}
        judged = {(s.perspective, s.argues == "against") for s in document.stances}
        argued = judged - left | cited if left & judged else cited or judged - left
        now_argued = [
            model.DocumentStance(perspective=side, argues="against" if no else "for") for side, no in sorted(argued)
        ]
        quoted = [n for n in document.quoted if n in known]
        why = "" if quoted else "no_claim" if now_argued else "off_question"
        return document.model_copy(update={"stances": now_argued, "quoted": quoted, "not_quoted": why})


def _placed(answer: Answer) -> Iterator[tuple[ClaimPlace, AnswerClaim]]:
    """Returns all claims that can be moved, with their places."""
    for side in answer.perspectives:
        yield from ((ClaimPlace(side.id), claim) for claim in side.claims)
        yield from ((ClaimPlace(side.id, against=True), claim) for claim in side.objections)
    yield from ((ClaimPlace(ALSO), claim) for claim in answer.also)


def _passages(answer: Answer, claim: AnswerClaim) -> set[int]:
    return {passage for _, passage in _rests_on(answer, claim)}


def _rests_on(answer: Answer, claim: AnswerClaim) -> set[tuple[int, int]]:
    """Returns the citation numbers whose words the claim quotes or rests on, each with the id of the words' passage.
    One passage may have several numbers, one for each of its speakers."""
    cited = [(c.number, q) for c in answer.citations if c.number in claim.citations for q in c.quotations]
    # A crux may rest on one of the sentences that a claim quotes.
    return {(n, q.passage_id) for n, q in cited if any(said in q.quote for said in claim.evidence or [claim.text])}
