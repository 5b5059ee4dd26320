"""Builds the answer from a run's final state: numbers the citations and collects claims, documents and notes."""

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any

from agent.answer import model
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation, CoverageLine
from agent.answer.retrieved import (
    answer_documents,
    cited_passages,
    coverage_in,
    found_passages,
    gap_claims,
    group_same_texts,
)
from agent.answer.summary import notes_of, query_notes, repeat_notes, replaced_source_notes, summarise
from agent.evidence.coverage import originals_of
from agent.options import RunOptions, stage_deadline
from agent.samples import nearest_questions
from agent.stage_interfaces import Providers
from agent.state import (
    Claim,
    Perspective,
    RunState,
    ScoredQuote,
    ScoredResponse,
    in_case,
    local_statement,
    local_text,
    quotes_of,
)
from tools.budget import Budget, budget_scope, in_time
from tools.errors import DeadlineError
from tools.language.grounding import carrying_sentence, has_prompt_injection, verbatim
from tools.language.person_names import is_person
from tools.language.reported_speech import speaker_of
from tools.passages import EVIDENCE_KINDS, Passage
from tools.store.store import SAMPLES
from tools.translation import speaking

_FILE = re.compile(r".*?\.\w+(?=, |#|$)")  # of 'news.eml, Ann Lee, 2025-03-01' or 'survey.csv#3'


@dataclass
class CitationNumbering:
    """Gives each speaker of a cited document one number, in order of use."""

    passages: dict[int, Passage]
    claims: Sequence[Claim]
    citations: dict[tuple[tuple[str, str], str], Citation] = field(default_factory=dict)

    def cite(self, claim: Claim) -> list[int]:
        """Returns the numbers of the claim's citations."""
        quotes = claim.get("evidence") or [claim["text"]] * len(claim["passages"])
        quoted = zip(claim["passages"], quotes, strict=True)
        return list(dict.fromkeys(self._number(self.passages[i], q, claim) for i, q in quoted))

    def answers(self, claim: Claim) -> list[int]:
        """Returns the numbers of the sources that the claim answers. A source does not answer itself or later
        sources."""
        met, own = self._answered(claim), self.cite(claim)
        return [n for n in self.cite(met) if n not in own] if met and not self._precedes(claim, met) else []

    def _precedes(self, claim: Claim, other: Claim) -> bool:
        """Whether the claims share no file, and all dates of the claim's sources are known and before all dates of the
        other claim's. A year precedes only later years, not a day in it."""
        own, met = ([self.passages[i] for i in c["passages"]] for c in (claim, other))
        return all(p.date < m.date[: len(p.date)] and _file(p) != _file(m) for p in own for m in met)

    def answered_by(self, claim: Claim) -> list[str]:
        return [local_text(c) for c in self.claims if self._answered(c) is claim and self.answers(c)]

    def _answered(self, claim: Claim) -> Claim | None:
        own, said = claim["perspective"], claim.get("answers")
        return next((c for c in self.claims if c["text"] == said and c["perspective"] not in ("", own)), None)

    def _number(self, passage: Passage, quote: str, claim: Claim) -> int:
        said = carrying_sentence(claim["text"], quote, passage.text) if claim.get("evidence") else quote
        named = claim.get("speakers", {}).get(passage.id, "")
        speaker = speaker_of(passage, said, named)
        key = passage.document, self._known_name(passage.document, speaker) if named else speaker
        support = None if claim["role"] in ("also", "crux") else round(claim["support"], 3)
        known = self.citations.get(key)
        if claim["role"] == "crux":  # a part of a claim's words keeps the claim's number, whoever says the part alone
            for cited in self.citations.values():
                if any(q.passage_id == passage.id and quote in q.quote for q in cited.quotations):
                    return cited.number
        if known is None:
            self.citations[key] = citation_of(len(self.citations) + 1, passage, quote, support, key[1])
        elif (passage.id, quote) not in [(q.passage_id, q.quote) for q in known.quotations]:
            where = model.shared_fields(passage, model.Quotation) | {"speaker": known.speaker}
            extra = model.Quotation(passage_id=passage.id, quote=quote, support=support, **where)
            self.citations[key] = known.model_copy(update={"more": [*known.more, extra]})
        return self.citations[key].number

    def _known_name(self, document: tuple[str, str], speaker: str) -> str:
        """Returns the name under which a document's speaker has a number: 'Dr Ann Lee' for 'Ann Lee'."""
        words, cited = speaker.split(), [who for own, who in self.citations if own == document and ", " not in who]
        same = [
            n for n in cited if n.split()[-1:] == words[-1:] and ({*words} <= {*n.split()} or {*n.split()} < {*words})
        ]
        alone = ", " not in speaker and len(same) == 1 and is_person(same[0]) and is_person(speaker)
        return same[0] if alone else speaker


def _file(passage: Passage) -> tuple[str, str]:
    """Returns collection and file. A mail and the mails that it quotes are of one file."""
    collection, key = passage.document
    return collection, (_FILE.match(key) or [key])[0]


def citation_of(
    number: int, passage: Passage, quote: str, support: float | None, speaker: str | None = None
) -> Citation:
    sample = passage.collection == SAMPLES
    known = model.shared_fields(passage, Citation)
    known |= {"speaker": speaker_of(passage, quote) if speaker is None else speaker}
    return Citation(number=number, passage_id=passage.id, quote=quote, support=support, sample=sample, **known)


def busy_seconds(intervals: Sequence[tuple[float, float]]) -> float:
    """Returns the total time that the intervals cover. Overlaps count once."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(tuple(i) for i in intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def assemble(
    run_id: str,
    state: RunState,
    passages: dict[int, Passage],
    providers: dict[str, str],
    nearest: Sequence[str],
    seconds: float,
    same: Mapping[int, int] = MappingProxyType({}),
    *,
    by_verdicts: bool = False,
) -> Answer:
    """Returns the public answer. passages: at least those found or quoted. same, by_verdicts: `answer_documents`."""
    # A source may have been deleted since it was verified.
    claims = [c for c in state.get("claims", []) if all(i in passages for i in c["passages"])]
    numbering = CitationNumbering(passages, claims)
    sides, also, crux = _numbered(state, claims, numbering)
    outcome, intervals = _outcome(state, sides, also), state.get("intervals", {}).items()
    documents = answer_documents(state, passages, [*numbering.citations.values()], same, by_verdicts=by_verdicts)
    gaps = [_claim(c, numbering) for c in (gap_claims(state, passages, same) if claims else [])]
    return Answer(
        run_id=run_id,
        **_question_fields(state),
        outcome=outcome,
        summary=summarise(outcome, state, documents),
        crux=crux[0] if crux and outcome == "answered" else None,
        perspectives=sides,
        also=also,
        gaps=gaps,
        citations=list(numbering.citations.values()),
        documents=documents,
        kinds=sorted({*state.get("kinds", [])}, key=EVIDENCE_KINDS.index),
        coverage=[_line(p, state, claims, passages) for p in state["perspectives"]],
        notes=[*(query_notes(state) if outcome == "nothing_found" else []), *notes_of(state, sides)],
        nearest_questions=[*nearest] if outcome == "nothing_found" and not state.get("earlier") else [],
        providers=providers | state.get("served_by", {}),
        timings={n: round(busy_seconds(i), 3) for n, i in intervals} | {"total": round(seconds, 3)},
        usage=_usage(state.get("counts", {})),
    )


def _question_fields(state: RunState) -> dict[str, Any]:
    framing, against = state["framing"], state.get("against")
    return {
        "question": state["question"],
        "neutral_question": framing.get("asked") or framing["question"],
        "focus": "" if against else framing["focus"],
        "against": model.Countered(**model.shared_fields(against, model.Countered)) if against else None,
        "language": framing.get("language", ""),
        "english": framing["question"] if "asked" in framing else "",
        "translations": state.get("translations", {}),
    }


def _numbered(
    state: RunState, claims: Sequence[Claim], numbering: CitationNumbering
) -> tuple[list[AnswerPerspective], list[AnswerClaim], list[AnswerClaim]]:
    """Returns the sides with their claims, the sentences of no side, and the crux."""
    order = [*(p["id"] for p in state["perspectives"]), ""]
    for claim in sorted(claims, key=lambda c: (order.index(c["perspective"]), c.get("objection", False))):
        numbering.cite(claim)  # every claim has numbers before a claim refers to another
    sides = [_perspective(p, state, claims, numbering) for p in state["perspectives"]]
    also, crux = ([_claim(c, numbering) for c in claims if c["role"] == role] for role in ("also", "crux"))
    return [s.model_copy(update={"groups": _groups(s, state, numbering)}) for s in sides], also, crux


def _usage(counts: dict[str, float]) -> model.Usage:
    whole = {name: int(counts.get(name, 0)) for name in ("calls", "input_tokens", "output_tokens", "pages")}
    cost = None if counts.get("unpriced") else round(counts.get("cost", 0.0), 6)
    return model.Usage(**whole, cost_usd=cost, passages_judged=int(counts.get("passages", 0)))


def _outcome(state: RunState, sides: Sequence[AnswerPerspective], also: Sequence[AnswerClaim]) -> model.Outcome:
    if "drafts" not in state and any(state.get("selected", {}).values()):
        return "retrieved"
    if any(s.all_claims for s in sides):
        return "answered"
    return "no_sides" if also else "nothing_found"


def _perspective(
    side: Perspective, state: RunState, claims: Sequence[Claim], numbering: CitationNumbering
) -> AnswerPerspective:
    own = [c for c in claims if c["perspective"] == side["id"]]
    return AnswerPerspective(
        **model.shared_fields(side, AnswerPerspective) | {"statement": local_statement(side)},
        english=side["statement"] if side.get("local") else "",
        status=coverage_in(state, side)["status"],
        claims=[_claim(c, numbering) for c in own if not c.get("objection")],
        objections=[_claim(c, numbering) for c in own if c.get("objection")],
    )


def _groups(side: AnswerPerspective, state: RunState, numbering: CitationNumbering) -> list[model.ResponseGroup]:
    """Returns the side's responses (a document's thesis and evidence) by group, without sentences that verification
    refused. Returns an empty list if the side has no claim."""
    refused = {d["text"] for d in state.get("dropped", []) if d["perspective"] == side.id}

    def holds(quote: ScoredQuote) -> bool:
        passage = numbering.passages.get(quote["passage"])
        held = passage is not None and quote["text"] not in refused and verbatim(quote["text"], passage.text)
        return held and not has_prompt_injection(quote["text"])

    def source(passage: int) -> str:
        """Returns the source of the first passage with the same content."""
        first = state.get("duplicate_of", {}).get(passage, passage)
        return numbering.passages[first if first in numbering.passages else passage].source

    mine = [r for r in state.get("responses", []) if r["perspective"] == side.id and holds(r["thesis"])]
    groups = [list(same) for _, same in groupby(mine, key=lambda r: r["group"])]
    return [
        model.ResponseGroup(
            sources=len({source(r["thesis"]["passage"]) for r in group}),
            responses=[_response(r, [q for q in r["evidence"] if holds(q)], numbering) for r in group],
        )
        for group in (groups if side.claims else [])
    ]


def _response(
    response: ScoredResponse, evidence: Sequence[ScoredQuote], numbering: CitationNumbering
) -> model.DocumentResponse:
    passage = numbering.passages[response["thesis"]["passage"]]
    thesis, *others = (_sentence(q, numbering.passages[q["passage"]]) for q in (response["thesis"], *evidence))
    cited = numbering.citations.get((passage.document, thesis.speaker))
    return model.DocumentResponse(
        citation=cited.number if cited else None,
        thesis=thesis,
        evidence=others,
        **model.shared_fields(passage, model.DocumentResponse),
    )


def _sentence(quote: ScoredQuote, passage: Passage) -> model.ResponseSentence:
    support, speaker = round(quote["support"], 3), speaker_of(passage, quote["text"])
    words = {"text": quote["text"], "shown": quote["shown"], "speaker": speaker}
    return model.ResponseSentence(**words, passage_id=passage.id, support=support)


def _claim(claim: Claim, numbering: CitationNumbering) -> AnswerClaim:
    cited = numbering.cite(claim)
    written, named = bool(claim.get("written")), claim.get("speakers", {}).keys()
    sources = [c for c in numbering.citations.values() if c.number in cited and c.speaker]
    told = [c for c in sources if not written or named & {q.passage_id for q in c.quotations}]
    fields = {
        "text": local_text(claim),
        "citations": cited,
        "answers": numbering.answers(claim),
        "quoted": not written,
    }
    fields["speaker"] = ("; " if written else ", ").join(dict.fromkeys(c.speaker for c in told))
    fields["evidence"] = list(dict.fromkeys(claim.get("evidence", ()))) if written else []
    return AnswerClaim(**model.shared_fields(claim, AnswerClaim) | fields, answered_by=numbering.answered_by(claim))


def _line(side: Perspective, state: RunState, claims: Sequence[Claim], passages: Mapping[int, Passage]) -> CoverageLine:
    found, same = coverage_in(state, side), state.get("duplicate_of", {})
    case = [c for c in claims if c["perspective"] == side["id"] and in_case(c)]
    cited = {same[i] if same.get(i) in passages else i for c in case for i in c["passages"]}
    shown = {"passages": len(cited), "sources": len({passages[i].source for i in cited})}
    fields = model.shared_fields(found, CoverageLine) | (shown if "drafts" in state else {})
    return CoverageLine(
        **fields | {"strongest": round(found["strongest"], 3)},
        perspective=side["id"],
        strength=model.side_strength(fields["sources"], len(case) if "drafts" in state else fields["passages"]),
        queries=state.get("queries", {}).get(side["id"], []),
    )


async def build_answer(
    run_id: str, state: RunState, options: RunOptions, providers: Providers, seconds: float
) -> Answer:
    """Returns the public answer. seconds: the run's duration."""
    quoted = {q["passage"] for r in state.get("responses", []) for q in quotes_of(r)}
    quoted |= cited_passages(state)
    passages = await asyncio.to_thread(
        providers.passages, found_passages(state) | quoted, state.get("own_sentences", {})
    )
    stored = await asyncio.to_thread(providers.store.passages, quoted)
    originals = originals_of(passages)
    nearest, same = list[str](), originals
    by_verdicts = providers.models.judge(state.get("judge", "")).reads_documents
    within = Budget(deadline_at=stage_deadline(options, "verify"))
    with contextlib.suppress(DeadlineError), budget_scope(within):  # both parts are optional
        same = await in_time(group_same_texts(providers.models, state, passages))
        if SAMPLES in options.own_collections and not state.get("claims"):
            nearest = await in_time(nearest_questions(state["framing"]["question"], providers.models))
    gone = [p for i, p in passages.items() if i in quoted and i not in stored]
    with speaking(state["framing"].get("language", "")):
        answer = assemble(run_id, state, passages, providers.names, nearest, seconds, same, by_verdicts=by_verdicts)
        further = [*repeat_notes(state, originals, passages), *replaced_source_notes(gone)]
    return answer.model_copy(update={"notes": [*answer.notes, *further]})
