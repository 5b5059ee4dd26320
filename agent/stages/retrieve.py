"""Retrieve: searches the store and the web in parallel and fuses the rankings. Each perspective has its own branch."""

import asyncio
import math
from dataclasses import dataclass, field

from langgraph.runtime import Runtime

from agent.evidence.coverage import filter_passages, search_passages
from agent.limits import FIRST_ROUND_PAGES, TOO_FAR
from agent.options import RunOptions, run_options
from agent.stage_interfaces import NO_WEB, Providers, WebResults
from agent.stages.stage import report, run_id, stage
from agent.state import BranchState, RunState, StageNote, local_statement
from tools.budget import NoteKind, current_log, in_time
from tools.errors import DeadlineError, ProviderError, SteelmanError, StoreBusyError, StoreDownError
from tools.store.hybrid import fuse
from tools.translation import labelled, tr, translated

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
        counts={"pages": web.new} | _engine_counts(providers, web),
        served_by={"web": ", ".join(sorted(web.answered))} if any(web.rankings.values()) else {},
        kinds=providers.kinds_searched(run_options(runtime)),
    )


def _engine_counts(providers: Providers, web: WebResults) -> dict[str, float]:
    """Returns how many queries failed and were answered at the sources of the web, one of which may be required."""
    engines = [s.name for s in providers.web.sources if s.kind == "web"]
    failed = sum(len(problems) for name, problems in web.problems.items() if name in engines)
    return {"web_failed": failed, "web_answered": sum(web.answered[name] for name in engines)}


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
        in_time(asyncio.to_thread(search_passages, providers, q, v, options, run_id()))
        for q, v in zip(queries, vectors[2:], strict=True)
        if not state.get("web_only") and (options.own_collections or options.urls)
    )
    searching = asyncio.gather(*searches, return_exceptions=True)
    web, answers = await asyncio.gather(_search_web(providers, state, options), searching)
    problems = [answer for answer in answers if isinstance(answer, SteelmanError)]
    ranked = list(state.get("known", {}).values())
    for hits in answers:
        if not isinstance(hits, BaseException):
            ranked.append(hits)
        elif not isinstance(hits, SteelmanError):
            raise hits
    # Store and each kind count as one ranking, otherwise several store queries outvote the web.
    in_store = [i for i, _ in fuse(ranked)]
    ids = [i for i, _ in fuse([in_store, *web.rankings.values()])][: 2 * options.pool]
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
    sources = providers.sources(options)
    for why in providers.not_asked(options):
        current_log().note("skipped", why)
    if not sources:
        return WebResults()
    read, share = state["counts"].get("pages", 0), state["share"]
    left = options.pages - read
    first = math.floor(left * FIRST_ROUND_PAGES / share) if options.max_rounds and not read else 0
    if (pages := first or math.floor(left / share)) < 1:
        if options.pages and not read:
            why = tr("too few pages ({pages}) for {sides} sides", pages=options.pages, sides=share)
            current_log().note("skipped", labelled(tr(NO_WEB), f"{why}."))
        return WebResults()
    where = options.domains, options.sources, options.since
    found = WebResults()
    try:
        return await in_time(
            providers.web.find(run_id(), _new_queries(state), pages, options.pool, *where, found=found)
        )
    except ProviderError as exc:  # the store's results still count
        told = {*found.answered, *found.problems, *current_log().down}  # an earlier note names what was down before
        silent = [s for s in sources if s.name not in told]
        late: dict[str, list[ProviderError]] = {
            s.name: [DeadlineError(f"{s.title} did not answer in time.")] for s in silent
        }
        if not late:
            current_log().note("failed", tr("The web search failed: {error}", error=exc))
        return WebResults(problems={**found.problems, **late}, answered=found.answered, unread=found.unread)


def _web_failures(providers: Providers, web: WebResults, perspective: str) -> list[StageNote]:
    """Returns a note for each failure, and one if the sources found nothing. If another source answered, a source's
    failure is no replacement of a provider."""
    known = {s.name: s for s in providers.web.sources}
    failures = dict[str, StageNote]()
    for name, problems in web.problems.items():
        engine, title = known[name].kind == "web", known[name].title
        kind: NoteKind = "failed" if web.answered.keys() - {name} else "degraded"
        brief = tr("Web searches with {engine} failed.", engine=title) if engine else tr("{name} failed.", name=title)
        said = tr("The web search failed: {error}") if engine else tr("One source failed: {error}")
        for problem in problems:
            text = said.format(error=translated(str(problem)))
            failures.setdefault(text, StageNote(stage="web", message=text, kind=kind, brief=brief))
    if web.answered and not (web.problems or any(web.rankings.values()) or web.pages or web.unread):
        titles = tr(" and ").join(known[name].title for name in web.answered)
        nothing = tr("{engine} found no page for '{side}'.", engine=titles, side=perspective)
        failures[nothing] = StageNote(stage="web", message=nothing, kind="scope")
    return list(failures.values())
