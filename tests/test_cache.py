"""The cache: what is known is not computed again, and no state of the file makes a caller fail."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.models.cache import VectorCache


class Lengths:
    """Computes the length of each key and counts how often it is asked."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys
        self.asked: list[str] = []

    def __call__(self, missing: list[int]) -> NDArray[np.float32]:
        self.asked += [self.keys[i] for i in missing]
        return np.array([[len(self.keys[i]), 0.5] for i in missing], np.float32)


def rows(cache: VectorCache, *keys: str, space: str = "s") -> tuple[list[float], list[str]]:
    """The first column, and the keys that had to be computed."""
    compute = Lengths(*keys)
    found = cache.rows(space, keys, compute)
    assert found.shape == (len(keys), 2 if keys else 0)
    return found[:, :1].ravel().tolist(), compute.asked


def test_what_is_known_is_not_computed_again(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "deep" / "cache.db")
    assert rows(cache, "a", "bbb") == ([1, 3], ["a", "bbb"])
    assert rows(cache, "bbb", "cc", "a") == ([3, 2, 1], ["cc"])
    assert rows(VectorCache(tmp_path / "deep" / "cache.db"), "cc", "a") == ([2, 1], [])


@pytest.mark.parametrize("data", [b"no database " * 1000, b"", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_begun_again(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(data)
    assert rows(VectorCache(path), "a")[0] == [1]
    rows(VectorCache(path), "a")
    assert rows(VectorCache(path), "a") == ([1], [])


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = VectorCache(tmp_path / "file" / "cache.db")
    assert rows(cache, "a") == rows(cache, "a") == ([1], ["a"])


def test_a_locked_file(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache.db")
    rows(cache, "a")
    other = sqlite3.connect(tmp_path / "cache.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert rows(cache, "bb") == ([2], ["bb"])
    other.execute("ROLLBACK")
    other.close()
    assert rows(cache, "a", "bb")[0] == [1, 2]
    assert rows(cache, "a", "bb")[1] == []
