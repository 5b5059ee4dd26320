"""Kinds of sources in whole runs: which are asked, what the answer rests on, and what one that fails costs."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agent_fixtures import QUESTION, door
from model_server import ModelServer
from played_sources import ITEMS, SOURCES, listed, reply_of
from providers import ScriptedJudge, build
from pydantic import SecretStr
from search_servers import Found, SearchServer
from toy_sources import ToyServer, ToySource
from web_fixtures import asked_for, at, by_word, prose, publish, with_web
from web_server import WebServer

from agent.answer.files import to_html, to_markdown
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.answer.summary import summary_of
from agent.answer.wording import evidence_counts
from agent.commands.ask import exit_status
from agent.evidence.cases import _pick
from agent.options import RunOptions
from agent.providers.from_settings import build_sources
from agent.runs.bootstrap import default_options
from agent.runs.service import Runs
from agent.settings import Settings
from agent.stage_interfaces import SentenceScores
from agent.stages.retrieve import _search_web
from tools.budget import Budget, StageLog, budget_scope
from tools.errors import RunError, SettingsError
from tools.language.quotable import QuotablePart
from tools.passages import EVIDENCE_KINDS, Passage
from tools.selection import independent_first
from tools.web import keyword_source
from tools.web.source import SourceResult

SLOWLY: dict[str, Any] = {"engine_seconds": 5.0, "page_seconds": 20.0}


@pytest.fixture
def toys() -> Iterator[ToyServer]:
    with ToyServer() as running:
        yield running


def study(number: int, word: str, **more: str) -> dict[str, str]:
    named = {"title": f"Study {number}", "venue": f"Journal {number}", "author": f"A. Lee{number}", "date": "2021"}
    return {"url": f"https://doi.example/10.1/{number}", "text": prose(number, word)} | named | more


def post(number: int, word: str) -> dict[str, str]:
    named = {"title": f"Thread {number}", "author": f"user{number}", "venue": "Talk", "date": "2025-03-01"}
    return {"url": f"https://talk.example/item?id={number}", "text": prose(number, word)} | named


async def run(runs: Runs, question: str = QUESTION, **options: Any) -> Answer:
    return await runs.answer(await runs.start(question, RunOptions.of(**{"max_rounds": 0, **options})))


def notes(answer: Answer, *kinds: str) -> list[str]:
    return [n.text for n in answer.notes if n.kind in kinds]


def kinds_cited(answer: Answer) -> set[str]:
    return {c.evidence_kind for c in answer.citations}


async def test_each_kind_is_searched_and_the_answer_says_what_it_rests_on(
    settings: Settings, engine: SearchServer, site: WebServer, toys: ToyServer
) -> None:
    engine.otherwise(lambda _: [Found(publish(site, "gazette.example", "/a", prose(1), publisher="The Gazette"))])
    studies = toys.source("papers", "studies", study(10, "help"), study(11, "harm"))
    posts = toys.source("forum", "discussion", post(20, "help"), post(21, "harm"))
    async with door(settings, with_web(engine, **SLOWLY, beside=(studies, posts))) as runs:
        answer = await run(runs)
    assert toys.asked == {"papers": 2, "forum": 2}  # each side
    assert answer.kinds == ["web", "studies", "discussion", "mine"]
    assert answer.summary.endswith(" It rests on 2 studies, 2 forum posts and 1 web page.")
    assert summary_of(answer) == answer.summary
    assert not notes(answer, "failed", "degraded", "skipped")
    assert (answer.usage.pages, answer.providers["web"]) == (1, "forum, papers, tavily")
    assert not [r for r in site.requests if r.path != "/a"]  # a text that a source gives whole is not fetched
    [cited] = [c for c in answer.citations if c.title == "Study 10"]
    assert (cited.venue, cited.extent, cited.date, cited.kind) == ("Journal 10", "abstract", "2021", "study")
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    for told in (to_terminal(answer, 200, bold=False, explain=True), to_markdown(answer), to_html(answer)):
        assert "Journal 10, study (abstract), 2021" in told
        assert "Talk, forum post, " in told
        assert "quoted 5: 2 studies, 2 forum posts and 1 web page." in told


async def test_a_side_of_one_kind_says_so(settings: Settings, engine: SearchServer, toys: ToyServer) -> None:
    engine.otherwise(lambda _: [])
    studies = toys.source("papers", "studies", study(10, "help"), study(11, "help"), study(12, "harm"))
    posts = toys.source("forum", "discussion", post(20, "harm"))
    async with door(settings, with_web(engine, **SLOWLY, beside=(studies, posts))) as runs:
        answer = await run(runs)
        alone = await run(runs, sources=("studies",))
    assert [evidence_counts(answer, side).rpartition("2 sources")[2] for side in answer.perspectives] == [
        ", all studies",
        "",
    ]
    assert evidence_counts(alone, alone.perspectives[0]).endswith(" from 2 sources")
    assert "rests on" not in alone.summary  # nothing else was searched


async def test_only_the_chosen_kinds_are_searched(settings: Settings, engine: SearchServer, toys: ToyServer) -> None:
    searched: list[str] = []
    made = build(ScriptedJudge(by_word), before_search=searched.append)
    studies, posts = toys.source("papers", "studies", study(1, "help")), toys.source("forum", "discussion")
    async with door(settings, with_web(engine, made=made, **SLOWLY, beside=(studies, posts))) as runs:
        answer = await run(runs, sources=("studies", "news"))
        assert not searched  # without 'mine' the collections are not searched
        own = await run(runs, sources=("mine",))
        with pytest.raises(SettingsError, match=r"can be searched: news\. STEELMAN_SOURCES turns"):
            await runs.start(QUESTION, RunOptions.of(sources=("news",)))
    assert not engine.requests
    assert not toys.asked["forum"]
    assert [d.title for d in answer.documents] == ["Study 1"]
    assert notes(answer, "skipped") == ["Not searched, since no source of the kind is on: news."]
    assert searched
    assert (kinds_cited(own), own.kinds, notes(own, "skipped")) <= ({"mine"}, [], [])


async def test_own_documents_that_the_sources_leave_out_are_named(settings: Settings, toys: ToyServer) -> None:
    options = RunOptions.of(sources=("studies",), collections=("votes", "minutes"))
    async with door(settings, build(ScriptedJudge(by_word))) as runs:
        told = [*runs.providers.not_asked(options)]
        with_own = [*runs.providers.not_asked(replace(options, sources=("studies", "mine")))]
    left_out = "Your documents (votes, minutes) were not read: 'mine' is not among the sources."
    assert (told[0], left_out in with_own) == (left_out, False)


async def test_results_before_a_day_are_left_out(settings: Settings, engine: SearchServer, toys: ToyServer) -> None:
    old, new = study(1, "help") | {"date": "2019-05-02"}, study(2, "help") | {"date": "2026"}
    studies = toys.source("papers", "studies", old, new)
    async with door(
        settings, with_web(engine, made=build(ScriptedJudge(by_word)), **SLOWLY, beside=(studies,))
    ) as runs:
        both = await run(runs, sources=("studies",))
        since = await run(runs, sources=("studies",), since="2020-01-31")
        with pytest.raises(SettingsError, match="'since' cannot be 'May': a day looks like 2025-01-31"):
            RunOptions.of(since="May")
    assert [sorted(d.title for d in a.documents) for a in (both, since)] == [["Study 1", "Study 2"], ["Study 2"]]


async def test_a_question_of_fact_is_looked_up_in_the_chosen_kinds(
    settings: Settings, engine: SearchServer, toys: ToyServer
) -> None:
    told = "The stone bridge of Xaver cost 412,000 crowns in 1912. " + prose(3)
    studies = toys.source("papers", "studies", study(1, "help", text=told))
    async with door(settings, with_web(engine, **SLOWLY, beside=(studies,))) as runs:
        answer = await run(runs, "How much did the stone bridge of Xaver cost?", sources=("studies",))
    assert "412,000" in answer.also[0].text
    assert answer.citations[0].extent == "abstract"


@pytest.mark.parametrize(
    ("sources", "kinds", "told"),
    [
        ((), [], []),
        (("mine", "studies"), ["studies", "mine"], []),
        (("studies", "news"), ["studies"], ["Not searched, since no source of the kind is on: news."]),
    ],
)
async def test_a_question_of_fact_names_the_kinds_that_it_searched(
    settings: Settings, engine: SearchServer, toys: ToyServer, sources: Any, kinds: list[str], told: list[str]
) -> None:
    bridge = "The stone bridge of Xaver cost 412,000 crowns in 1912. " + prose(3)
    studies = toys.source("papers", "studies", study(1, "help", text=bridge))
    async with door(settings, with_web(engine, **SLOWLY, beside=(studies,))) as runs:
        answer = await run(runs, "How much did the stone bridge of Xaver cost?", sources=sources)
    assert (answer.kinds, notes(answer, "skipped")) == (kinds, told)
    assert ("412,000" in answer.also[0].text) == bool(sources)


@pytest.mark.parametrize(
    ("options", "why"),
    [({"web": False}, "nothing is to leave this machine"), ({"domains": ("gov.uk",)}, "Domains limit the kind 'web'")],
)
async def test_kinds_that_other_options_exclude(
    settings: Settings, engine: SearchServer, toys: ToyServer, options: dict[str, Any], why: str
) -> None:
    async with door(settings, with_web(engine, beside=(toys.source("papers", "studies"),))) as runs:
        with pytest.raises(SettingsError, match=f"can be searched: studies. .*{why}"):
            await runs.start(QUESTION, RunOptions.of(sources=("studies",), **options))


def test_a_follow_up_that_names_collections_searches_them(settings: Settings) -> None:
    opened: Any = SimpleNamespace(settings=settings, providers=SimpleNamespace(remotes=()))
    before: Any = SimpleNamespace(options=RunOptions.of(urls=("https://a.example/",), sources=("studies",)).to_dict())
    assert default_options(opened, before=before, collections=("own",)).own_collections == ("own",)
    assert default_options(opened, before=before).urls


@pytest.mark.parametrize(("words", "extent"), [(180, "full text"), (20, "abstract")])
async def test_an_open_copy_of_a_study_is_read_if_it_is_the_full_text(
    settings: Settings, engine: SearchServer, site: WebServer, toys: ToyServer, words: int, extent: str
) -> None:
    copy = publish(site, "archive.example", "/copy", prose(5, "help", words), title="Archive: Study 1")
    studies = toys.source("papers", "studies", study(1, "help", open_url=copy))
    async with door(settings, with_web(engine, **SLOWLY, beside=(studies,))) as runs:
        answer = await run(runs, sources=("studies",))
    [cited] = answer.citations
    assert (cited.title, cited.venue, cited.url) == ("Study 1", "Journal 1", "https://doi.example/10.1/1")
    assert cited.extent == extent
    assert (cited.quote in prose(5, "help", words)) == (extent == "full text")
    assert answer.usage.pages == (extent == "full text")
    assert not notes(answer, "skipped", "failed")  # the abstract counts
    assert asked_for(site) == {"/copy": 2 if words == 20 else 1} or asked_for(site) == {"/copy": 1}


# Bad days


async def test_a_source_that_fails_costs_one_note(settings: Settings, engine: SearchServer, toys: ToyServer) -> None:
    engine.otherwise(lambda _: [])
    studies = toys.source("papers", "studies", study(10, "help"), study(11, "harm"))
    posts = toys.source("forum", "discussion", post(20, "help"))
    toys.down.add("forum")
    async with door(settings, with_web(engine, **SLOWLY, beside=(posts, studies))) as runs:
        answer = await run(runs, max_rounds=1)
    assert notes(answer, "failed", "degraded", "late", "skipped") == ["One source failed: Forum failed (status 500)."]
    assert kinds_cited(answer) == {"studies"}
    assert exit_status(answer) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("quick_retries")
async def test_a_source_that_hangs_leaves_time_for_the_others(
    settings: Settings, engine: SearchServer, site: WebServer, toys: ToyServer
) -> None:
    engine.otherwise(lambda _: [Found(publish(site, "gazette.example", "/a", prose(1)))])
    kinds: tuple[tuple[str, Any], ...] = (("papers", "studies"), ("press", "news"), ("wiki", "encyclopedia"))
    more = [toys.source(name, kind, study(n, "harm")) for n, (name, kind) in enumerate(kinds)]
    more.append(toys.source("forum", "discussion", seconds=60.0))
    toys.hangs.add("forum")
    began = time.monotonic()
    async with door(settings, with_web(engine, page_seconds=20.0, engine_seconds=20.0, beside=more)) as runs:
        answer = await run(runs, max_rounds=1, deadline_seconds=12.0)
    assert answer.timings["total"] < 12.5
    assert time.monotonic() - began < 30
    assert kinds_cited(answer) >= {"studies"}
    [note] = notes(answer, "failed", "degraded", "late")
    assert note == "One source failed: Forum did not answer in time."


@pytest.mark.slow
async def test_a_search_that_fails_names_each_source_that_failed(
    settings: Settings, engine: SearchServer, toys: ToyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.providers.websearch._ASKING", 1.0)  # the sources may use the whole time
    given: tuple[tuple[str, Any], ...] = (("papers", "studies"), ("press", "news"), ("forum", "discussion"))
    named: list[Any] = [toys.source(name, kind, study(n, "harm"), seconds=60.0) for n, (name, kind) in enumerate(given)]
    toys.down.add("press")
    toys.hangs.update(("papers", "forum"))
    async with door(settings, with_web(engine, **SLOWLY, beside=named)) as runs:
        answer = await run(runs, sources=("studies", "news", "discussion", "mine"), deadline_seconds=6.0)
    assert sorted(notes(answer, "failed", "degraded", "late")) == [
        "One source failed: Forum did not answer in time.",
        "One source failed: Papers did not answer in time.",
        "One source failed: Press failed (status 500).",
    ]


async def test_a_source_that_was_down_before_is_not_called_late(
    settings: Settings, engine: SearchServer, toys: ToyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.providers.websearch._ASKING", 1.0)
    given: tuple[tuple[str, Any], ...] = (("papers", "studies"), ("press", "news"))
    named: list[Any] = [toys.source(name, kind, study(n, "harm"), seconds=60.0) for n, (name, kind) in enumerate(given)]
    toys.hangs.add("papers")
    monkeypatch.setattr("agent.stages.retrieve.run_id", lambda: "r")
    state: Any = {"counts": {}, "share": 1, "queries": ["ferry"]}
    async with door(settings, with_web(engine, **SLOWLY, beside=named)) as runs:
        with budget_scope(Budget(deadline_at=time.time() + 2), StageLog(down={"press"})):
            found = await _search_web(runs.providers, state, RunOptions.of(sources=("studies", "news")))
    assert [*found.problems] == ["papers"]


class Broken(ToySource):
    """A source of a package that is not well made."""

    async def search(self, *asked: Any, **more: Any) -> list[Any]:
        return [{"url": 3}]


async def test_a_source_that_answers_nonsense_costs_one_note(
    settings: Settings, engine: SearchServer, toys: ToyServer
) -> None:
    studies = toys.source("papers", "studies", study(10, "help"))
    async with door(settings, with_web(engine, **SLOWLY, beside=(Broken("http://x", "odd", "news"), studies))) as runs:
        answer = await run(runs, sources=("studies", "news"))
    [note] = notes(answer, "failed", "degraded")
    assert note.startswith("One source failed: Odd failed unexpectedly (AttributeError: ")
    assert kinds_cited(answer) == {"studies"}


class Careless(ToySource):
    async def search(self, *asked: Any, **more: Any) -> list[Any]:
        odd: Any = {
            "title": None,
            "snippet": 3,
            "date": "next week",
            "publisher": f"A\x1b[31m{'b ' * 999}",
            "extent": "odd",
        }
        script = SourceResult("javascript://x.example/%0aalert(1)", "A script", "", text=prose(9))
        return [SourceResult("https://x.example/1", text=prose(8), **odd), script]


class Leaking(ToySource):
    async def search(self, *asked: Any, **more: Any) -> list[Any]:
        raise OSError("403 for https://api.example/v1?key=TOP5ECRET, twice")


async def test_what_another_packages_source_gives_is_cleaned_and_its_errors_hold_no_address(
    settings: Settings, engine: SearchServer
) -> None:
    beside = Careless("http://x", "odd", "news"), Leaking("http://x", "leaky", "news")
    async with door(settings, with_web(engine, **SLOWLY, beside=beside)) as runs:
        answer = await run(runs, sources=("news",))
    [document] = answer.documents
    assert (document.url, document.title, document.date) == ("https://x.example/1", "", "")
    assert document.publisher.startswith("A [31mb b")
    assert len(document.publisher) <= 300
    [note] = notes(answer, "failed", "degraded")
    assert note == "One source failed: Leaky failed unexpectedly (OSError: 403 for … twice)."


# Discussions


def replied(*replies: tuple[str, str], **more: str) -> dict[str, str]:
    text = "\n".join(f"Reply by {name}:\n{said}" for name, said in replies)
    return post(20, "help") | {"text": text, "author": ""} | more


async def test_each_reply_in_a_discussion_is_its_authors(
    settings: Settings, engine: SearchServer, toys: ToyServer
) -> None:
    thread = replied(("anna", prose(31, "help")), ("bob", prose(32, "harm")))
    async with door(settings, with_web(engine, **SLOWLY, beside=(toys.source("forum", "discussion", thread),))) as runs:
        answer = await run(runs, sources=("discussion",))
    said = {claim.speaker: claim.text for side in answer.perspectives for claim in side.claims}
    assert {name: words.rpartition(" ")[2] for name, words in said.items()} == {"anna": "helps.", "bob": "harms."}
    assert {c.speaker for c in answer.citations} == {"anna", "bob"}
    assert "Reply by" not in answer.model_dump_json()


async def test_a_page_of_a_discussion_is_not_its_first_authors(
    settings: Settings, engine: SearchServer, site: WebServer, toys: ToyServer
) -> None:
    page = publish(site, "talk.example", "/a", prose(5))
    posts = toys.source("forum", "discussion", {"url": page, "title": "A thread", "author": "first", "text": ""})
    async with door(settings, with_web(engine, **SLOWLY, beside=(posts,))) as runs:
        answer = await run(runs, sources=("discussion",))
    assert [d.author for d in answer.documents] == [""]


# Given pages


async def test_a_page_that_cannot_be_read_is_noted(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    good, login = publish(site, "a.example", "/a", prose(1)), site.login_wall("/login")
    urls = (good, at(site, "b.example", "/login"), at(site, "private.example", "/c"))
    async with door(settings, with_web(engine, **SLOWLY)) as runs:
        answer = await run(runs, urls=urls)
        followed = await run(runs, urls=urls[:1], depth="quick")
        with pytest.raises(RunError, match=r"none of the pages can be read: .*\(a login is asked for\)"):
            await run(runs, urls=urls[1:])
        with pytest.raises(RunError, match=r"the page cannot be read: http\S+ \(status 404\)\. Check the address"):
            await run(runs, urls=(at(site, "a.example", "/none"),))
    assert login
    assert sorted(notes(answer, "skipped")) == [
        f"Not read: {urls[1]} (a login is asked for).",
        f"Not read: {urls[2]} (it leads to an address that is not public).",
    ]
    assert {d.url for d in answer.documents} == {d.url for d in followed.documents} == {good}
    assert (answer.usage.pages, answer.usage.calls, answer.kinds) == (1, 0, [])


async def test_a_question_of_fact_names_no_kind_that_was_not_searched(
    settings: Settings, engine: SearchServer, toys: ToyServer
) -> None:
    studies = toys.source("papers", "studies", study(10, "help"))
    async with door(settings, with_web(engine, **SLOWLY, beside=(studies,))) as runs:
        answer = await run(runs, "How much did the stone bridge of Xaver cost?")
    assert (toys.asked, answer.kinds) == ({}, [])  # the collections alone


async def test_a_question_of_fact_is_looked_up_in_the_given_pages(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    told = ["The stone bridge of Xaver cost 412,000 crowns in 1912.", prose(3)]
    page = publish(site, "a.example", "/a", told)
    async with door(settings, with_web(engine, **SLOWLY, sources=())) as runs:
        answer = await run(runs, "How much did the stone bridge of Xaver cost?", urls=(page,))
    assert "412,000" in answer.also[0].text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"urls": ("example.org",)}, "'urls' cannot be 'example.org': a page's address begins"),
        ({"urls": tuple(f"https://a.example/{i}" for i in range(21))}, "21 pages are too many"),
        ({"sources": ("papers",)}, "'sources' cannot be 'papers': Input should be 'web', 'studies', 'news'"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        RunOptions.of(**options)


# Selection


def passage(number: int, kind: str, publisher: str) -> Passage:
    return Passage(-number, f"https://{number}.example", "web", "…", publisher=publisher, kind=kind)


def test_publishers_count_first_and_then_kinds() -> None:
    found = [passage(1, "news", "A"), passage(2, "news", "A"), passage(3, "news", "B"), passage(4, "study", "C")]
    assert independent_first(found) == [-1, -4, -3, -2]
    one_kind = [replace(p, kind="news") for p in found]
    assert independent_first(one_kind) == [-1, -3, -4, -2]


@pytest.mark.parametrize(("quality", "chosen"), [(0.82, [0, 2]), (0.7, [0, 1])])
def test_a_new_kind_is_quoted_first_if_it_is_about_as_good(quality: float, chosen: list[int]) -> None:
    said = [passage(1, "news", "A"), passage(2, "news", "B"), passage(3, "study", "C")]
    units, all_of, none = [QuotablePart(p, "…", "…", (0,)) for p in said], np.ones(3, bool), np.zeros(3)
    rows, scores = np.zeros((3, 3)), np.array([0.9, 0.85, quality])
    vectors = np.eye(3, dtype=np.float32)
    reading = SentenceScores(
        units, rows, rows, scores, all_of, all_of, all_of, scores, vectors, none.astype(np.float32)
    )
    assert _pick(reading, [None] * 3, 2) == chosen


# All of Steelman's own sources, from the settings


@pytest.mark.slow
@pytest.mark.usefixtures("quick_retries")
async def test_all_sources_of_the_settings_are_searched_in_time(
    settings: Settings, engine: SearchServer, site: WebServer
) -> None:
    engine.otherwise(lambda _: [Found(publish(site, "gazette.example", "/a", prose(1)))])
    paged = {"gdelt": {"url": publish(site, "press.example", "/news", prose(2, "harm"))}}
    keyword_source._turns.clear()
    with ExitStack() as open_servers:
        servers = {name: open_servers.enter_context(ModelServer(strict=False)) for name in SOURCES}
        for name, server in servers.items():
            reply = reply_of(listed(name, ITEMS[name](**paged.get(name, {}))))
            hangs = name == "openalex"
            server.on(lambda body: True, replace(reply, delay=60.0) if hangs else reply, path="")
        chosen = settings.model_copy(
            update={
                "sources": "all",
                **{f"{name}_api_key": SecretStr("key") for name in ("semantic_scholar", "openalex", "stackexchange")},
                "contact": "ann@example.org",
                "source_addresses": ", ".join(f"{name}={server.root}" for name, server in servers.items()),
            }
        )
        sources, unusable = build_sources(chosen)
        for source in sources:
            if isinstance(source, keyword_source.KeywordSource):
                source.pause = 0.0
        assert (sorted(s.name for s in sources), unusable) == (sorted(SOURCES), [])
        async with door(settings, with_web(engine, page_seconds=20.0, engine_seconds=20.0, beside=sources)) as runs:
            answer = await run(runs, max_rounds=1, deadline_seconds=16.0)
        asked = {name: server.requests for name, server in servers.items()}
        assert all(r.body["api_key"] == "key" for r in asked["openalex"])
        assert all(r.body["key"] == "key" for r in asked["stackexchange"])
    assert answer.timings["total"] < 16.5
    assert all(asked.values())
    assert "ann@example.org" in asked["wikipedia"][0].headers["user-agent"]
    assert set(answer.kinds) == set(EVIDENCE_KINDS)
    assert {d.evidence_kind for d in answer.documents} == set(EVIDENCE_KINDS)
    slow = "One source failed: OpenAlex did not answer in time."
    assert notes(answer, "failed", "degraded", "late") == [slow]
