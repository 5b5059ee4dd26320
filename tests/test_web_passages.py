"""Passages of web pages: kept with their run, found by ids below zero, copies known, bounded."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select
from web_fixtures import prose

from agent.runs.store import RunStore
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.run_passages import WebPage
from tools.store.schema import web_documents
from tools.store.store import Store

pytestmark = pytest.mark.both_stores


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "data.db")
    yield made
    made.close()


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


def page(
    url: str, *passages: str, text: str = "", publisher: str = "", title: str = "A title", owner: str = ""
) -> WebPage:
    source = SourceDocument(url, text or " ".join(passages), title, url, publisher, "news", "2026-03-12", owner=owner)
    return WebPage(
        source, tuple(map(PassageText, passages)), np.arange(len(passages) * 4, dtype=np.float32).reshape(-1, 4)
    )


def test_a_page_is_kept_once_a_run(store: Store) -> None:
    mine = page("https://a.example/1", "One.", "Two.")
    first = store.web.put("r", [mine, mine])
    again = store.web.put("r", [mine])
    other = store.web.put("another", [mine])
    assert again.ids == first.ids
    assert [len(put.new) for put in (first, again, other)] == [1, 0, 1]
    assert not set(first.ids[mine.source.url]) & set(other.ids[mine.source.url])


def test_copies_are_of_one_source_whichever_of_their_passages_is_asked_about(store: Store) -> None:
    text = prose(1, sentences=20)
    dressed = f"From our correspondent. {prose(2, sentences=4)} {text} Read on in tomorrow's issue."
    store.web.put("r", [page("https://a.example/1", text[:300], text=text, publisher="Alpha Wire")])
    store.web.put(
        "r",
        [
            page("https://b.example/1", text[300:600], text=dressed, publisher="Beta"),
            page("https://c.example/1", text[600:900], text=text.replace("ferry", "boat"), publisher="Gamma"),
            page("https://d.example/1", prose(3), text=prose(3, sentences=20), publisher="Delta"),
        ],
    )
    passages = store.passages(range(-4, 0)).values()
    assert {p.publisher: p.source for p in passages} == {
        "Alpha Wire": "alpha wire",
        "Beta": "alpha wire",
        "Gamma": "alpha wire",
        "Delta": "delta",
    }


def test_a_deleted_run_takes_its_pages_with_it_and_no_others(database: Database, store: Store) -> None:
    runs = RunStore(database)
    runs.create("r", "r", "Why?", {}, "me")
    store.web.put("r", [page("https://a.example/1", "One.")])
    store.web.put("another", [page("https://a.example/1", "One.")])
    runs.delete("r")
    assert set(store.passages([-1, -2])) == {-2}
    assert [row.run_id for row in database.rows(select(web_documents.c.run_id))] == ["another"]
    fresh = store.web.put("r", [page("https://a.example/2", "Two.")])
    assert fresh.ids == {"https://a.example/2": [-3]}  # ids are never used again


def test_a_site_of_many_names_is_one_source(store: Store) -> None:
    text = "The ferry pays for itself within nine years, as the harbour master has worked out."
    pages = [
        page("https://a.example.net/1", text, publisher="BBC News, example.net", owner="example.net"),
        page("https://b.example.net/2", "Nobody asked the islanders.", publisher="Daily Hill", owner="example.net"),
        page("https://c.example.org/3", f"{text} Copied.", publisher="Daily Dale", owner="example.org"),
    ]
    kept = store.web.put("r", pages)
    passages = store.passages(i for ids in kept.ids.values() for i in ids)
    assert {p.source for p in passages.values()} == {"example.net"}
