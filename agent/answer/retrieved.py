"""The retrieval results of a run in public form: judged passages by side, and documents with their stances."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.answer import model
from agent.answer.model import AnswerDocument
from agent.evidence.coverage import originals_of, paraphrase_groups
from agent.limits import MOST_GAPS
from agent.providers.inference import Models
from agent.state import Claim, Coverage, CoverageStatus, Perspective, RunState, Stance, in_case, repeats_target
from tools.language.grounding import has_prompt_injection, verbatim
from tools.language.quotable import gaps_in
from tools.limits import CLEAR
from tools.passages import Passage, interleave


@dataclass(frozen=True, slots=True)
class JudgedPassage:
    """A passage as judged for one side. support: the judge's probability.

    counts: whether the side's coverage includes the passage. Copies never count. A passage that supports the opposing
    side more does not count either. A cited passage always counts.
    """

    side: str
    passage: Passage
    support: float
    counts: bool


_NONE = Coverage(status="not_found", passages=0, sources=0, strongest=0.0, ids=[])


def coverage_in(state: RunState, side: Perspective) -> Coverage:
    return state.get("coverage", {}).get(side["id"], _NONE)


def judged_passages(state: RunState) -> set[int]:
    return {i for scores in state.get("support", {}).values() for i in scores}


def judged_pairs(state: RunState, passages: Mapping[int, Passage]) -> list[JudgedPassage]:
    """Returns the judged passages of each side, best first. Deleted passages and removed sides are left out."""
    lines: list[JudgedPassage] = []
    for side in state.get("perspectives", []):
        scores = state.get("support", {}).get(side["id"], {})
        counted = {*coverage_in(state, side)["ids"]}
        best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        lines += [JudgedPassage(side["id"], passages[i], s, i in counted) for i, s in best_first if i in passages]
    return lines


def search_order(state: RunState) -> list[int]:
    """Returns the retrieved ids as one ranking: the results of the question itself, then of the sides in turns."""
    return list(dict.fromkeys([*state.get("question_results", []), *interleave(state.get("candidates", {}).values())]))


class RetrievedPassage(model.SourceFacts):
    """A passage that was chosen for a side. `support` is the judge's probability for that side; null if not judged.
    `counts`: whether the side's coverage includes the passage. `speaker` says it; `author` wrote its document."""

    passage_id: int
    document_id: str
    text: str
    speaker: str = ""
    author: str = ""
    support: float | None
    counts: bool


class RetrievedPerspective(model.AnswerModel):
    """One side with its passages in the order of selection."""

    id: str
    name: str
    statement: str
    stance: Stance
    contrary: str
    status: CoverageStatus
    strength: model.Strength
    sources: int
    queries: list[str]
    passages: list[RetrievedPassage]


class Retrieved(model.AnswerModel):
    """The sides of a question with their passages. `threshold`: the lowest support with which a passage counts."""

    run_id: str
    question: str
    neutral_question: str
    threshold: float | None
    perspectives: list[RetrievedPerspective]
    notes: list[model.Note]
    providers: dict[str, str]
    timings: dict[str, float]
    usage: model.Usage


def retrieved_result(answer: model.Answer, state: RunState, passages: Mapping[int, Passage]) -> Retrieved:
    """Returns the selected passages by side, without deleted ones."""
    sides = [_perspective(side, state, passages) for side in state.get("perspectives", [])]
    found = {"threshold": state.get("threshold"), "perspectives": sides}
    return Retrieved(**model.shared_fields(answer, Retrieved) | found)


def chosen_passages(state: RunState) -> set[int]:
    return {i for ids in state.get("selected", {}).values() for i in ids}


def _perspective(side: Perspective, state: RunState, passages: Mapping[int, Passage]) -> RetrievedPerspective:
    coverage, support = coverage_in(state, side), state.get("support", {}).get(side["id"], {})
    chosen = [passages[i] for i in state.get("selected", {}).get(side["id"], []) if i in passages]
    return RetrievedPerspective(
        **model.shared_fields(side, RetrievedPerspective),
        status=coverage["status"],
        strength=model.side_strength(coverage["sources"], len(chosen)),
        sources=coverage["sources"],
        queries=state.get("queries", {}).get(side["id"], []),
        passages=[_passage(p, support.get(p.id), p.id in coverage["ids"]) for p in chosen],
    )


def _passage(passage: Passage, support: float | None, counts: bool) -> RetrievedPassage:
    known = None if support is None else round(support, 3)
    return RetrievedPassage(
        passage_id=passage.id, support=known, counts=counts, **model.shared_fields(passage, RetrievedPassage)
    )


_Stance = tuple[str, str]
"""A perspective's id, and 'for' or 'against'."""


def found_passages(state: RunState) -> set[int]:
    return (judged_passages(state) | cited_passages(state)).union(*state.get("candidates", {}).values())


def cited_passages(state: RunState) -> set[int]:
    return {i for c in state.get("claims", []) for i in c["passages"]}


async def group_same_texts(models: Models, state: RunState, passages: dict[int, Passage]) -> dict[int, int]:
    """Maps each passage to the first with the same content: by meaning for passages with a side, else by words."""
    originals = originals_of(passages)
    weighed = (cited_passages(state) | {i for i, _ in _verdicts(state)}) & {*originals}
    reworded = await paraphrase_groups(models, passages, {originals[i] for i in weighed})
    return {i: reworded.get(first, first) for i, first in originals.items()}


def answer_documents(
    state: RunState,
    passages: Mapping[int, Passage],
    citations: Sequence[model.Citation],
    same: Mapping[int, int],
    *,
    by_verdicts: bool,
) -> list[AnswerDocument]:
    """Returns each document once: quoted documents by number, then documents with a side, then the others.

    same: maps each passage to the first passage with the same content. by_verdicts: a document's stances come from the
    judge's verdicts on its passages; otherwise from its sentences. In a follow-up with a focus and in a lookup, the
    selected passages count as read. With a focus, a quoted document's stances come only from its quotations.
    """
    texts = {i: same.get(i, i) for i in sorted(found_passages(state)) if i in passages}
    judged, chosen = judged_passages(state), cited_passages(state).union(*state.get("selected", {}).values())
    focused = bool(state["framing"]["focus"]) and "against" not in state
    read, off, quoted = (
        {texts.get(i, i) for i in ids}
        for ids in (chosen if focused or not judged else judged, state.get("off_question", []), cited_passages(state))
    )
    whole = _stances(state, texts) if by_verdicts else _document_stances(state, passages)
    argued = _document_stances(RunState(**{**state, "document_stances": {}}), passages) if focused else whole
    found = list[AnswerDocument]()
    for key, ids in _by_document(texts, passages).items():
        own, stances = {texts[i] for i in ids}, sorted({stance for i in ids for stance in argued[i]})
        silent = "off_question" if own & read <= off else "no_side"
        silent = "unread" if not own & read else "no_claim" if focused and state["perspectives"] else silent
        argued_by = {texts[i] for i in ids if argued[i]}  # a repeated passage adds no stance
        new = {texts[i] for i in ids if argued[i] or not passages[i].whole}  # own sentences without a side add nothing
        repeats = new.isdisjoint(ids) or (own & quoted and argued_by <= quoted)
        unquoted = "repeats" if repeats else "no_claim" if stances else silent
        cited = [c.number for c in citations if passages[c.passage_id].document == key]
        if focused and not cited and unquoted == "no_claim":  # the list names the stance; the summary leaves it out
            stances = sorted({stance for i in ids for stance in whole[i]})
        first, stated = passages[ids[0]], [{"perspective": side, "argues": argues} for side, argues in stances]
        known = model.shared_fields(first, AnswerDocument) | {"id": first.document_id, "stances": stated}
        found.append(AnswerDocument.model_validate(known | {"quoted": cited, "not_quoted": "" if cited else unquoted}))
    return model.sort_documents(found)


def _by_document(ids: Iterable[int], passages: Mapping[int, Passage]) -> dict[tuple[str, str], list[int]]:
    documents: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i in ids:
        documents[passages[i].document].append(i)
    return documents


def gap_claims(state: RunState, passages: Mapping[int, Passage], same: Mapping[int, int]) -> list[Claim]:
    """Returns up to MOST_GAPS sentences of judged passages on the question that name a gap in the evidence. Sentences
    that are clear alone come first, then those of passages with a clear side; a document's second sentence comes last.
    same: as in `answer_documents`."""
    asked = {i for i in judged_passages(state) if i in passages and same.get(i, i) == i}
    surest = {i: max(scores.get(i, 0.0) for scores in state["support"].values()) for i in asked}
    found = [part for i in sorted(asked - {*state.get("off_question", [])}) for part in gaps_in(passages[i])]
    held = [p for p in found if verbatim(p.text, p.passage.text) and not has_prompt_injection(p.text)]
    held = [p for p in held if not repeats_target(state, p.text)]
    held.sort(key=lambda part: (not part.clear, -surest[part.passage.id]))
    first = {part.passage.document: part for part in reversed(held)}
    chosen = sorted(held, key=lambda part: part is not first[part.passage.document])[:MOST_GAPS]
    return [
        Claim(
            perspective="",
            text=p.text,
            shown=p.shown if p.shown != p.text else "",
            passages=[p.passage.id],
            support=0.0,
            role="also",
        )
        for p in chosen
    ]


def _verdicts(state: RunState, least: float | None = None) -> set[tuple[int, _Stance]]:
    """Returns the passages that argue for a side, or against a side without an opposing side. least: the lowest
    probability that counts; by default the threshold."""
    least, sides = least or state.get("threshold", 1.0), {p["id"]: p["contrary"] for p in state["perspectives"]}
    lone = [side for side, contrary in sides.items() if contrary not in sides]
    argued = [("for", sides, state.get("support", {})), ("against", lone, state.get("opposition", {}))]
    return {
        (i, (side, argues))
        for argues, asked, scores in argued
        for side in asked
        for i, score in scores.get(side, {}).items()
        if score >= least
    }


def _cited_stances(state: RunState) -> set[tuple[int, _Stance]]:
    return {
        (i, (claim["perspective"], "against" if claim.get("objection") else "for"))
        for claim in state.get("claims", [])
        for i in claim["passages"]
        if claim["perspective"]
    }


def _document_stances(state: RunState, passages: Mapping[int, Passage]) -> Mapping[int, set[_Stance]]:
    """Returns each passage's stances: those of its document; if it has none, the sides that cite the passage.

    A side without a claim gets no document: its case was not sure enough to quote, so the count cannot be surer. A
    document in which several people speak takes no side as a whole.
    """
    argued_sides = {claim["perspective"] for claim in state.get("claims", []) if in_case(claim)}
    speakers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for passage in passages.values():
        speakers[passage.document].add(passage.speaker)
    stated = {
        (i, (side, "for"))
        for side, ids in state.get("document_stances", {}).items()
        for i in ids
        if side in argued_sides and i in passages and len(speakers[passages[i].document] - {""}) < 2
    }
    known = {passages[i].document for i, _ in stated if i in passages}
    argued: dict[int, set[_Stance]] = defaultdict(set)
    for i, stance in stated | _cited_stances(state):
        if (i, stance) in stated or (i in passages and passages[i].document not in known):
            argued[i].add(stance)
    return argued


def _stances(state: RunState, texts: Mapping[int, int]) -> Mapping[int, set[_Stance]]:
    """Returns each passage's stances from citations and verdicts; if not judged, those of the same content."""
    judged = judged_passages(state)
    # A weak verdict alone gives a document no stance.
    stated = _verdicts(state, CLEAR) | _cited_stances(state)
    shared: dict[int, set[_Stance]] = defaultdict(set)
    for i, stance in stated:
        shared[texts.get(i, i)].add(stance)
    found = stated | _verdicts(state)
    return {i: {s for s in shared[first] if (i, s) in found or i not in judged} for i, first in texts.items()}
