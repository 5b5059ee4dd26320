"""Ingest: everything once, whatever happened before."""

from pathlib import Path

import pytest
from toys import House

from tools.documents.document import LARGEST_TEXT
from tools.errors import InputError, StoreFullError
from tools.passages import SourceDocument

BEES = "Bees dance to tell the others where the flowers are."
ANTS = "Ants march in long lines along the scent of food."


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "data")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    (made / "deep").mkdir(parents=True)
    (made / "bees.txt").write_text(BEES)
    (made / "deep" / "ants.md").write_text(ANTS)
    (made / "deep" / "rows.jsonl").write_text(
        '{"id": "owls", "text": "Owls wait."}\n{"id": "moths", "text": "Moths fly."}'
    )
    (made / "ignored.xyz").write_text("nothing")
    return made


def stored(house: House) -> dict[str, str]:
    return {p.document_id: p.text for _, p in house.store.scan(0, 10_000)}


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(house: House, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"PK\x03\x04zip")
    (folder / "broken.docx").write_text("text")
    (folder / "picture.txt").write_bytes(b"\x89PNG\x00\x00")
    (folder / "empty.txt").touch()
    (folder / "rows.csv").write_text("id,text\nwrens,Wrens sing.\nno,bo,dy\nlarks,Larks rise.\n")
    report = house.ingest_files([str(folder)], "c")
    assert {"wrens", "larks", "owls", f"{folder}/bees.txt"} <= set(stored(house))
    assert report.stored == 6
    told = "\n".join(report.problems)
    assert len(report.problems) == 5
    for name in ("broken.pdf", "broken.docx", "picture.txt", "empty.txt: holds no text", "rows.csv, line 3"):
        assert name in told


def test_a_full_disk_keeps_what_was_stored(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = house.store.put, []

    def limited(collection: int, documents: object) -> int:
        calls.append(1)
        if len(calls) == 2:
            with house.database.read() as db:
                pages = db.exec_driver_sql("PRAGMA page_count").scalar_one()
                db.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1}")
        return real(collection, documents)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(house.store, "put", limited)
    sources = [SourceDocument(f"d{i}", f"{BEES} " * 30) for i in range(400)]
    with pytest.raises(StoreFullError, match="goes on"):
        house.ingester.ingest(sources, "c")
    kept = len(house.store.documents("c"))
    assert 0 < kept < 400
    report = House(house.folder).ingester.ingest(sources, "c")
    assert (report.unchanged, report.stored) == (kept, 400 - kept)


def test_rows_of_two_files_with_the_same_ids_are_kept_apart(house: House, tmp_path: Path) -> None:
    for name, subject in (("rents.csv", "Rents"), ("zoos.csv", "Zoos")):
        (tmp_path / name).write_text(f"id,text\n1,{subject} rise.\n2,{subject} fall.\n")
    report = house.ingest_files([str(tmp_path)], "c")
    assert (report.stored, report.problems) == (4, [])
    _, passages = zip(*house.store.scan(0, 10), strict=True)
    assert [(p.document_id, p.text) for p in passages] == [
        *(("1", "Rents rise."), ("2", "Rents fall."), ("1", "Zoos rise."), ("2", "Zoos fall."))
    ]
    assert len({p.source for p in passages}) == len({p.document for p in passages}) == 4
    with pytest.raises(InputError, match=r"2 documents of 'c' are called '1'.*rents\.csv#1.*zoos\.csv#1"):
        house.store.delete_document("c", "1")
    assert house.store.delete_document("c", f"{tmp_path}/zoos.csv#1") == 1
    assert house.store.delete_document("c", "1") == 1


def test_a_file_is_stored_once_however_it_is_named(house: House, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ingest_files([str(folder)], "c")
    monkeypatch.chdir(folder.parent)
    for way in (folder.name, f"./{folder.name}", f"{folder.name}/deep/.."):
        report = house.ingest_files([way], "c")
        assert (report.stored, report.unchanged) == (0, 4)
    (folder / "bees.txt").write_text("Wasps build with paper.")
    assert house.ingest_files([folder.name], "c").stored == 1
    assert len(stored(house)) == 4


def test_a_document_that_is_too_long(house: House) -> None:
    report = house.ingester.ingest([SourceDocument("a", "x" * (LARGEST_TEXT + 1)), SourceDocument("b", ANTS)], "c")
    assert list(stored(house)) == ["b"]
    assert report.problems == ["a: longer than 20,000,000 characters. Split it."]
