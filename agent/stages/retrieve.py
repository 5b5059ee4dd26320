"""Retrieve: searches the store and the web in parallel and fuses the rankings. Each perspective has its own branch."""

import asyncio
import math
from dataclasses import dataclass, field

from langgraph.runtime import Runtime

from agent.evidence.coverage import filter_passages
from agent.limits import FIRST_ROUND_PAGES, TOO_FAR
from agent.options import RunOptions, run_options
from agent.stage_interfaces import Providers, WebResults
from agent.stages.stage import report, run_id, stage
from agent.state import BranchState, RunState, StageNote, local_statement
from tools.budget import NoteKind, current_log, in_time
from tools.errors import DeadlineError, ProviderError, SteelmanError, StoreBusyError, StoreDownError
from tools.store.hybrid import fuse
from tools.translation import mark, tr

NO_WEB = mark("The web was not searched")
_TITLES = 4  # titles shown during the run


@dataclass
class _BranchResult:
    """A branch's results. ids: passages, best first. titles: titles of the first documents. problems: failures of the
    store's searches. foreign: titles of documents that were left out, with their language."""

    ids: list[int] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    problems: list[SteelmanError] = field(default_factory=list)
    web: WebResults = field(default_factory=WebResults)
    foreign: dict[str, str] = field(default_factory=dict)


@stage("retrieve")
async def retrieve(providers: Providers, state: BranchState, runtime: Runtime[RunOptions]) -> RunState:
    perspective, queries = state["perspective"], state["queries"]
    report(runtime, "searching", side=perspective["id"], queries=queries)
    found = _BranchResult()
    try:
        found = await _search(providers, state, run_options(runtime))
    except SteelmanError as exc:
        found.problems = [exc]
    unsearched = StoreDownError if found.ids else (StoreBusyError, StoreDownError)
    if unusable := next((p for p in found.problems if isinstance(p, unsearched)), None):
        raise unusable  # 'not found' would imply that the store was searched
    web = found.web
    report(runtime, "found", side=perspective["id"], passages=len(found.ids), pages=web.pages, titles=found.titles)
    failures = [
        StageNote(
            stage="retrieve",
            message=tr("A search for '{side}' failed: {error}", side=perspective["name"], error=problem),
            hint=hint,
            kind=kind,
            brief=tr("Some searches were not finished in time.") if kind == "late" else tr("Some searches failed."),
        )
        for problem, hint, kind in dict.fromkeys((str(p), p.hint, _kind(p)) for p in found.problems)
    ]
    return RunState(
        queries={perspective["id"]: queries},
        candidates={perspective["id"]: found.ids},
        notes=[*failures, *_web_failures(providers, web, perspective["name"])],
        unread_pages=web.unread,
        foreign_documents=found.foreign,
        counts={"pages": web.new, "web_failed": len(web.problems), "web_answered": web.answered},
        served_by={"web": providers.web.engine.name} if providers.web and web.ids else {},
    )


def _kind(problem: SteelmanError) -> NoteKind:
    busy = isinstance(problem, StoreBusyError)
    return "late" if isinstance(problem, DeadlineError) else "degraded" if busy else "failed"


def _new_queries(state: BranchState) -> list[str]:
    return [q for q in state["queries"] if q not in state.get("known", {})]


async def _search(providers: Providers, state: BranchState, options: RunOptions) -> _BranchResult:
    """Returns the passages that the queries found in time, and the failures of the other queries."""
    statement, queries = state["perspective"]["statement"], _new_queries(state)
    local = local_statement(state["perspective"])
    vectors = await in_time(providers.models.encode_queries([statement, local, *queries]))
    searches = (
        in_time(asyncio.to_thread(providers.search.search, q, v, options.collections, options.pool))
        for q, v in zip(queries, vectors[2:], strict=True)
        if not state.get("web_only")
    )
    in_store = asyncio.gather(*searches, return_exceptions=True)
    web, answers = await asyncio.gather(_search_web(providers, state, options), in_store)
    problems = [answer for answer in answers if isinstance(answer, SteelmanError)]
    ranked = list(state.get("known", {}).values())
    for hits in answers:
        if not isinstance(hits, BaseException):
            ranked.append([h.passage_id for h in hits])
        elif not isinstance(hits, SteelmanError):
            raise hits
    ids = [i for i, _ in fuse(ranked)]
    if web.ids:  # store and web count as one ranking each, otherwise several store queries outvote the web
        ids = [i for i, _ in fuse([ids, web.ids])]
    ids = ids[: 2 * options.pool]
    passages = await asyncio.to_thread(providers.store.passages, ids)
    ids, foreign = await asyncio.to_thread(filter_passages, ids, passages, statement)
    stored = await asyncio.to_thread(providers.store.vectors, ids)
    elsewhere = providers.models.retrieval_encoder is not providers.models.encoder
    near_enough = [i for i in ids if i in stored and (elsewhere or float(max(vectors[:2] @ stored[i])) >= TOO_FAR)]
    found = near_enough[: options.pool]
    await asyncio.to_thread(providers.store.kept.put, run_id(), [passages[i] for i in found], stored)
    titles = list(dict.fromkeys(p.name for p in (passages[i] for i in found)))[:_TITLES]
    return _BranchResult(found, titles, problems, web, foreign)


async def _search_web(providers: Providers, state: BranchState, options: RunOptions) -> WebResults:
    if providers.web is None or not options.web:
        why = tr("no search engine is set") if options.web else tr("nothing was to leave this machine")
        current_log().note("skipped", f"{tr(NO_WEB)}: {why}.")
        return WebResults()
    read, share = state["counts"].get("pages", 0), state["share"]
    left = options.pages - read
    first = math.floor(left * FIRST_ROUND_PAGES / share) if options.max_rounds and not read else 0
    if (pages := first or math.floor(left / share)) < 1:
        if options.pages and not read:
            why = tr("too few pages ({pages}) for {sides} sides", pages=options.pages, sides=share)
            current_log().note("skipped", f"{tr(NO_WEB)}: {why}.")
        return WebResults()
    search = providers.web.find(run_id(), _new_queries(state), pages, options.pool, options.domains)
    try:
        return await in_time(search)
    except ProviderError as exc:  # the store's results still count
        return WebResults(problems=[exc])


def _web_failures(providers: Providers, web: WebResults, perspective: str) -> list[StageNote]:
    messages = (tr("The web search failed: {error}", error=problem) for problem in web.problems)
    engine = providers.web.engine.title if providers.web else ""
    brief = tr("Web searches with {engine} failed.", engine=engine) if engine else ""
    failures = [
        StageNote(stage="web", message=message, kind="degraded", brief=brief) for message in dict.fromkeys(messages)
    ]
    if providers.web and web.answered and not (web.problems or web.pages or web.unread):
        nothing = tr("{engine} found no page for '{side}'.", engine=engine, side=perspective)
        failures.append(StageNote(stage="web", message=nothing, kind="scope"))
    return failures
