"""`python -m agent migrate-store`: a SQLite store and its checkpoints copied into a real Postgres server."""

import asyncio
import hashlib
import io
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from instant_providers import InstantEncoder, instant_providers
from postgres_places import PostgresServer
from sqlalchemy import insert, select

from agent.answer.ballots import Ballots
from agent.answer.corrections import ALSO, Corrections
from agent.options import RunOptions
from agent.runs.job_table import JobState, JobTable, Sent
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.runs.threads import ThreadStore
from agent.settings import Settings
from api.callers import CallerRuns, Keys
from tools.errors import StoreError
from tools.passages import PassageText, SourceDocument
from tools.store import schema
from tools.store.database import Database
from tools.store.hybrid import HybridSearch
from tools.store.run_passages import WebPage
from tools.store.store import PreparedDocument, Store

psycopg = pytest.importorskip("psycopg")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KILLS = 10
QUESTION = "Should the town build a bridge?"


@pytest.fixture
def address(postgres: PostgresServer, tmp_path: Path) -> str:
    """An empty database."""
    return postgres.place_of(tmp_path / "name")


def prepared(name: str, *texts: str) -> PreparedDocument:
    passages = tuple(PassageText(text) for text in texts)
    return PreparedDocument(SourceDocument(name, "text", title="T\0"), passages, InstantEncoder().encode(texts))


async def fill(folder: Path) -> tuple[str, str]:
    """A store with rows in every table. Returns the ids of a finished run and of one that waits for its sides."""
    async with Runs(Settings(data_dir=folder), instant_providers) as runs:
        done = await runs.start(QUESTION, RunOptions.of(web=False))
        answer = await runs.answer(done)
        waiting = await runs.start(QUESTION, RunOptions.of(web=False, review=True))
        async for _ in runs.events(waiting):
            pass
        database, store = runs.database, runs.store
        store.set_note("noted", "a\0b")
        store.store_id()
        number = store.ensure_collection("mine", "instant")
        store.put(number, [prepared(f"m{n}", f"Bees dance {n}.\0", f"They sing {n}.") for n in range(450)])
        await asyncio.to_thread(runs.providers.search.refresh)
        store.put(number, [prepared("last", "It goes.")])
        store.delete_document("mine", "last")
        store.delete_document("mine", "m3")
        store.add_sentence_vectors({1: np.ones((2, 4), np.float32)}, "instant")
        page = SourceDocument("https://a.example/", "text", title="Page")
        store.web.put(done, [WebPage(page, (PassageText("On the web."),), np.ones((1, 4), np.float32))])
    Corrections(database).add(done, ALSO, "ann", text=answer.perspectives[0].claims[0].text)
    key, _ = Keys(database).make("ann")
    with database.write() as db:
        CallerRuns(database).record(key.id, "once", db, done)
    state = JobState(id="j0123456789ab", collection="mine")
    JobTable(database).add(key.id, state, Sent(), [io.BytesIO(b"{}")], 9)
    ThreadStore(database, "ann").name_thread(done, "Bridges")
    ballots = Ballots(database)
    ballots.add(QUESTION, answer, [], 1)
    ballots.vote(ballots.drawn_for("v")[0], "v", {}, "why\0not")
    with database.write() as db:
        row = {"passage_id": 1, "run_id": waiting, "passage": "[]", "vector": b"\0\xff"}
        db.execute(insert(schema.run_passages).values(row))
        db.execute(insert(schema.api_rates).values({"name": "ann 60/minute", "window": 1, "requests": 2}))
    database.close()
    return done, waiting


def tables_of(place: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables in the order of their keys. Last ids stand in `meta` of Postgres alone."""
    found = {}
    with closing(Database(place)) as database:
        for table in schema.metadata.sorted_tables:
            rows = database.rows(select(table).order_by(*table.primary_key.columns))
            found[table.name] = [
                tuple(v.replace("\0", "\ufffd") if isinstance(v, str) else v for v in row)
                for row in rows
                if not str(row[0]).startswith("last of ")
            ]
    return found


def digest(address: str) -> str:
    """Of every row of every table, LangGraph's included."""
    with psycopg.connect(address.replace("+psycopg", "")) as connection:
        names = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        rows = [
            (name, sorted(str(row) for row in connection.execute(f"SELECT t::text FROM {name} t")))
            for (name,) in connection.execute(names).fetchall()
        ]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def command(folder: Path, address: str) -> "subprocess.Popen[str]":
    env = os.environ | {"STEELMAN_DATA_DIR": str(folder), "STEELMAN_DATABASE_URL": address}
    arguments = [sys.executable, "-m", "agent", "migrate-store"]
    return subprocess.Popen(arguments, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def begun(folder: Path, address: str) -> "subprocess.Popen[str]":
    """The command, once it copies."""
    process = command(folder, address)
    assert process.stderr is not None
    assert process.stderr.readline() == "Copying. If it is stopped, the same command goes on.\n"
    return process


def migrated(folder: Path, address: str, status: int = 0) -> str:
    process = command(folder, address)
    said, trouble = process.communicate(timeout=300)
    assert process.returncode == status, said + trouble
    assert "Traceback" not in trouble
    return said + trouble


async def test_a_copied_store_goes_on(tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture) -> None:
    done, waiting = await fill(tmp_path / "data")
    before = tables_of(tmp_path / "data" / "steelman.db")
    assert all(before.values()), [name for name, rows in before.items() if not rows]
    assert "all rows were compared" in migrated(tmp_path / "data", address)
    assert tables_of(address) == before == tables_of(tmp_path / "data" / "steelman.db")
    with closing(Database(tmp_path / "data" / "steelman.db")) as old, closing(Database(address)) as new:
        assert Store(new).changes.size() == Store(old).changes.size()
        search = HybridSearch(Store(new), tmp_path / "data" / "index", InstantEncoder())
        assert search.search("They sing 7.", InstantEncoder().encode(["They sing 7."])[0], ["mine"], 5)
        search.close()
    assert "made again" not in caplog.text  # the indexes are used as they are
    async with Runs(Settings(data_dir=tmp_path / "data", database_url=address), instant_providers) as runs:
        assert (await runs.retrieved(done)).run_id == done
        sides = (await runs.recent_events(waiting))[-1].data["sides"]
        await runs.resume(waiting, sides)
        assert (await runs.answer(waiting)).outcome == "answered"
        assert (await runs.answer(await runs.start(QUESTION, RunOptions.of(web=False)))).outcome == "answered"
        number = runs.store.ensure_collection("mine", "instant")
        last, _ = runs.store.changes.last()
        runs.store.put(number, [prepared("new", "It is new.")])
        assert runs.store.changes.last()[0] == last + 1  # a deleted passage's id is not given again
        assert await asyncio.to_thread(runs.store.delete_document, "mine", "m5") == 2
    assert "has documents or runs already" in migrated(tmp_path / "data", address, 1)


async def test_kills_at_any_moment_change_nothing(tmp_path: Path, postgres: PostgresServer, address: str) -> None:
    await fill(tmp_path / "data")
    whole, chance = postgres.place_of(tmp_path / "whole"), random.Random(5)
    process, began = begun(tmp_path / "data", whole), time.monotonic()
    assert process.wait(timeout=300) == 0
    process.communicate()
    seconds, met = time.monotonic() - began, 0
    while met < KILLS:
        process = begun(tmp_path / "data", address)
        time.sleep(chance.uniform(0, 0.5) * seconds)
        process.kill()
        process.communicate()
        with closing(psycopg.connect(address.replace("+psycopg", ""))) as connection:
            [(revision,)] = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        if revision != schema.REVISION:
            met += 1
            with pytest.raises(StoreError, match="migrate-store` again"):
                Database(address)
        else:  # it was faster: the next one copies anew
            assert digest(address) == digest(whole)
            address = postgres.place_of(tmp_path / f"after {met}")
    process = begun(tmp_path / "data", address := postgres.place_of(tmp_path / "last"))
    process.kill()
    process.communicate()
    with closing(Database(tmp_path / "data" / "steelman.db")) as source:  # it may go on meanwhile
        Store(source).delete_document("mine", "m7")
        Store(source).put(Store(source).collection("mine")[0], [prepared("m7", "Another text.")])
    another = Settings(data_dir=tmp_path / "another")
    Database(another.database_path).close()
    assert "unfinished copy of a store" in migrated(another.data_dir, address, 1)
    migrated(tmp_path / "data", address)
    fresh = postgres.place_of(tmp_path / "fresh")
    migrated(tmp_path / "data", fresh)
    assert digest(address) == digest(fresh)
    assert tables_of(address) == tables_of(tmp_path / "data" / "steelman.db")


def test_a_stopped_copy_says_how_to_go_on(tmp_path: Path, address: str) -> None:
    asyncio.run(fill(tmp_path / "data"))
    Database(address).close()
    with closing(psycopg.connect(address.replace("+psycopg", ""))) as holder:
        holder.execute("LOCK TABLE passages IN EXCLUSIVE MODE")  # the copy cannot end before it is stopped
        process = begun(tmp_path / "data", address)
        process.send_signal(signal.SIGINT)
        _, trouble = process.communicate(timeout=60)
    assert process.returncode == 130, trouble
    assert trouble.strip() == "Stopped."
    with pytest.raises(StoreError, match="unfinished copy"):
        Database(address)
    migrated(tmp_path / "data", address)


def test_what_cannot_be_copied_is_told(tmp_path: Path, address: str) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    assert "there is no" in migrated(settings.data_dir, address, 2)
    assert "STEELMAN_DATABASE_URL is not set" in migrated(settings.data_dir, "", 2)
    with closing(Database(settings.database_path)) as source:
        RunStore(source).create("busy", "busy", QUESTION, {}, "me")
        assert "run busy is at work" in migrated(settings.data_dir, address, 1)
        RunStore(source).release("me")
    migrated(settings.data_dir, address)
