"""Whole runs with the live web: what the answer makes of pages, what stays of them, and what the web's bad days do."""

import time
from typing import Any

from agent_fixtures import QUESTION, door
from providers import ScriptedJudge, build
from search_servers import Found, SearchServer, Trouble
from web_fixtures import at, by_word, prose, publish, with_web
from web_server import WebServer

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings
from tools.models.judges.judge import Pair
from tools.passages import WEB
from tools.store.store import SAMPLES


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


def covered(answer: Answer) -> list[tuple[str, int, int]]:
    return [(c.status, c.passages, c.sources) for c in answer.coverage]


# A good day


async def test_web_passages_are_judged_and_cited(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    page = publish(site, "gazette.example", "/a", prose(9), title="On it", publisher="The Gazette", date="2026-03-12")
    engine.otherwise(lambda _: [Found(page), *two_sides(site)])
    judge = ScriptedJudge(by_word)
    async with door(settings, with_web(engine, judge)) as runs:
        answer = await run(runs)
    assert answer.outcome == "answered"
    [cited] = [c for c in answer.citations if c.url == page]
    assert (cited.publisher, cited.date, cited.title) == ("The Gazette, gazette.example", "2026-03-12", "On it")
    assert (cited.collection, cited.document_id, cited.sample) == (WEB, page, False)
    assert cited.passage_id < 0
    assert cited.quote.split(".")[0][-20:] in prose(9)
    assert {c.collection for c in answer.citations} == {WEB}  # nothing in the collection says 'help' or 'harm'
    assert [line[0] for line in covered(answer)] == ["supported", "supported"]
    assert answer.usage.pages == 5
    assert answer.usage.calls == len(engine.requests) == 2
    assert answer.providers["web"] == "tavily"
    assert not [n for n in answer.notes if n.kind in ("degraded", "failed")]
    assert any(prose(9)[:60] in pair.text for pair in judge.pairs)


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
    assert later.outcome == "no_sides"


async def test_without_the_web_nothing_is_sent(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site))
    async with door(settings, with_web(engine, required=True)) as runs:
        answer = await run(runs, web=False, max_rounds=2)
        nothing = await run(runs, pages=0, max_rounds=2)
    assert not engine.requests
    assert not site.requests
    assert not site.connections
    assert answer.usage.calls == answer.usage.pages == nothing.usage.pages == 0
    assert "web" not in answer.providers


async def test_a_second_search_asks_only_the_web(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: two_sides(site)[::2])
    searched: list[str] = []
    made = build(ScriptedJudge(for_it), before_search=searched.append)
    async with door(settings, with_web(engine, made=made)) as runs:
        answer = await run(runs, max_rounds=1)
    assert [c.status for c in answer.coverage] == ["supported", "not_found"]
    assert len(searched) == 3  # the question, and each side
    assert len(engine.requests) > 2  # each side, and what the second search asks for one of them


# The engine's bad days


async def test_a_run_goes_on_without_an_engine_that_fails_and_says_so(settings: Settings, engine: SearchServer) -> None:
    engine.otherwise(lambda _: Trouble(hang=True))
    began = time.monotonic()
    one_sided = ScriptedJudge(for_it)
    async with door(settings, with_web(engine, one_sided, engine_seconds=0.3)) as runs:
        answer = await run(runs, max_rounds=1, deadline_seconds=6.0)
    assert time.monotonic() - began < 20
    assert answer.outcome == "answered"
    assert {c.collection for c in answer.citations} == {SAMPLES}
    [note] = notes(answer, "degraded")
    assert note.startswith("The web search failed: ")
    assert "did not answer in time" in note
    assert not notes(answer, "failed")


# The pages' bad days


async def test_unread_pages_are_named_with_a_reason(settings: Settings, engine: SearchServer, site: WebServer) -> None:
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
