"""Which files are meant by the paths that people name."""

from collections import Counter
from pathlib import Path

import pytest

from tools.documents.files import find_files
from tools.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("notes/a.txt", "notes/deep/b.md", "notes/.git/c.txt", "notes/node_modules/d.md", "notes/.e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Text.")
    (tmp_path / "notes" / "f.png").touch()
    return tmp_path / "notes"


def test_a_folder_without_what_nobody_means(folder: Path) -> None:
    skipped = Counter[str]()
    assert [f.path.name for f in find_files([str(folder)], skipped=skipped)] == ["a.txt", "b.md"]
    assert skipped == {"folders that are hidden or hold programs": 2, "hidden files": 1, ".png files": 1}


def test_a_folder_of_other_things_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "f.png").touch()
    with pytest.raises(InputError, match=r"no readable file in .*\.png files \(1\)"):
        find_files([str(tmp_path)])
