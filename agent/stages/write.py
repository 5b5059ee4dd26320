"""Write: makes each perspective's claims from its selected passages, and finds sentences of no side.

Without a chat model the claims are quotations (`agent.evidence.cases`). A chat model writes sentences and cites the
passages that say them. The sentences stay in the model's order, and only verification drops sentences.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Annotated, Any

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from agent import limits
from agent.evidence.cases import (
    briefs_of,
    deduplicated,
    demanded_claims,
    document_responses,
    under_one_perspective,
)
from agent.evidence.coverage import arguing_passages, sentence_evidence
from agent.evidence.sentences import best_of_passage, part_vectors, score_sentences
from agent.options import RunOptions, run_options
from agent.providers.inference import Models
from agent.stage_interfaces import Brief, Dispute, Providers
from agent.stages.stage import IN_ENGLISH, ask_model, fall_back_to_own_judge, language_name, report, stage
from agent.state import (
    Claim,
    FramingState,
    PassageEvidence,
    Perspective,
    RunState,
    asked_query,
    decontextualised,
    repeats_target,
    with_focus,
)
from prompts import as_data, one_line
from tools.budget import current_log, in_time, share_of_time
from tools.errors import DeadlineError, JudgeError, ProviderReplyError
from tools.language.grounding import is_denied
from tools.language.lexicon import analyzer, respelled
from tools.language.question import ANSWERS
from tools.language.quotable import QuotablePart, quotable_parts, short_statements
from tools.language.sentences import split_sentences
from tools.limits import CLEAR
from tools.models.chat.model import ChatModel
from tools.models.judges.batch import documents_as_data
from tools.passages import Passage, interleave
from tools.store.store import SAMPLES
from tools.translation import labelled, mark, tr

_NOT_WRITTEN = mark("The answer was not written")
_NOT_READ = mark("{number} sentences for '{side}' were not read in time, and are not quoted.")


@stage("write")
async def write(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    """Writes the cases and judges the sentences: before quotations are chosen, or while a model writes."""
    claims, quotations = list[Claim](), list[Claim]()
    read, note = dict[str, PassageEvidence](), partial(current_log().note, "failed")
    stances, options = dict[str, list[int]](), run_options(runtime)
    briefs, cases = list[Brief](), list[list[Claim] | BaseException]()
    try:
        briefs, cases = await _read_and_write(providers, state, options)
    except JudgeError as exc:
        return fall_back_to_own_judge(providers, exc)
    except DeadlineError as exc:
        note(labelled(tr(_NOT_WRITTEN), str(exc)))
    for brief, case in zip(briefs, cases, strict=True):
        name, reading = brief.perspective["name"], brief.sentence_scores
        if isinstance(case, BaseException):
            note(tr("The case for '{side}' was not written: {error}", side=name, error=case))
        else:
            claims += case
        if reading and providers.quote:
            quotations += await providers.quote(brief)
        elif reading:
            if late := int(np.isnan(reading.confidence[reading.on_topic]).sum()):
                note(tr(_NOT_READ, number=late, side=name))
            if not brief.passage_scores_trusted and (reading.case.any() or not late):
                read[brief.perspective["id"]] = sentence_evidence(reading)
        if reading and not brief.passage_scores_trusted:
            stances[brief.perspective["id"]] = arguing_passages(reading, brief.judge)
    drafts = deduplicated(claims)
    drafts += demanded_claims(briefs, drafts) if providers.quote is None else []
    report(runtime, "written", claims=len(drafts))
    with suppress(DeadlineError):
        drafts += await in_time(_also(providers, state, briefs, [*drafts, *quotations]))
    return RunState(
        drafts=[c for c in drafts if not repeats_target(state, c["text"])],
        document_stances=stances,
        quotations=[c for c in quotations if not repeats_target(state, c["text"])],
        responses=under_one_perspective([r for brief in briefs for r in brief.responses], drafts),
        sentence_evidence=read,
    )


async def _also(providers: Providers, state: RunState, briefs: Sequence[Brief], claims: Sequence[Claim]) -> list[Claim]:
    """Returns sentences of no side: of the briefs' passages, or of those for which a judge of documents found none."""
    if "against" in state:
        return []
    passages = {p.id: p for brief in briefs for p in brief.passages}
    if any(brief.passage_scores_trusted for brief in briefs):
        passages = await asyncio.to_thread(providers.passages, sideless_passages(state), state.get("own_sentences", {}))
    asked = asked_query(state["framing"]), "" if providers.plan else state["question"]  # models may translate it
    return await also_claims(providers.models, *asked, list(passages.values()), [c["text"] for c in claims])


async def _read_and_write(
    providers: Providers, state: RunState, options: RunOptions
) -> tuple[list[Brief], list[list[Claim] | BaseException]]:
    """Returns the briefs with the scores that came in time, and for each brief its claims or a DeadlineError.

    Raises DeadlineError, JudgeError.
    """
    briefs = await briefs_of(providers, state, options.claims_per_side)
    with share_of_time(limits.SENTENCE_READING_SHARE):
        reading = asyncio.create_task(_read(providers.models, briefs))
    try:
        if providers.quote is None:
            briefs = await in_time(reading)
        writing = (in_time(providers.write(brief)) for brief in briefs)
        cases = await asyncio.gather(*writing, return_exceptions=True)
        if failed := [c for c in cases if isinstance(c, BaseException) and not isinstance(c, DeadlineError)]:
            raise failed[0]
        with suppress(DeadlineError):  # written claims do not need the scores
            briefs = await in_time(reading)
        return briefs, cases
    finally:
        reading.cancel()


async def _read(models: Models, briefs: Sequence[Brief]) -> list[Brief]:
    readings = await score_sentences(models, briefs)
    return [
        replace(brief, sentence_scores=found, responses=await asyncio.to_thread(document_responses, brief, found))
        for brief, found in zip(briefs, readings, strict=True)
    ]


_USER_NAME = re.compile(r"[a-z]+[\d_]\w*")  # 'trucker_dad'
_LEAD = re.compile(
    r"^(?:the )?passages?\b[^,.;]{0,60}?\b(?:says?|states?|mentions?|notes?|argues?|reports?) that ", re.I
)


_LONGEST_NAME = 100  # characters of a speaker


def _names(values: Any) -> list[str]:
    """Returns the list with '' for what is no name: a claim holds without a speaker."""
    given = values[: limits.CITED_PASSAGES] if isinstance(values, list) else []
    return [v if isinstance(v, str) and len(v) <= _LONGEST_NAME else "" for v in given]


class WrittenClaim(BaseModel):
    """A claim in a model's reply."""

    passages: list[int] = Field(min_length=1, max_length=12)  # first, so that a model chooses passages before it writes
    speakers: Annotated[list[Annotated[str, Field(max_length=_LONGEST_NAME)]], BeforeValidator(_names)] = Field(
        default=[], max_length=limits.CITED_PASSAGES
    )  # of the first passages
    reason: str = Field(default="", max_length=limits.LONGEST_CLAIM)
    text: str = Field(min_length=1, max_length=limits.LONGEST_CLAIM)
    english: str = Field(default="", max_length=limits.LONGEST_CLAIM, description=IN_ENGLISH)


class WrittenCase(BaseModel):
    """A model's reply."""

    claims: list[WrittenClaim] = Field(max_length=24)


class CaseAndObjections(WrittenCase):
    """A model's reply for a side without an opposing side."""

    objections: list[WrittenClaim] = Field(default_factory=list, max_length=12)


class WrittenReply(BaseModel):
    """Numbers of a claim and of the opposing claim that it answers."""

    reply: int
    to: int


def _well_formed(replies: Any) -> list[WrittenReply]:
    found = list[WrittenReply]()
    for reply in replies if isinstance(replies, list) else ():
        with suppress(ValidationError):
            found.append(WrittenReply.model_validate(reply))
    return found


class WrittenCrux(BaseModel):
    """A model's reply on the whole dispute."""

    text: str = Field(default="", max_length=limits.LONGEST_CLAIM)
    english: str = Field(default="", max_length=limits.LONGEST_CLAIM, description=IN_ENGLISH)
    claims: list[int] = Field(default_factory=list, max_length=24)
    replies: Annotated[list[WrittenReply], BeforeValidator(_well_formed)] = Field(
        default_factory=list, max_length=limits.MOST_SIDES * limits.CRUX_CLAIMS
    )


ENGLISH_TOO = "Write reason and text in {}; english: the same sentence as text, in plain English."
_OBJECTIONS = """
objections: up to {objections} claims of the same form, one for each distinct reason against the side that any of the \
passages gives."""


async def write_by_chat(model: ChatModel, brief: Brief) -> list[Claim]:
    mine = _by_document(brief.passages if brief.passage_scores_trusted else brief.passages[: limits.READ_PASSAGES])
    opposing = _by_document(brief.against)
    objected = not brief.contrary and (bool(opposing) or any(brief.opposing.get(p.id, 0.0) >= CLEAR for p in mine))
    if not mine and not objected:
        return []
    against = {str(n): p for n, p in enumerate(opposing, len(mine) + 1)}
    limit, language = _claims_wanted(brief), language_name(brief.framing)
    case = await ask_model(
        model,
        "write",
        CaseAndObjections if objected else WrittenCase,
        question=as_data("question", brief.framing["question"]),
        statement=as_data("statement", brief.perspective["statement"]),
        contrary=f"It is opposed to: {as_data('statement', brief.contrary)}" if brief.contrary else "",
        focus=_focus(brief.framing),
        passages=documents_as_data({str(n): p for n, p in enumerate(mine, 1)}),
        opposing=f"Against the side speak:\n{documents_as_data(against)}" if opposing else "",
        limit=str(limit),
        objections=_OBJECTIONS.format(objections=limit // 2) if objected else "",
        language=language or "English",
        english=f"\n{ENGLISH_TOO.format(language)}" if language else "",
    )
    shown = [*mine, *opposing]
    found = case.objections if isinstance(case, CaseAndObjections) else []
    if not language:  # a model may fill in what only other languages need
        for written in (*case.claims, *found):
            written.english = ""
    claims = [_claim(brief, w, text, shown) for w in case.claims for text in _claim_sentences(w)]
    objections = [_claim(brief, w, text, shown) for w in found for text in _claim_sentences(w)]
    return [*claims, *(Claim(**{**c, "objection": True}) for c in objections)]


def _claims_wanted(brief: Brief) -> int:
    if brief.contrary or brief.framing["form"] == "counter":
        return limits.SIDE_CLAIMS
    return limits.OTHER_CLAIMS if brief.framing["form"] in ANSWERS else limits.ANSWER_CLAIMS


async def crux_by_chat(
    model: ChatModel, framing: FramingState, sides: Sequence[tuple[Perspective, Sequence[Claim]]]
) -> Dispute:
    """Returns the crux and the replies that the model finds in all sides' numbered claims. The crux cites passages of
    these claims. There is no crux if the model names claims of one side only."""
    numbers = count(1)
    shown = [(p["statement"], {next(numbers): claim for claim in claims[: limits.CRUX_CLAIMS]}) for p, claims in sides]
    sections = (
        "\n".join([as_data("side", side), *(as_data("claim", decontextualised(c), number=n) for n, c in own.items())])
        for side, own in shown
    )
    language = language_name(framing)
    reply = await ask_model(
        model,
        "crux",
        WrittenCrux,
        question=as_data("question", framing["question"]),
        sides="\n\n".join(sections),
        language=language or "English",
        english=f" {ENGLISH_TOO.format(language)}" if language else "",
    )
    every = {n: claim for _, own in shown for n, claim in own.items()}
    pairs = [(every[r.reply], every[r.to]) for r in reply.replies if {r.reply, r.to} <= every.keys()]
    replies = [(c, met) for c, met in pairs if c["perspective"] != met["perspective"]]
    # Each claim's first passage is cited before any claim's second passage.
    named = [[own[n]["passages"] for n in dict.fromkeys(reply.claims) if n in own] for _, own in shown]
    cited = [interleave(passages)[: limits.CRUX_PASSAGES] for passages in named if passages]
    if not reply.text.strip() or len(cited) < 2:
        return Dispute(None, replies)
    written, english = one_line(reply.text), one_line(reply.english) if language else ""
    claim = Claim(
        perspective="",
        text=english or written,
        passages=list(dict.fromkeys(i for ids in cited for i in ids)),
        support=0.0,
        role="crux",
        written=True,
        evidence=[],
    )
    return Dispute(Claim(**claim, local=written) if english else claim, replies)


class Translations(BaseModel):
    """A model's reply, in the order of the quotations."""

    translations: list[str] = Field(max_length=limits.MOST_TRANSLATED)


async def translate_by_chat(model: ChatModel, framing: FramingState, quotes: Sequence[str]) -> dict[str, str]:
    """Returns the model's translations by quotation. Raises ProviderReplyError if one is missing."""
    shown = quotes[: limits.MOST_TRANSLATED]
    quotations = "\n".join(as_data("quotation", quote, number=n) for n, quote in enumerate(shown, 1))
    reply = await ask_model(model, "translate", Translations, language=language_name(framing), quotations=quotations)
    if len(reply.translations) != len(shown):
        raise ProviderReplyError(f"{model.name} gave {len(reply.translations)} translations of {len(shown)} texts.")
    return dict(zip(shown, map(one_line, reply.translations), strict=True))


def _focus(framing: FramingState) -> str:
    focus = as_data("focus", framing["focus"])
    if framing["form"] == "counter":
        return (
            f"The reader wants to know what speaks most strongly against this: {focus}\n"
            "Begin with what answers its very point."
        )
    return f"The reader asks only about this: {focus}\nLeave out what does not speak of it." if framing["focus"] else ""


def _by_document(passages: Sequence[Passage]) -> list[Passage]:
    """Groups the passages by document, in the document's order. Documents keep the order of their first passage."""
    rank = {p.document: n for n, p in reversed(list(enumerate(passages)))}
    return sorted(passages, key=lambda p: (rank[p.document], p.position))


def _claim_sentences(written: WrittenClaim) -> list[str]:
    """Returns the sentences without 'The passage says that'. A claim in another language stays whole, in English."""
    if written.english.strip():
        return [one_line(written.english)]
    points = (_LEAD.sub("", sentence) for sentence in split_sentences(one_line(written.text)))
    said = [point for point in points if any(map(str.isalnum, point))]
    return [p if _USER_NAME.match(p) else p[:1].upper() + p[1:] for p in said]


def _claim(brief: Brief, written: WrittenClaim, text: str, shown: Sequence[Passage]) -> Claim:
    """Returns the claim with passage ids in place of numbers. A claim with only unknown numbers cites nothing, so
    verification drops the claim."""
    speakers = dict.fromkeys(written.passages, "")
    for n, who in zip(written.passages, written.speakers, strict=False):
        speakers[n] = speakers[n] or who
    numbers = [n for n in speakers if 1 <= n <= len(shown)][: limits.CITED_PASSAGES]
    own = [shown[n - 1].id for n in numbers]
    claim = Claim(
        perspective=brief.perspective["id"],
        text=one_line(text),
        passages=own,
        support=max((brief.support.get(i, 0.0) for i in own), default=0.0),
        role="case",
        written=True,
        evidence=[],
        reason=one_line(written.reason),
        speakers={shown[n - 1].id: who for n in numbers if (who := one_line(speakers[n]))},
    )
    if written.english.strip():
        claim["local"] = one_line(written.text)
    return claim


_BY_PASSAGE, _BY_WORDS = 0.5, 0.3  # weights; the sentence's own cosine has weight 1
_SHORT = 8  # words


async def also_claims(
    models: Models, searched: str, typed: str, passages: Sequence[Passage], quoted: Sequence[str] = ()
) -> list[Claim]:
    """Returns up to MOST_ALSO sentences of no side, best fit to the question first. No sentence repeats another or a
    `quoted` text. If the documents are not on the question, the list is empty.

    The fit adds three terms: the sentence's cosine to the question, the highest cosine in its passage, and the share of
    the question's words in the sentence, weighted by inverse document frequency over the sentences. searched: the
    question as it was searched. typed: the question as the user typed it.
    """
    full = [part for passage in passages for part in quotable_parts(passage) if part.clear]
    parts = [*full, *(part for passage in passages for part in short_statements(passage))]
    if not parts:
        return []
    question = respelled(with_focus(searched, typed), " ".join(part.text for part in parts))
    vectors, known = await part_vectors(models, parts), await models.encode([question, *quoted])
    near, (shared, _) = vectors @ known[0], _shared_words(question, parts)
    held, samples = _shared_words(question, full)[1], all(passage.collection == SAMPLES for passage in passages)
    known_by_full = bool(full) and _on_question(near[: len(full)], held, samples=samples)
    if not known_by_full and near[len(full) :].max(initial=0.0) < limits.SHORT_ON_QUESTION:
        return []
    fit = near + _BY_PASSAGE * best_of_passage(parts, near) + _BY_WORDS * shared
    fit[len(full) :] -= fit.max()  # a reason stands before a bare opinion
    used = list(zip(quoted, known[1:], strict=True))
    documents, chosen = Counter[tuple[str, ...]](), list[Claim]()
    for i in (int(i) for i in np.argsort(-fit, kind="stable") if near[i] >= limits.ALSO_ON_QUESTION):
        part = parts[i]
        repeats = any(float(vectors[i] @ v) >= limits.REPEATS and _repeats(part.text, text) for text, v in used)
        whole, person = part.passage.document, (*part.passage.document, part.passage.speaker)
        often = documents[whole if i < len(full) else person] >= limits.ALSO_PER_DOCUMENT
        if len(chosen) < limits.MOST_ALSO and not often and not repeats:
            documents.update([whole, person])
            used.append((part.text, vectors[i]))
            where = [part.passage.id]
            chosen.append(
                Claim(perspective="", text=part.text, shown=part.shown, passages=where, support=0.0, role="also")
            )
    return chosen


def _repeats(text: str, other: str) -> bool:
    """Whether texts with near vectors say the same: 'sell' and 'not sell' do not. For a short text the words decide,
    because 'Keep the crane' is also near 'Sell the crane'."""
    words, others = (frozenset(analyzer().analyze(t)) for t in (text, other))
    short = min(len(text.split()), len(other.split())) < _SHORT
    return not is_denied(text, other) and (not short or words <= others or others <= words)


def _on_question(near: NDArray[np.float32], held: float, *, samples: bool) -> bool:
    """Whether the documents are on the question. near: cosine of each sentence to the question, (n,). held: share of
    the question's words in the documents."""
    nearest = float(np.sort(near)[-limits.NEAREST_SENTENCES :].mean())
    known = nearest + limits.WORDS_WEIGHT * held >= limits.ON_QUESTION_SUM
    near_enough = nearest >= limits.ON_QUESTION_SAMPLES or not samples
    return (known and near_enough) or bool(near.max() >= limits.SURELY_ON_QUESTION)


def sideless_passages(state: RunState) -> set[int]:
    """Returns the passages that the judge found on the question and for no side. For a follow-up with a focus, such as
    the cost, a weak verdict is no side: the passage may have the figure that is asked for."""
    least = CLEAR if state["framing"]["focus"] else state["threshold"]
    support, sides = state.get("support", {}), {p["id"]: p["contrary"] for p in state["perspectives"]}
    against = (s for p, s in state.get("opposition", {}).items() if sides.get(p) not in sides)
    argued = {i for scores in (*support.values(), *against) for i, s in scores.items() if s >= least}
    return {i for scores in support.values() for i in scores} - argued - {*state.get("off_question", [])}


def _shared_words(question: str, parts: Sequence[QuotablePart]) -> tuple[NDArray[np.float64], float]:
    """Returns the weighted share of the question's words in each part, (n,), and in all parts together."""
    asked, texts = set(analyzer().analyze(question)), [set(analyzer().analyze(part.text)) for part in parts]
    weights = {w: math.log(1 + len(texts) / (1 + sum(w in t for t in texts))) for w in asked}
    total, known = max(sum(weights.values()), 1e-9), asked & set().union(*texts)
    shared = np.array([sum(weights[w] for w in asked & t) for t in texts]) / total
    return shared, sum(weights[w] for w in known) / total
