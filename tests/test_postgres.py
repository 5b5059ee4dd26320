"""A real Postgres server instead of the SQLite files: runs, races of processes, and a server that does not answer."""

import asyncio
import io
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from instant_providers import instant_providers
from postgres_places import PostgresServer
from sqlalchemy import select, update

from agent.runs.checkpoints import open_checkpointer
from agent.runs.job_table import JobState, JobTable, Sent
from agent.runs.service import Runs
from agent.runs.store import WORKERS, RunRow, RunStore
from agent.settings import Settings
from api.callers import over_rate
from tools.errors import RunBusyError, SettingsError, StoreError
from tools.passages import PassageText, SourceDocument
from tools.store import schema
from tools.store.database import LIMITS_TURN, Database, take_turn
from tools.store.index import ALL_PASSAGES
from tools.store.notices import open_notices
from tools.store.run_passages import WebPage
from tools.store.store import PreparedDocument, Store

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.slow


@pytest.fixture
def address(postgres: PostgresServer, tmp_path: Path) -> str:
    """An empty database."""
    return postgres.place_of(tmp_path / "name")


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    with closing(Database(address)) as opened:
        yield opened


def race(address: str, work: Callable[[Database, int], object], count: int = 6) -> list[object]:
    """What the works returned or raised, each in a thread with connections of its own, begun at once."""
    results: list[object] = [None] * count
    gate = threading.Barrier(count)

    def one(number: int) -> None:
        with closing(Database(address)) as own:
            gate.wait()
            try:
                results[number] = work(own, number)
            except Exception as exc:  # noqa: BLE001  # the test looks at it
                results[number] = exc

    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


async def test_a_run_is_kept_in_postgres_with_its_checkpoints(address: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=address)
    async with Runs(settings, instant_providers) as runs:
        answer = await runs.answer(await runs.start("Should the town build a bridge?"))
    assert answer.outcome == "answered"
    assert not list(tmp_path.glob("*.db"))
    async with Runs(settings, instant_providers) as runs:
        assert (await runs.run(answer.run_id)).answer == answer
    with psycopg.connect(address.replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT COUNT(*) FROM checkpoints WHERE thread_id = %s", (answer.run_id,)).fetchone()
    assert row is not None
    assert row[0] > 5


def test_a_database_of_the_first_revision_gets_the_later_tables(address: str) -> None:
    with closing(Database(address)) as first, first.write() as db:
        db.exec_driver_sql("DROP TABLE job_files, jobs, api_rates")
        db.exec_driver_sql("ALTER TABLE web_documents DROP COLUMN venue, DROP COLUMN extent")
        db.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    with closing(Database(address)) as upgraded:
        assert upgraded.rows(select(schema.jobs)) == upgraded.rows(select(schema.job_files)) == []


# Races


def test_processes_that_open_an_empty_database_make_it_once(address: str) -> None:
    assert race(address, lambda own, _: own.rows(select(schema.runs))) == [[]] * 6


def test_one_of_many_claims_a_run(address: str, database: Database) -> None:
    RunStore(database).create("r", "r", "Why?", {}, "killed")
    with database.write() as db:
        db.execute(update(schema.runs).values(heartbeat=0))
    told = race(address, lambda own, number: RunStore(own).claim("r", f"owner{number}"))
    assert sorted(str(type(t).__name__) for t in told) == [*["RunBusyError"] * 5, "bool"]


def test_each_waiting_run_gets_one_worker(address: str, database: Database) -> None:
    for number in range(6):
        RunStore(database).create(f"r{number}", f"r{number}", "Why?", {}, WORKERS)
    claimed = race(address, lambda own, number: RunStore(own).claim_next(f"{WORKERS}{number}", []))
    assert {run.id for run in claimed if isinstance(run, RunRow)} == {f"r{number}" for number in range(6)}


async def test_a_new_event_wakes_its_followers_before_they_look_again(
    address: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.store.notices._MISSED_SECONDS", 30.0)
    RunStore(database).create("r", "r", "Why?", {}, "me")
    async with open_notices(address) as notices:
        while notices._seconds != 30.0:  # until it listens
            await asyncio.sleep(0.05)
        change = notices.expect("r")
        began = time.monotonic()
        await asyncio.to_thread(RunStore(database).add_event, "r", "me", "step", {})
        await notices.wait(change)
        assert change.is_set()
        assert time.monotonic() - began < 10


def test_a_file_that_is_being_stored_delays_no_run(address: str, database: Database) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            with closing(Database(address)) as other, other.write() as db:
                db.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
                take_turn(db, LIMITS_TURN)  # as a run that starts
            return super().read(size)

    assert JobTable(database).add("", JobState(collection="mine"), Sent(), [Slow(b"text")], 1)


def test_a_caller_of_many_processes_has_the_most_jobs_once(address: str, database: Database) -> None:
    def add(own: Database, _: int) -> bool:
        return JobTable(own).add("laptop", JobState(collection="mine"), Sent(), [io.BytesIO(b"text")], 2)

    assert sorted(map(bool, race(address, add))) == [False] * 4 + [True] * 2
    assert JobTable(database).open() == len(database.rows(select(schema.job_files.c.job_id))) == 2


def test_a_request_that_waited_for_the_next_window_opens_no_new_one(database: Database) -> None:
    assert over_rate(database, "laptop", 1, 3600) == 0
    with database.write() as db:  # a later request was counted first
        db.execute(update(schema.api_rates).values(window=schema.api_rates.c.window + 1))
    assert over_rate(database, "laptop", 1, 3600) > 0


def test_events_have_numbers_without_gaps(address: str, database: Database) -> None:
    RunStore(database).create("r", "r", "Why?", {}, "me")

    def work(own: Database, number: int) -> None:
        for _ in range(20):
            RunStore(own).add_event("r", "me", "step", {"of": number})

    assert race(address, work) == [None] * 6
    assert [e.number for e in RunStore(database).events("r", 0)] == list(range(1, 122))


def test_a_run_ends_once(address: str, database: Database) -> None:
    for number in range(10):
        run = f"r{number}"
        RunStore(database).create(run, run, "Why?", {}, "me")

        def end(own: Database, who: int, run: str = run) -> bool:
            store = RunStore(own)
            return store.mark_cancelled(run) if who % 2 else store.finish(run, "me", "done", {}, answer="{}")

        assert race(address, end, 4).count(True) == 1
        [_, last] = RunStore(database).events(run, 0)
        assert last.kind == RunStore(database).get(run).status
        with pytest.raises(RunBusyError):
            RunStore(database).add_event(run, "me", "late", {})


def test_a_follower_of_the_passages_misses_none(address: str, database: Database) -> None:
    """An index asks for the last id, then for the passages up to there, and never looks back."""
    store, done = Store(database), threading.Event()
    number = store.ensure_collection("c", "toy")
    seen: set[int] = set()

    def follow() -> None:
        reached, ended = 0, False
        with closing(Database(address)) as own:
            while not ended:
                ended = done.is_set()
                last, _ = Store(own).changes.last()
                seen.update(p.id for _, p in Store(own).scan(reached, 10_000))
                reached = max(last, *seen, 0)

    def fill(own: Database, who: int) -> None:
        for n in range(15):
            Store(own).put(number, [document(f"{who} {n} {k}") for k in range(3)])
            time.sleep(0.001)

    follower = threading.Thread(target=follow)
    follower.start()
    assert race(address, fill, 4) == [None] * 4
    done.set()
    follower.join()
    assert seen == {p.id for _, p in store.scan(0, 10_000)}
    assert len(seen) == 180 * 2


def document(name: str) -> PreparedDocument:
    passages = (PassageText(f"One of {name}."), PassageText(f"Two of {name}."))
    return PreparedDocument(SourceDocument(name, "text"), passages, np.ones((2, 4), np.float32))


def test_the_last_ids_never_go_back(database: Database) -> None:
    store = Store(database)
    number = store.ensure_collection("c", "toy")
    assert store.changes.last() == (0, 0)
    store.put(number, [document("a"), document("b")])
    assert store.changes.size() == (4, 4, 0)
    store.delete_document("c", "b")
    assert store.changes.size() == (2, 4, 2)
    with pytest.raises(StoreError), database.write(in_turn=True) as db:
        db.execute(update(schema.passages).values(document_id=99))
    store.delete_collection("c")
    assert store.changes.size() == (0, 4, 3)
    assert store.changes.removals(2, 9) == [(3, number, ALL_PASSAGES)]


def test_names_and_addresses_may_be_long(database: Database) -> None:
    store, long = Store(database), "".join(chr(0x4E00 + n * 7 % 20000) for n in range(4000))
    number = store.ensure_collection("c", "toy")
    source = SourceDocument(long, "text", origin=long)
    for _ in range(2):
        store.put(number, [PreparedDocument(source, (PassageText("Text."),), np.ones((1, 4), np.float32))])
    assert [row.external_id for row in store.documents("c")] == [long]
    store.web.put("r", [WebPage(source, (PassageText("Text."),), np.ones((1, 4), np.float32))])
    assert store.passages([-1])[-1].document_id == long


def test_text_may_contain_a_nul(database: Database) -> None:
    store = Store(database)
    number = store.ensure_collection("c", "toy")
    text = PassageText("Bees\0 dance.")
    source = SourceDocument("a\0b", "text", title="T\0")
    store.put(number, [PreparedDocument(source, (text,), np.ones((1, 4), np.float32))])
    [(_, passage)] = store.scan(0, 9)
    assert (passage.text, passage.title) == ("Bees\ufffd dance.", "T\ufffd")
    assert store.delete_document("c", "a\0b") == 1


# A server that cannot be used


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("me:hidden@127.0.0.1:none/none", SettingsError, "no Postgres address"),
        ("me:hidden@127.0.0.1/none?hidden=1", SettingsError, "no Postgres address"),
        ("me:hidden@127.0.0.1:1/none", StoreError, "does not answer.*Start it or correct the address"),
    ],
)
async def test_an_address_that_leads_nowhere(given: str, error: type[Exception], words: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=f"postgresql+psycopg://{given}")
    with pytest.raises(error, match=words) as caught:
        async with Runs(settings, instant_providers):
            pass
    assert "hidden" not in str(caught.value)


def test_a_wrong_password_is_not_shown(postgres: PostgresServer) -> None:
    postgres.execute("CREATE ROLE ann LOGIN PASSWORD 'right'")
    with postgres.asks_for_passwords(), pytest.raises(StoreError, match="password authentication failed") as caught:
        Database(postgres.address().replace("test@", "ann:wrong-one@"))
    assert "wrong-one" not in str(caught.value)


def test_who_may_not_make_tables_is_told(postgres: PostgresServer, address: str) -> None:
    postgres.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(StoreError, match="permission denied"):
        Database(address.replace("test@", "guest@"))


def test_tables_of_another_program_are_left_alone(address: str) -> None:
    with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE TABLE documents (title text)")
    with pytest.raises(StoreError, match="tables of another program"):
        Database(address)


def test_a_server_that_went_away_and_came_back(address: str, postgres: PostgresServer, database: Database) -> None:
    assert database.rows(select(schema.runs)) == []
    postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert database.rows(select(schema.runs)) == []


async def test_many_processes_make_the_tables_of_checkpoints_once(address: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=address)

    async def opened() -> int:
        async with open_checkpointer(settings) as saver:
            return len([found async for found in saver.alist(None)])

    assert await asyncio.gather(*(opened() for _ in range(6))) == [0] * 6
