"""`evals ingest`: files beside their expected text."""

import json
from pathlib import Path

import pytest

from evals.__main__ import main
from evals.datasets.rows import GOLD
from evals.suites.ingest import read_one

OWN = GOLD / "ingest"
NOTE = """# Ferries

The ferry is
slow. It saves an hour.[^1]

- It carries vans.

```
code()
```

[^1]: Measured in May.
"""
EXPECTED = "Ferries\nThe ferry is slow. It saves an hour.\nIt carries vans.\nNOTE: Measured in May.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "note.md").write_text(NOTE)
    (tmp_path / "note.md.expected.txt").write_text(EXPECTED)
    return tmp_path


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    status = main(["ingest", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("ending", "docx pptx odt epub rtf rst html md txt pdf".split())
def test_the_projects_own_files_are_read(ending: str) -> None:
    read = [
        read_one(f.with_name(f.name.removesuffix(".expected.txt")), OWN) for f in OWN.glob(f"*.{ending}.expected.txt")
    ]
    assert [r.problem for r in read if r.problem] == []
    assert sum(r.in_order for r in read) >= 0.99 * sum(r.words for r in read)
    assert sum(r.whole for r in read) >= 0.96 * sum(r.sentences for r in read)


def test_missing_and_extra_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "note.md.expected.txt").write_text(f"{EXPECTED}A line that nobody wrote ends here.\n")
    (folder / "note.md").write_text(f"{NOTE}\nToo much stands here.\n")
    status, found = result(capsys, "--data", str(folder))
    assert status == 0
    assert found["metrics"] == {"words_in_order": 13 / 19, "sentences_whole": 4 / 5, "extra": 3 / 16}
    assert main(["ingest", "--data", str(folder), "--misses"]) == 0
    assert "- A line that nobody wrote ends here." in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.pdf").write_bytes(b"no pdf")
    (folder / "bad.pdf.expected.txt").write_text("Some words stand here.\n")
    status, found = result(capsys, "--data", str(folder))
    assert (status, len(found["failed"])) == (1, 1)  # type: ignore[arg-type]  # a list
    assert found["formats"][".pdf"]["metrics"]["words_in_order"] == 0  # type: ignore[index]  # an object
