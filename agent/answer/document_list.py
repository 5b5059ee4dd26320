"""The documents that a run found: what each argues, by which numbers it is quoted, or why it is not."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from agent.answer.model import AnswerDocument, Citation, shared_fields, sort_documents
from agent.answer.retrieved import judged_passages
from agent.evidence.coverage import originals_of, paraphrase_groups
from agent.models.inference import Models
from agent.state import RunState
from tools.limits import CLEAR
from tools.passages import Passage

_Stance = tuple[str, str]
"""A perspective's id, and 'for' or 'against'."""


def found_passages(state: RunState) -> set[int]:
    """The ids of all passages that were read, were candidates or are cited."""
    return (judged_passages(state) | cited_passages(state)).union(*state.get("candidates", {}).values())


def cited_passages(state: RunState) -> set[int]:
    """The ids of all passages that claims cite."""
    return {i for c in state.get("claims", []) for i in c["passages"]}


async def group_same_texts(models: Models, state: RunState, passages: dict[int, Passage]) -> dict[int, int]:
    """For each passage the first one that says the same; those that take a side are compared by meaning, too."""
    originals = originals_of(passages)
    weighed = (cited_passages(state) | {i for i, _ in _verdicts(state)}) & {*originals}
    reworded = await paraphrase_groups(models, passages, {originals[i] for i in weighed})
    return {i: reworded.get(first, first) for i, first in originals.items()}


def answer_documents(
    state: RunState,
    passages: Mapping[int, Passage],
    citations: Sequence[Citation],
    same: Mapping[int, int],
    *,
    by_verdicts: bool,
) -> list[AnswerDocument]:
    """Each document once: the quoted ones by their numbers, then those that take a side, then the others.

    same: for each passage the first that says the same. by_verdicts: the judge's verdict on a passage is its stance;
    otherwise a document has the stance of all its sentences together. A follow-up on a focus, and what is looked up,
    read the passages that were chosen; by the focus a document argues what it is quoted for, and nothing else.
    """
    texts = {i: same.get(i, i) for i in sorted(found_passages(state)) if i in passages}
    judged, chosen = judged_passages(state), cited_passages(state).union(*state.get("selected", {}).values())
    focused = bool(state["framing"]["focus"]) and "against" not in state
    read, off, quoted = (
        {texts.get(i, i) for i in ids}
        for ids in (chosen if focused or not judged else judged, state.get("off_question", []), cited_passages(state))
    )
    weighed = RunState(**{**state, "document_stances": {}}) if focused else state
    argued = _stances(state, texts) if by_verdicts and not focused else _document_stances(weighed, passages)
    documents: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i in texts:
        documents[passages[i].document].append(i)
    found = list[AnswerDocument]()
    for key, ids in documents.items():
        own, stances = {texts[i] for i in ids}, sorted({stance for i in ids for stance in argued[i]})
        silent = "off_question" if own & read <= off else "no_side"
        silent = "unread" if not own & read else "no_claim" if focused and state["perspectives"] else silent
        argued_by = {texts[i] for i in ids if argued[i]}  # a repeat says nothing else for or against a side
        repeats = own.isdisjoint(ids) or (own & quoted and argued_by <= quoted)
        unquoted = "repeats" if repeats else "no_claim" if stances else silent
        first, told = passages[ids[0]], [{"perspective": side, "argues": argues} for side, argues in stances]
        cited = [c.number for c in citations if passages[c.passage_id].document == key]
        known = shared_fields(first, AnswerDocument) | {"id": first.document_id, "stances": told, "quoted": cited}
        found.append(AnswerDocument.model_validate(known | {"not_quoted": "" if cited else unquoted}))
    return sort_documents(found)


def _verdicts(state: RunState, least: float | None = None) -> set[tuple[int, _Stance]]:
    """The passages that the judge takes to argue for a side, or against one without a contrary; from the probability
    `least` on, by default the judge's threshold."""
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
    """The passages that the claims of sides cite."""
    return {
        (i, (claim["perspective"], "against" if claim.get("objection") else "for"))
        for claim in state.get("claims", [])
        for i in claim["passages"]
        if claim["perspective"]
    }


def _document_stances(state: RunState, passages: Mapping[int, Passage]) -> Mapping[int, set[_Stance]]:
    """What each passage argues, by the stance of its document; a document without one argues what it is cited for."""
    told = {(i, (side, "for")) for side, ids in state.get("document_stances", {}).items() for i in ids}
    known = {passages[i].document for i, _ in told if i in passages}
    argued: dict[int, set[_Stance]] = defaultdict(set)
    for i, stance in told | _cited_stances(state):
        if (i, stance) in told or (i in passages and passages[i].document not in known):
            argued[i].add(stance)
    return argued


def _stances(state: RunState, texts: Mapping[int, int]) -> Mapping[int, set[_Stance]]:
    """What each passage argues: what it is cited for, and what the judge found; and what passages that say the same
    argue, unless the judge read this one and found otherwise."""
    judged = judged_passages(state)
    # What is only weakly for a side does not make it the document's.
    stated = _verdicts(state, CLEAR) | _cited_stances(state)
    shared: dict[int, set[_Stance]] = defaultdict(set)
    for i, stance in stated:
        shared[texts.get(i, i)].add(stance)
    found = stated | _verdicts(state)
    return {i: {s for s in shared[first] if (i, s) in found or i not in judged} for i, first in texts.items()}
