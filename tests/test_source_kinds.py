"""Kinds of sources in whole runs: which are asked, what the answer rests on, and what one that fails costs."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from search_servers import Found, SearchServer
from toy_sources import ToyServer
from web_fixtures import asked_for, at, prose, publish, with_web
from web_server import WebServer

from agent.answer.files import to_html, to_markdown
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.answer.summary import summary_of
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings
from tools.errors import RunError, SettingsError
from tools.passages import Passage
from tools.selection import independent_first


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


def two_sided(made: Any, first: int, count: int = 2) -> list[dict[str, str]]:
    return [made(first + i, word) for i in range(count) for word in ("help", "harm") if i % 2 == (word == "harm")]


async def run(runs: Runs, question: str = QUESTION, **options: Any) -> Answer:
    return await runs.answer(await runs.start(question, RunOptions.of(**{"max_rounds": 0, **options})))


def notes(answer: Answer, *kinds: str) -> list[str]:
    return [n.text for n in answer.notes if n.kind in kinds]


def kinds_cited(answer: Answer) -> set[str]:
    return {c.kind for c in answer.citations}


async def test_each_kind_is_searched_and_the_answer_says_what_it_rests_on(
    settings: Settings, engine: SearchServer, site: WebServer, toys: ToyServer
) -> None:
    page = publish(site, "gazette.example", "/a", prose(1), publisher="The Gazette")
    engine.otherwise(lambda _: [Found(page)])
    studies = toys.source("papers", "studies", study(10, "help"), study(11, "harm"))
    posts = toys.source("forum", "discussion", post(20, "help"), post(21, "harm"))
    async with door(settings, with_web(engine, engine_seconds=5.0, beside=(studies, posts))) as runs:
        answer = await run(runs)
    assert toys.asked == {"papers": 2, "forum": 2}  # each side
    assert answer.kinds == ["web", "studies", "discussion", "mine"]
    assert answer.summary.endswith(" It rests on 2 studies, 2 forum posts and 1 web page.")
    assert summary_of(answer) == answer.summary
    assert not notes(answer, "failed", "degraded", "skipped")
    assert (answer.usage.pages, answer.providers["web"]) == (1, "forum, papers, tavily")
    print(to_terminal(answer, 88, False, explain=True))
    for told in (to_markdown(answer), to_html(answer)):
        print(told[:6000])
    print(answer.model_dump_json(indent=1)[:6000])
