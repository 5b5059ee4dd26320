"""What a reader changed in an answer: quotations that stood on the wrong side. The stored answer stays as its run left
it. What was changed is laid over it whenever it is read, so that all that is made from it follows.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import shorten
from typing import NamedTuple

from agent.answer.model import (
    Answer,
    AnswerClaim,
    AnswerDocument,
    AnswerPerspective,
    Citation,
    CoverageLine,
    DocumentStance,
    Note,
    Quotation,
    ResponseGroup,
    shared_fields,
    side_strength,
    sort_documents,
)
from agent.answer.summary import balance_notes, summary_of
from agent.limits import ENOUGH_PASSAGES, ENOUGH_SOURCES
from tools.errors import InputError
from tools.language.lexicon import count
from tools.store.database import Database

ALSO, OFF_QUESTION = "also", "off"
"""Where a quotation can be moved besides a side: under none of them, or off the question and out of the answer."""


class ClaimPlace(NamedTuple):
    """Where a claim stands: under a side, by its id, or in `ALSO`. against: it is an objection to the side."""

    side: str
    against: bool = False


class MovedClaim(NamedTuple):
    claim: AnswerClaim
    place: ClaimPlace
    to: ClaimPlace


def claim_key(answer: Answer, claim: AnswerClaim) -> str:
    """A name for the claim that stays the same: a digest of its words and of the passages that they stand in."""
    return hashlib.sha256(f"{claim.text}\n{sorted(_passages(answer, claim))}".encode()).hexdigest()[:16]


def moved_claims(answer: Answer, moves: Mapping[str, str]) -> list[MovedClaim]:
    """The claims that do not stay where they stand. moves: where to, by their keys."""
    targets = ((claim, place, moves.get(claim_key(answer, claim))) for place, claim in _placed(answer))
    return [MovedClaim(claim, place, ClaimPlace(to)) for claim, place, to in targets if to and ClaimPlace(to) != place]


class Corrections:
    """Reads and writes the table of corrections.

    A row moves one claim of a run, named by its key, to a `target`: a side's id, `ALSO` or `OFF_QUESTION`. It keeps
    who made the correction and when (ISO, UTC).
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, run_id: str, to: str, person: str = "", *, text: str = "", number: int = 0) -> None:
        """Moves the claims of the run's answer that have these words, or cite this number, or both. What stands there
        already stays. Raises InputError where there is no such claim or place."""
        answer, moves = self.original(run_id), self.moves(run_id)
        named = ((p, c) for p, c in _placed(answer) if text in ("", c.text) and number in (0, *c.citations))
        places = {claim_key(answer, claim): place for place, claim in named}
        if not places:
            raise InputError("this answer has no such quotation. Name one by its number and its words.")
        if to not in (there := [*(side.id for side in answer.perspectives), ALSO, OFF_QUESTION]):
            raise InputError(f"'{to}' is no side of this answer. There are: {', '.join(there)}.")
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        now = {key: ClaimPlace(moves[key]) if key in moves else place for key, place in places.items()}
        rows = [(run_id, key, to, person, at) for key, place in now.items() if place != ClaimPlace(to)]
        with self._db.write() as db:
            db.executemany("INSERT INTO corrections VALUES (NULL, ?, ?, ?, ?, ?)", rows)

    def undo(self, run_id: str) -> None:
        """Takes the run's last correction back, if there is one."""
        last = "SELECT MAX(id) FROM corrections WHERE run_id = ?"
        with self._db.write() as db:
            db.execute(f"DELETE FROM corrections WHERE id = ({last})", (run_id,))

    def moves(self, run_id: str) -> dict[str, str]:
        """Where the run's claims were moved last, by their keys."""
        rows = self._db.rows("SELECT claim, target FROM corrections WHERE run_id = ? ORDER BY id", (run_id,))
        return {row["claim"]: row["target"] for row in rows}

    def runs(self) -> list[str]:
        """The ids of the runs that have corrections."""
        return [row["run_id"] for row in self._db.rows("SELECT DISTINCT run_id FROM corrections ORDER BY run_id")]

    def original(self, run_id: str) -> Answer:
        """The run's answer as it was stored. Raises InputError where it has none."""
        rows = self._db.rows("SELECT answer FROM runs WHERE id = ? AND answer IS NOT NULL", (run_id,))
        if not rows:
            raise InputError("this run has no answer that could be corrected.")
        return Answer.model_validate_json(rows[0]["answer"])

    def with_corrections(self, run_id: str, stored: str) -> str:
        """The stored answer (as JSON) with the run's corrections."""
        moves = self.moves(run_id)
        return apply_corrections(Answer.model_validate_json(stored), moves).model_dump_json() if moves else stored


def apply_corrections(answer: Answer, moves: Mapping[str, str]) -> Answer:
    """The answer with its claims moved, and with all that is counted from them; moves: where to, by their keys."""
    if not (moved := moved_claims(answer, moves)):
        return answer
    overlay = _CorrectedParts(answer, moved)
    also = overlay.claims(ClaimPlace(ALSO), answer.also)
    sides = [s for s in map(overlay.side, answer.perspectives) if s]
    cased = [claim for side in sides for claim in side.all_claims]
    known = {n for claim in (*cased, *also) for n in claim.citations}
    lines = [overlay.line(next(s for s in answer.coverage if s.perspective == side.id), side) for side in sides]
    sides = [s.model_copy(update={"status": line.status}) for s, line in zip(sides, lines, strict=True)]
    told = f"A reader changed {count(len({m.claim.text for m in moved}), 'quotation')}."
    notes = [Note(kind="corrected", text=told), *(n for n in answer.notes if n.kind != "balance")]
    update = {
        "outcome": "answered" if cased else "no_sides" if also else "nothing_found",
        "perspectives": sides,
        "also": also,
        "crux": answer.crux if cased and answer.crux and {*answer.crux.citations} <= known else None,
        "citations": [overlay.citation(c, [*cased, *also]) for c in answer.citations if c.number in known],
        "documents": sort_documents(overlay.document(d, sides, known) for d in answer.documents),
        "coverage": lines,
        "notes": [*notes, *balance_notes(sides)],
    }
    changed = answer.model_copy(update=update)
    return changed.model_copy(update={"summary": summary_of(changed)}) if answer.documents else changed


@dataclass(frozen=True, slots=True)
class _CorrectedParts:
    """The parts of an answer, each with what was moved."""

    answer: Answer
    moved: Sequence[MovedClaim]

    def claims(self, place: ClaimPlace, before: Sequence[AnswerClaim]) -> list[AnswerClaim]:
        """What stays at a place, in its order, and then what comes to it. Nothing replies to what was moved."""
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
            answers = [n for n in claim.answers if n not in numbers]
            return claim.model_copy(
                update={"answers": answers, "answered_by": [t for t in claim.answered_by if t not in texts]}
            )

        stay = [kept(c) for c in stay]
        return [*stay, *(c.model_copy(update=new) for c in come.values())]

    def side(self, side: AnswerPerspective) -> AnswerPerspective | None:
        """The side. One whose statement was a quotation that is gone is named by its next one, or gone with it."""
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

    def _group(self, group: ResponseGroup, side: str, claims: Sequence[AnswerClaim]) -> ResponseGroup:
        """The group without what was moved from the side or out of the answer, and without documents that are not cited
        there any more. claims: the side's now."""
        moved = [m.claim for m in self.moved if m.place == ClaimPlace(side) or m.to == ClaimPlace(OFF_QUESTION)]
        said, stay = {c.text for c in moved}, {n for c in claims for n in c.citations}
        gone = {n for c in moved for n in c.citations} - stay
        kept = [
            r.model_copy(update={"evidence": [s for s in r.evidence if s.text not in said]})
            for r in group.responses
            if r.citation not in gone and r.thesis.text not in said
        ]
        return ResponseGroup(sources=min(group.sources, len(kept)), responses=kept)

    def citation(self, citation: Citation, shown: Sequence[AnswerClaim]) -> Citation:
        """The citation without words that are quoted nowhere any more. Of words that were moved there is no
        probability: the judge's was for another side."""
        words, said = {m.claim.text for m in self.moved if m.claim.quoted}, {c.text for c in shown}
        whole = _quotations(citation)
        quotations = [q for q in whole if q.quote not in words or q.quote in said] or whole
        first, *more = (q.model_copy(update={"support": None}) if q.quote in words else q for q in quotations)
        return citation.model_copy(update={**dict(first), "more": more})

    def line(self, line: CoverageLine, side: AnswerPerspective) -> CoverageLine:
        """The side's line; where its claims have changed, by what is shown."""
        if not any(side.id in (m.place.side, m.to.side) for m in self.moved):
            return line
        before = next(s for s in self.answer.perspectives if s.id == side.id)
        (had_passages, had_sources), (has_passages, has_sources) = self._counts(before), self._counts(side)
        # As much more or less than the stored counts, which know copies and owners of web pages.
        passages = max(has_passages > 0, line.passages + has_passages - had_passages)
        sources = max(has_sources > 0, line.sources + has_sources - had_sources)
        some = side.claims or line.status != "not_found"
        enough = passages >= ENOUGH_PASSAGES and sources >= ENOUGH_SOURCES
        status = "supported" if enough else "thin" if some else "not_found"
        counts = {"passages": passages, "sources": sources, "status": status}
        return line.model_copy(update={**counts, "strength": side_strength(sources, len(side.claims))})

    def _counts(self, side: AnswerPerspective) -> tuple[int, int]:
        """Passages and sources of the side's claims, as far as the answer shows them."""
        cited = [c for c in self.answer.citations if any(c.number in claim.citations for claim in side.claims)]
        known = Counter((c.collection, c.document_id) for c in self.answer.citations)
        several = {c.number for c in cited if known[c.collection, c.document_id] > 1}  # speakers of one document
        sources = {(c.publisher.casefold() or c.document_id, c.speaker if c.number in several else "") for c in cited}
        passages = {i for claim in side.claims for i in _passages(self.answer, claim)}
        passages |= {c.passage_id for c in cited if any(c.number in w.citations for w in side.claims if not w.quoted)}
        return len(passages), len(sources)

    def document(self, document: AnswerDocument, sides: Sequence[AnswerPerspective], known: set[int]) -> AnswerDocument:
        """The document; where words of it were moved, with what its quotations now stand for. A repeat argues what its
        original does, which may have changed."""
        if document.not_quoted == "repeats":
            return document.model_copy(update={"stances": []})
        own = {*document.quoted}
        left = {(m.place.side, m.place.against) for m in self.moved if own & {*m.claim.citations}}
        if not left:
            return document
        cited = {(s.id, False) for s in sides if any(own & {*c.citations} for c in s.claims)}
        cited |= {(s.id, True) for s in sides if any(own & {*c.citations} for c in s.objections)}
        argued = cited or {(s.perspective, s.argues == "against") for s in document.stances} - left
        told = [DocumentStance(perspective=side, argues="against" if no else "for") for side, no in sorted(argued)]
        quoted = [n for n in document.quoted if n in known]
        why = "no_claim" if told and not quoted else ""
        return document.model_copy(update={"stances": told, "quoted": quoted, "not_quoted": why})


def _placed(answer: Answer) -> Iterator[tuple[ClaimPlace, AnswerClaim]]:
    """All claims that can be moved, with where they stand."""
    for side in answer.perspectives:
        yield from ((ClaimPlace(side.id), claim) for claim in side.claims)
        yield from ((ClaimPlace(side.id, against=True), claim) for claim in side.objections)
    yield from ((ClaimPlace(ALSO), claim) for claim in answer.also)


def _passages(answer: Answer, claim: AnswerClaim) -> set[int]:
    """The passages that the words of a quotation stand in; none of what a model wrote."""
    cited = [q for c in answer.citations if c.number in claim.citations for q in _quotations(c)]
    return {q.passage_id for q in cited if q.quote == claim.text}


def _quotations(citation: Citation) -> list[Quotation]:
    return [Quotation(**shared_fields(citation, Quotation)), *citation.more]
