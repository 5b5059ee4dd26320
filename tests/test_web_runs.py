"""Whole runs with the live web: what the answer makes of pages, what stays of them, and what the web's bad days do."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from providers import ScriptedExpander, ScriptedJudge, build, side
from search_servers import Found, SearchServer, Trouble
from web_fixtures import asked_for, at, by_word, prose, publish, with_web
from web_server import WebServer

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.providers.websearch import WebSearch
from agent.runs.service import Runs
from agent.runs.store import Event
from agent.seams import Providers
from agent.settings import Settings
from tools.errors import ProviderDownError, RunError
from tools.inference.judges.judge import Pair
from tools.ingest.ingest import Ingester
from tools.passages import SourceDocument
from tools.store.store import SAMPLES, Store
from tools.store.web_passages import WEB


async def run(runs: Runs, question: str = QUESTION, **options: Any) -> Answer:
    return await runs.answer(await runs.start(question, RunOptions.of(**{"max_rounds": 0, **options})))


def two_sides(site: WebServer, count: int = 4) -> list[Found]:
    """Pages that help and pages that harm, in turns."""
    return [
        Found(publish(site, f"site{i}.example", f"/{i}", prose(i, "harm" if i % 2 else "help"), publisher=f"Press {i}"))
        for i in range(count)
    ]


def for_it(pair: Pair) -> float:
    """Everything speaks for a statement, and nothing for its negation."""
    return 0.1 if " not " in pair.statement else 0.9


def notes(answer: Answer, kind: str) -> list[str]:
    return [n.text for n in answer.notes if n.kind == kind]


def covered(answer: Answer) -> list[tuple[str, int, int, int]]:
    return [(c.status, c.passages, c.sources, c.copies) for c in answer.coverage]


# A good day


async def test_web_passages_are_judged_cited_and_told_apart(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    page = publish(site, "gazette.example", "/a", prose(1), title="On it", publisher="The Gazette", date="2026-03-12")
    engine.otherwise(lambda _: [Found(page), *two_sides(site)])
    judge = ScriptedJudge(by_word)
    async with door(settings, with_web(engine, judge)) as runs:
        answer = await run(runs)
    assert answer.outcome == "answered"
    [cited] = [c for c in answer.citations if c.url == page]
    assert (cited.publisher, cited.date, cited.title) == ("The Gazette", "2026-03-12", "On it")
    assert (cited.collection, cited.document_id, cited.sample) == (WEB, page, False)
    assert cited.passage_id < 0
    assert cited.quote.split(".")[0][-20:] in prose(1)
    assert {c.collection for c in answer.citations} == {WEB}  # nothing in the collection says 'help' or 'harm'
    assert [line[0] for line in covered(answer)] == ["supported", "supported"]
    assert answer.usage.pages == 5
    assert answer.usage.calls == len(engine.requests) == 2
    assert answer.providers["web"] == "tavily"
    assert not [n for n in answer.notes if n.kind in ("degraded", "failed", "scope")]
    assert any(prose(1)[:60] in pair.text for pair in judge.pairs)


async def test_the_web_enters_no_collection(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, with_web(engine)) as runs:
        before = (runs.store.collections(), runs.store.changes.last())
        found = await run(runs)
        assert (runs.store.collections(), runs.store.changes.last()) == before
        assert len(list(runs.store.scan(0, 1000))) == sum(c.passages for c in before[0])
        later = await run(runs, web=False)
    async with door(settings) as runs:
        without = await run(runs)
    assert found.outcome == "answered"
    for answer in (later, without):
        assert not [c for c in answer.citations if c.collection == WEB]
    assert later.outcome == "nothing_found"


async def test_without_the_web_nothing_is_asked_of_anybody(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, with_web(engine, required=True)) as runs:
        answer = await run(runs, web=False, max_rounds=2)
        nothing = await run(runs, pages=0, max_rounds=2)
    assert not engine.requests
    assert not site.requests
    assert not site.connections
    assert answer.usage.calls == answer.usage.pages == nothing.usage.pages == 0
    assert "web" not in answer.providers


@pytest.mark.parametrize(("pages", "rounds"), [(1, 0), (2, 1), (7, 2)])
async def test_no_more_pages_are_read_than_allowed_in_all_rounds_together(
    settings: Settings, engine: SearchServer, site: WebServer, pages: int, rounds: int
) -> None:
    shown = iter(range(10_000))

    def fresh(_: str) -> list[Found]:
        return [
            Found(publish(site, f"site{i}.example", f"/{i}", prose(i, "filler")))
            for i in (next(shown) for _ in range(20))
        ]

    engine.otherwise(fresh)
    async with door(settings, with_web(engine)) as runs:
        answer = await run(runs, pages=pages, max_rounds=rounds)
    assert asked_for(site).total() == answer.usage.pages <= pages
    assert answer.usage.pages >= pages // 2
    assert bool(notes(answer, "skipped")) == (pages < 2)  # one page for two sides


async def test_a_page_of_both_sides_counts_once(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site, 4))
    async with door(settings, with_web(engine)) as runs:
        answer = await run(runs, pages=8)
    assert asked_for(site).total() == answer.usage.pages == 4


async def test_the_search_itself_is_limited_to_the_domains(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, with_web(engine)) as runs:
        answer = await run(runs, domains=("site0.example", "site1.example"))
    assert {tuple(r.body["include_domains"]) for r in engine.requests} == {("site0.example", "site1.example")}
    assert set(asked_for(site)) == {"/0", "/1"}
    assert answer.usage.pages == 2


async def test_a_deleted_run_takes_its_pages_with_it(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, with_web(engine)) as runs:
        answer, other = await run(runs), await run(runs)
        ids = [c.passage_id for c in answer.citations]
        assert runs.store.passages(ids)
        runs.run_store.delete(answer.run_id)
        assert not runs.store.passages(ids)
        assert runs.store.passages([c.passage_id for c in other.citations])


class Stuck:
    """A writer that waits until it is told to go on."""

    def __init__(self, inner: Any) -> None:
        self.began = asyncio.Event()
        self._inner = inner

    async def write(self, brief: Any) -> Any:
        self.began.set()
        return await asyncio.Future()


async def test_a_resumed_run_still_has_its_pages(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site))
    stuck = Stuck(None)
    async with door(settings, with_web(engine, made=build(judge=ScriptedJudge(by_word), writer=stuck))) as runs:
        run_id = await runs.start(QUESTION, RunOptions.of(max_rounds=0))
        await asyncio.wait_for(stuck.began.wait(), 10)
    asked = (len(engine.requests), asked_for(site).total())
    async with door(settings, with_web(engine)) as runs:
        await runs.resume(run_id)
        answer = await runs.answer(run_id)
    assert (len(engine.requests), asked_for(site).total()) == asked
    assert {c.collection for c in answer.citations} == {WEB}
    assert answer.usage.pages == 4


# Copies


async def test_one_text_on_three_sites_is_one_source(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    text = prose(7, sentences=24)
    dressed = [
        publish(site, "wire.example", "/1", text, title="The wire", publisher="The Wire"),
        publish(site, "daily.example", "/2", ["By Our Reporter", text, prose(8, "filler", 3)], title="A headline"),
        publish(site, "blog.example", "/3", [prose(9, "filler", 4), text], title="Seen elsewhere", publisher="A Blog"),
    ]
    engine.otherwise(lambda _: [Found(u) for u in dressed])
    async with door(settings, with_web(engine)) as runs:
        answer = await run(runs)
    [line, _] = answer.coverage
    assert (line.status, line.sources) == ("thin", 1)
    assert line.copies > 0


async def test_copies_of_which_other_passages_support_a_side_are_still_one_source(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    text = [prose(i, w, 9) for i, w in enumerate(["help", "filler", "aid", "filler", "boon"])]
    dressed = {"one": text, "two": [prose(30, "filler", 5), *text]}  # so that the cuts lie elsewhere
    pages = [publish(site, f"{n}.example", f"/{n}", t, title=n, publisher=n.title()) for n, t in dressed.items()]
    other = publish(site, "three.example", "/three", prose(20), publisher="Three")
    engine.otherwise(lambda _: [Found(u) for u in (*pages, other)])

    def score(pair: Any) -> float:
        return 0.9 if ("help" in pair.text or "boon" in pair.text) and " not " not in pair.statement else 0.1

    async with door(settings, with_web(engine, ScriptedJudge(score))) as runs:
        answer = await run(runs)
    assert answer.coverage[0].sources == 2  # the two copies are one, the third is another
    assert answer.coverage[0].passages >= 3


def with_document(made: Callable[..., Providers], text: str) -> Callable[..., Providers]:
    """The providers with a document of the user's in the collection."""

    def building(settings: Settings, store: Store) -> Providers:
        providers = made(settings, store)
        document = SourceDocument("mine.txt", text, title="My copy", publisher="My folder")
        Ingester(store, providers.search, providers.models.retrieval_encoder).ingest([document], SAMPLES)
        return providers

    return building


@pytest.mark.parametrize("lead", ["By Our Reporter", prose(30, "filler", 5)])
async def test_a_text_of_the_collection_that_is_on_the_web_too_counts_once(
    settings: Settings, engine: SearchServer, site: WebServer, lead: str
) -> None:
    text = prose(7, sentences=24)
    page = publish(site, "wire.example", "/1", [lead, text], title="The wire", publisher="The Wire")
    engine.otherwise(lambda _: [Found(page)])
    async with door(settings, with_document(with_web(engine), text)) as runs:
        answer = await run(runs, pool=60, max_pairs=600)
    [line, _] = answer.coverage
    assert (line.status, line.sources) == ("thin", 1)
    assert line.copies > 0


# The engine's bad days


BAD_ENGINES: dict[str, tuple[Trouble, str]] = {
    "key": (Trouble(status=401, body='{"detail": {"error": "Unauthorized"}}'), "refused the key"),
    "limit": (Trouble(status=429, body='{"detail": {"error": "slow down"}}'), "no more requests"),
    "limit for an hour": (Trouble(status=429, body="{}", headers={"Retry-After": "3600"}), "no more requests"),
    "broken": (Trouble(status=500, body="oops", headers={"Retry-After": "0"}), "failed (status 500"),
    "hang": (Trouble(hang=5), "did not answer in time"),
    "cut": (Trouble(body='{"query": "x", "resul', cut=True), "was cut in the middle"),
    "other schema": (Trouble(body='{"query": "x", "results": [1, 2]}'), "no addresses"),
    "no JSON": (Trouble(body="<html>maintenance</html>"), "not its JSON"),
    "nothing": (Trouble(body=""), "not its JSON"),
}


@pytest.mark.parametrize("name", list(BAD_ENGINES))
async def test_a_run_goes_on_without_an_engine_that_fails_and_says_so(
    settings: Settings, engine: SearchServer, name: str
) -> None:
    trouble, why = BAD_ENGINES[name]
    engine.otherwise(lambda _: trouble)
    began = time.monotonic()
    one_sided = ScriptedJudge(for_it)
    async with door(settings, with_web(engine, one_sided, engine_seconds=0.3 if name == "hang" else 0.7)) as runs:
        answer = await run(runs, max_rounds=1, deadline_seconds=6.0)
    assert time.monotonic() - began < 4
    assert answer.outcome == "answered"
    assert {c.collection for c in answer.citations} == {SAMPLES}
    [note] = notes(answer, "degraded")
    assert note.startswith("The web search failed: ")
    assert why in note
    assert not notes(answer, "failed")


@pytest.mark.parametrize("name", ["key", "nothing"])
async def test_an_engine_that_was_named_and_answers_nothing_is_an_error(
    settings: Settings, engine: SearchServer, name: str
) -> None:
    trouble, why = BAD_ENGINES[name]
    engine.otherwise(lambda _: trouble)
    async with door(settings, with_web(engine, required=True)) as runs:
        with pytest.raises(RunError) as caught:
            await run(runs, deadline_seconds=4.0)
    said = str(caught.value)
    assert why in said
    assert "STEELMAN_WEB" in said
    assert "resume" not in said  # the search would not be made again


async def test_an_engine_that_was_named_and_found_nothing_is_no_error(settings: Settings, engine: SearchServer) -> None:
    engine.otherwise(lambda _: [])
    always = ScriptedJudge(for_it)
    async with door(settings, with_web(engine, always, required=True)) as runs:
        answer = await run(runs)
    assert answer.outcome == "answered"
    assert not notes(answer, "degraded")
    assert any(note.startswith("Tavily found no page for ") for note in notes(answer, "scope"))


async def test_an_engine_that_answers_one_side_only(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.on("should not", Trouble(body="{}"))
    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, with_web(engine, required=True)) as runs:
        answer = await run(runs)
    assert answer.outcome == "answered"
    assert len(notes(answer, "degraded")) == 1
    assert {c.collection for c in answer.citations} == {WEB}


async def test_one_query_that_is_answered_is_enough_for_an_engine_that_was_named(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.on("reasons why", Trouble(body="{}"))
    engine.otherwise(lambda _: two_sides(site))
    judge = ScriptedJudge(lambda pair: 0.9 if "easy" in pair.statement or "help" in pair.text else 0.1)
    expander = ScriptedExpander(side(1, "Bridges are easy."), side(2, "Bridges help everybody."))
    made = with_web(engine, made=build(judge=judge, expander=expander), required=True)
    async with door(settings, made) as runs:
        answer = await run(runs, pages=1, max_rounds=1)  # too few for two sides, enough for the one that is left
    assert len(engine.requests) == 3
    assert answer.outcome == "answered"
    assert answer.usage.pages == 1
    assert len(notes(answer, "degraded")) == 1


async def test_an_engine_that_waits_and_answers_is_no_failure(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.on("", Trouble(status=429, headers={"Retry-After": "0"}), Trouble(status=503), two_sides(site))
    async with door(settings, with_web(engine)) as runs:
        answer = await run(runs)
    assert not [n for n in answer.notes if n.kind in ("degraded", "failed", "scope")]
    assert answer.usage.pages == 4


async def test_an_engine_that_is_down_is_not_asked_again(settings: Settings, engine: SearchServer) -> None:
    engine.otherwise(lambda _: BAD_ENGINES["key"][0])
    asked: list[int] = []
    made = with_web(engine, made=build(judge=ScriptedJudge(by_word)))
    async with door(settings, made) as runs:
        run_id = await runs.start(QUESTION, RunOptions.of(max_rounds=2, deadline_seconds=20.0))
        events: list[Event] = []
        async for event in runs.events(run_id):
            events.append(event)
            if event.kind == "again":
                asked.append(len(engine.requests))
        answer = await runs.answer(run_id)
    assert asked
    assert asked[0] == len(engine.requests) > 0
    assert len(notes(answer, "degraded")) == 1


async def test_of_two_queries_the_one_that_hangs_does_not_keep_the_other_from_its_pages(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.on("evidence that", Trouble(hang=5))
    engine.on("Towns should build bridges", [])
    engine.otherwise(lambda query: two_sides(site) if "not" not in query else [])
    made = with_web(engine, engine_seconds=5.0)
    async with door(settings, made) as runs:
        answer = await run(runs, max_rounds=1, deadline_seconds=4.0)
    assert answer.outcome == "answered"
    assert any(c.collection == WEB for c in answer.citations)
    assert notes(answer, "degraded") == ["The web search failed: tavily did not answer in time."]


async def test_where_the_web_fails_what_the_collection_had_still_counts(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    class Failing:
        async def encode_passages(self, texts: list[str]) -> Any:
            raise ProviderDownError("the encoder is away.")

    def building(settings: Settings, store: Store) -> Providers:
        providers = with_web(engine, ScriptedJudge(for_it))(settings, store)
        assert isinstance(providers.web, WebSearch)
        failing: Any = Failing()
        return replace(providers, web=replace(providers.web, models=failing))

    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, building) as runs:
        answer = await run(runs)
    assert answer.outcome == "answered"
    assert {c.collection for c in answer.citations} == {SAMPLES}
    assert notes(answer, "degraded") == ["The web search failed: the encoder is away."]


async def test_the_budget_of_calls_ends_the_searches(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site))
    always = ScriptedJudge(for_it)
    async with door(settings, with_web(engine, always)) as runs:
        answer = await run(runs, max_calls=0)
    assert not engine.requests
    assert answer.outcome == "answered"
    assert any("budget" in n.text for n in answer.notes)


# The pages' bad days


async def test_pages_that_cannot_be_read_are_named_once_with_their_reason(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    site.login_wall("/login")
    site.endless("/large")
    site.redirect_loop("/loop")
    bad = [at(site, "bad.example", p) for p in ("/login", "/large")]
    secret = at(site, "private.example", "/secret")
    report = site.pdf("/report.pdf", [prose(3, sentences=10)], title="A report").replace("127.0.0.1", "agency.example")
    engine.otherwise(lambda _: [Found(u) for u in (*bad, secret, report, two_sides(site, 1)[0].url)])
    async with door(settings, with_web(engine)) as runs:
        answer = await run(runs)
    [note] = notes(answer, "skipped")
    assert note.startswith("3 web pages could not be read: ")
    for url, why in zip((*bad, secret), ("login", "too large", "not public"), strict=True):
        assert note.count(url) == 1
        assert why in note
    assert {c.title for c in answer.citations} >= {"A report"}
    assert answer.usage.pages == 2
    assert not notes(answer, "failed")


async def test_slow_pages_end_in_time_with_what_was_read(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    site.hang("/hang")
    site.drip("/drip")
    slow = [at(site, f"slow{i}.example", p) for i, p in enumerate(("/hang", "/drip"))]
    engine.otherwise(lambda _: [*(Found(u) for u in slow), *two_sides(site)])
    began = time.monotonic()
    async with door(settings, with_web(engine, page_seconds=30)) as runs:
        answer = await run(runs, deadline_seconds=2.0, max_rounds=1)
    assert time.monotonic() - began < 2.5
    assert answer.outcome == "answered"
    assert {c.collection for c in answer.citations} == {WEB}
    [note] = notes(answer, "skipped")
    assert all(f"{u} (took too long)" in note for u in slow)


async def test_a_web_that_has_only_bad_pages_leaves_the_collection(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.otherwise(lambda _: [Found(at(site, f"bad{i}.example", f"/missing{i}")) for i in range(20)])
    always = ScriptedJudge(for_it)
    async with door(settings, with_web(engine, always, required=True)) as runs:
        answer = await run(runs)
    assert answer.outcome == "answered"
    assert {c.collection for c in answer.citations} == {SAMPLES}
    [note] = notes(answer, "skipped")
    assert "more" in note


async def test_a_cancelled_run_leaves_nothing_running(
    settings: Settings, engine: SearchServer, site: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    site.hang("/hang")
    engine.otherwise(lambda _: [Found(at(site, "slow.example", "/hang")), *two_sides(site)])
    async with door(settings, with_web(engine, page_seconds=30)) as runs:
        run_id = await runs.start(QUESTION)
        async with asyncio.timeout(5):
            while asked_for(site).total() < 5:
                await asyncio.sleep(0.01)
        await runs.cancel(run_id)
        await asyncio.sleep(0.1)
        assert not [t for t in asyncio.all_tasks() if "websearch" in repr(t.get_coro())]
    assert not [r for r in caplog.records if r.name == "asyncio"]
