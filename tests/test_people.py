"""Who owns what: people who log in to the page, keys of the API, and everybody, over one store."""

import contextlib
from collections.abc import Iterator

import httpx
import pytest
from agent_fixtures import QUESTION, door
from api_on_loopback import api

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.store import RunStore
from agent.runs.threads import ThreadStore
from agent.settings import Settings
from api.callers import CallerRuns, Keys
from tools.errors import InputError, UnknownCollectionError, UnknownRunError
from tools.store.database import Database
from tools.store.store import SAMPLES, Store
from ui.service import PageService

pytestmark = pytest.mark.both_stores

ANN, BOB = "https://id.example.org ann", "https://id.example.org bob"


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with contextlib.closing(Database(settings.database)) as opened:
        yield opened


def add(database: Database, run: str, thread: str, person: str, question: str = "Why?") -> None:
    RunStore(database).create(run, thread, question, RunOptions.of().to_dict(), "somebody", person)
    RunStore(database).finish(run, "somebody", "done", {}, answer="{}")


def seen(database: Database, person: str | None) -> set[str]:
    found = set()
    for run in ("a1", "b1", "c1", "k1"):
        with contextlib.suppress(UnknownRunError):
            found.add(RunStore(database, person).get(run).id)
    return found


def test_people_see_their_own_runs_and_everybodys_and_no_keys(database: Database) -> None:
    for run, person in (("a1", ANN), ("b1", BOB), ("c1", ""), ("k1", "")):
        add(database, run, run, person, f"Question {run}?")
    key, _ = Keys(database).make("a program")
    with database.write() as db:
        CallerRuns(database).record(key.id, None, db, "k1")
    for person, runs in ((ANN, {"a1", "c1"}), (BOB, {"b1", "c1"}), ("", {"c1", "k1"})):
        assert seen(database, person) == runs
        assert {t.id for t in ThreadStore(database, person).latest(9)} == runs
    assert seen(database, None) == {"a1", "b1", "c1", "k1"}  # the operator
    assert [t.id for t in ThreadStore(database, BOB).latest(9, "Question a1")] == []
    assert [t.id for t in ThreadStore(database, BOB).latest(9, "b1 quest")] == ["b1"]  # in any order
    with pytest.raises(UnknownRunError):
        RunStore(database, BOB).get("a")  # the beginning of another's is not known either
    assert {row.id for row in CallerRuns(database).listed("", 9, None, None, None)[0]} == {"c1", "k1"}


async def test_a_run_is_its_persons_and_reads_nothing_of_others(settings: Settings) -> None:
    async with door(settings) as runs:
        mine = runs.store.of(ANN)
        mine.ensure_collection("letters~ann", runs.providers.search.encoder.name)
        with pytest.raises(UnknownCollectionError) as refused:
            await runs.start(QUESTION, RunOptions.of(collections=("letters~ann",)), person=BOB)
        assert "There are: samples." in str(refused.value)
        asked = await runs.start(QUESTION, RunOptions.of(collections=(SAMPLES, "letters~ann")), person=ANN)
        await runs.answer(asked)
        follow_up = await runs.start("What about the cost?", thread=asked)  # by the operator
        assert [r.person for r in runs.run_store.thread(asked)] == [ANN, ANN]
        everybodys = await runs.start(QUESTION)
        first = await runs.answer(everybodys)
        by_ann = await runs.start("What about the cost?", thread=everybodys, person=ANN)
        await runs.answer(by_ann)
        told = RunStore(runs.database, BOB).thread_answers(everybodys)
        assert [a.run_id for a in told] == [first.run_id]
        await runs.answer(follow_up)
        await runs.delete_thread(everybodys, ANN)
        assert [r.id for r in runs.run_store.thread(everybodys)] == [everybodys]


def test_collections_of_people_are_there_for_them_alone(database: Database) -> None:
    store = Store(database)
    store.of(ANN).ensure_collection("mine~a", "e")
    store.of("").ensure_collection("mine", "e")
    for person, names in ((ANN, ["mine", "mine~a"]), (BOB, ["mine"]), ("", ["mine"])):
        assert [c.name for c in store.of(person).collections() if c.name != SAMPLES] == names
    assert store.has_collection("mine~a")  # to the operator
    for name in ("mine~0123456789ab", " mine", "", "sam\u200bples"):
        with pytest.raises(InputError, match="Give another name"):
            store.of("").ensure_collection(name, "e")
    for deed in (
        lambda: store.of(BOB).delete_collection("mine~a"),
        lambda: store.of(BOB).documents("mine~a"),
        lambda: store.of(BOB).delete_document("mine~a", "x"),
        lambda: store.of(BOB).ensure_collection("mine~a", "e"),
    ):
        with pytest.raises(UnknownCollectionError) as refused:
            deed()
        assert "There are: mine, samples." in str(refused.value)


@pytest.mark.file_only
def test_the_api_knows_nothing_of_people(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        add(database, "a" * 12, "a" * 12, ANN)
        Store(database, ANN).ensure_collection("mine~a", "e")
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        assert client.get("/v1/runs").json()["runs"] == []
        assert [c["name"] for c in client.get("/v1/collections").json()["collections"]] == [SAMPLES]
        for path in (f"/v1/runs/{'a' * 12}", f"/v1/runs/{'a' * 12}/events", "/v1/collections/mine~a/documents"):
            assert client.get(path).status_code == 404, path
        for path in (f"/v1/runs/{'a' * 12}", "/v1/collections/mine~a"):
            assert client.delete(path).status_code == 404, path
        for more in ({"collections": ["mine~a"]}, {"thread": "a" * 12}):
            assert client.post("/v1/ask", json={"question": QUESTION, **more}).status_code == 404, more
        answer = Answer.model_validate(client.post("/v1/ask", json={"question": QUESTION}).json())
    with contextlib.closing(Database(settings.database)) as database:
        assert RunStore(database).get(answer.run_id).person == ""
        assert RunStore(database).get("a" * 12).status == "done"


def test_only_the_person_who_began_a_run_stops_or_resumes_it(settings: Settings) -> None:
    service = PageService(settings)
    try:
        RunStore(service.rows.database).create("c1", "c1", "Why?", RunOptions.of().to_dict(), "somebody", "")
        for work in (service.of(ANN).cancel, service.of(ANN).resume, service.of(ANN).corrections):
            with pytest.raises(InputError, match="not yours"):
                work("c1")
        assert service.rows.get("c1").status == "running"
    finally:
        service.close()
