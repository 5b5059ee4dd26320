"""Frame: classifies the question, and decides whether a follow-up is understandable without its thread.

A small classifier does both. A chat model, if one is set, does both and plans the perspectives in the same request.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from langgraph.runtime import Runtime

from agent.evidence.coverage import search_store
from agent.limits import LEAD_PASSAGES, LEAD_POOL, MOST_LEADS, SEARCH_BEFORE_PLAN
from agent.options import RunOptions, check_answerable, run_options
from agent.providers.inference import Models
from agent.stage_interfaces import Planner, Providers, WebResults
from agent.stages.stage import report, run_id, stage
from agent.state import FramingState, RunState, asked_query
from tools.budget import current_log, in_time, share_of_time
from tools.errors import DeadlineError, ProviderError, SteelmanError, StoreDownError
from tools.language.identification import question_language, reads_as_english
from tools.language.question import ANSWERS, is_standalone_question
from tools.language.sentences import is_no_prose, passage_sentences
from tools.passages import Passage, Sentence
from tools.store.store import SAMPLES
from tools.translation import speaking, tr


@stage("frame")
async def frame(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    options = run_options(runtime)
    read, most = WebResults(), max(1, options.max_passages // max(1, len(options.urls)))
    if options.urls:
        read = await providers.web.read(run_id(), options.urls, state["question"], most)
    if providers.plan and "framing" not in state:
        update = await _plan_update(providers, providers.plan, state, options)
        check_answerable(update["framing"]["form"], state["question"])
    else:
        framing = state["framing"]
        alone = not state["earlier"] and options.own_collections == (SAMPLES,) and not providers.sources(options)
        update = RunState(framing=await _as_sample_question(providers, framing) if alone else framing)
    framing = update["framing"]
    if options.urls and framing.get("language"):  # the typed words chose passages, and pages may be in English
        with suppress(ProviderError):
            await providers.web.read(run_id(), options.urls, asked_query(framing), most)
    with speaking(framing.get("language", "")):
        for url, why in read.unread.items():
            current_log().note("skipped", tr("Not read: {problem}", problem=f"{url} ({why})."))
    report(runtime, "framed", neutral=framing.get("asked") or framing["question"], focus=framing["focus"])
    return RunState(**{**update, "counts": {"pages": read.new}})


async def _as_sample_question(providers: Providers, framing: FramingState) -> FramingState:
    """Replaces the question by the sample question on the same topic, if there is one. The answer reports this.

    The embedded judge understands the samples' wording best. Choices and open questions stay unchanged.
    """
    if not providers.sample_question or framing["form"] not in ANSWERS:
        return framing
    try:
        with share_of_time(SEARCH_BEFORE_PLAN):
            known = await in_time(providers.sample_question(framing["question"]))
    except StoreDownError:
        raise
    except SteelmanError:
        return framing
    read = await providers.frame(known, []) if known else framing
    return read if read["form"] in ANSWERS else framing


async def _plan_update(providers: Providers, plan: Planner, state: RunState, options: RunOptions) -> RunState:
    """Returns the chat model's framing and perspectives, and the results of the search before the plan if they fit."""
    question, earlier = state["question"], state.get("earlier", [])
    query = asked_query(await providers.frame(question, earlier))
    leads, ids, late = list[Sentence](), list[int](), ""
    try:
        with share_of_time(SEARCH_BEFORE_PLAN):
            wide = replace(options, pool=max(LEAD_POOL, options.pool))
            (ids, _), passages = await in_time(search_store(providers, query, wide, run_id()))
            leads = await in_time(document_leads(providers.models, query, [passages[i] for i in ids]))
    except DeadlineError as exc:
        late = str(exc)
    framing, perspectives = await in_time(plan(question, earlier, leads))
    if late:
        with speaking(framing.get("language", "")):
            text = tr("The sides were planned without a look at the documents: {error}", error=late)
        current_log().note("scope", text)
    same = asked_query(framing) == query  # otherwise expand searches
    return RunState(framing=framing, perspectives=perspectives, question_results=ids[: options.pool] if same else [])


_PROPOSES = re.compile(
    r"\b(?:should|ought|must|instead|rather than|better|best|propos\w+|suggest\w*|recommend\w*|prefer\w*|options?)\b",
    re.IGNORECASE,
)
_PROPOSING = 0.2  # added to the cosine of a sentence that proposes something


async def document_leads(models: Models, query: str, passages: Sequence[Passage]) -> list[Sentence]:
    """Returns for each document the sentence most similar to the query. Sentences that propose something get a bonus.

    passages: best first. Only the first documents and the best passages of each document are searched.
    """
    best: dict[tuple[str, str], list[Passage]] = {}
    for passage in passages:
        best.setdefault(passage.document, []).append(passage)
    read = [p for found in [*best.values()][:MOST_LEADS] for p in found[:LEAD_PASSAGES]]
    sentences = [s for p in read for s in passage_sentences(p) if not is_no_prose(s.text)]
    vectors, asked = await models.encode_sentences(sentences), (await models.encode([query]))[0]
    # The encoder understands English only. For other languages the documents' typical sentences are chosen.
    nearness = vectors @ (asked if await asyncio.to_thread(reads_as_english, query) else vectors.sum(axis=0))
    proposing = np.array([bool(_PROPOSES.search(s.text)) for s in sentences])
    nearest = {(s := sentences[int(i)]).passage.document: s for i in np.argsort(nearness + _PROPOSING * proposing)}
    return [nearest[document] for document in best if document in nearest]


async def frame_by_classifier(models: Models, question: str, earlier: Sequence[str]) -> FramingState:
    """Classifies a question by its words and its vector.

    A question in another language is looked up; `check_question` lets it pass if the encoder reads that language. In a
    thread, a question that needs its thread becomes the focus of the thread's question and is looked up.
    """
    if models.encoder_languages and question and await asyncio.to_thread(question_language, question):
        return FramingState(form="plain", question=question, alternatives=[], focus="")
    read = (await models.read_questions([question]))[0]
    if earlier and (read.kind != "none" or question.endswith("?")) and not is_standalone_question(question, read.kind):
        topic = await models.thread_question(earlier)
        if topic != read.text:  # otherwise it repeats the thread's question
            return FramingState(form="plain", question=topic, alternatives=[], focus=question)
    return FramingState(form=read.kind, question=read.text, alternatives=list(read.options), focus="")
