"""Rows of the contract table: damaged indexes, and what a killed command left behind. Real Chroma and real tantivy run
in their own processes, which are killed."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

from contract_table import Bench, Outcome, Row
from toys import House, text

from agent.runs.bootstrap import open_parts
from agent.settings import Settings

INDEXES = ("dense", "lexical")
MANY = 1100  # passages: enough for Chroma to write its vector files
_ROOT = Path(__file__).parent.parent
_TEMPLATE = tempfile.TemporaryDirectory(prefix="steelman-indexed-")


@cache
def indexed() -> Path:
    """A data folder with both indexes in files; to be copied."""
    folder = Path(_TEMPLATE.name) / "data"
    house = House(folder)
    house.put("c", **{f"d{i}": text(i) for i in range(MANY)})
    house.search.refresh()
    house.search.close()
    house.database.close()
    return folder


def makings(folder: Path) -> list[str]:
    """Names each build of the two indexes. A rebuilt index has another name."""
    return [(folder / "index" / name / "NUMBER").read_text().split()[0] for name in INDEXES]


def process(code: str, *arguments: object, data: Path) -> Outcome:
    paths = os.pathsep.join(map(str, (_ROOT, _ROOT / "tests")))
    command, environment = [sys.executable, "-c", code, *map(str, arguments)], {"PYTHONPATH": paths}
    environment = {**os.environ, **environment, "STEELMAN_DATA_DIR": str(data)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout + done.stderr)


# Damage: the index is made again in the same command

Damage: TypeAlias = Callable[[Path], object]


def cut(keep: float) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(file.read_bytes()[: int(keep * file.stat().st_size)])


def each(pattern: str, how: Damage) -> Damage:
    return lambda index: [how(file) for file in index.glob(pattern)]


_SEARCH = """
import sys
from pathlib import Path
from toys import House
from test_healing import asked, assert_whole
house = House(Path(sys.argv[1]))
print(*asked(house, 5)[1], sep="\\n")
house.search.close()
assert_whole(Path(sys.argv[1]))
"""


async def damaged(given: Damage, bench: Bench) -> Outcome:
    folder = Path(shutil.copytree(indexed(), bench.folder / "data"))
    given(folder / "index")
    return process(_SEARCH, folder, data=folder)


_VECTORS = "dense/chroma/*/data_level0.bin"
_DAMAGED: dict[str, tuple[str, Damage]] = {
    "the vectors cut": ("dense", each(_VECTORS, cut(0.5))),
    "the words' head cut": ("lexical", each("lexical/tantivy/meta.json", cut(0.5))),
}

# A removal that was killed before it came to the indexes

_KILLED = """
import os, signal, sys
from agent.__main__ import main
from tools.store.hybrid import HybridSearch
HybridSearch.refresh = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
_MAIN = "import sys; from agent.__main__ import main; sys.exit(main(sys.argv[1:]))"


async def next_command(given: tuple[str, str], bench: Bench) -> Outcome:
    """given: the words of the killed command, and those of the next one; none opens the service instead."""
    first, then = given
    house = House(bench.folder)
    house.put("c", d1="One owl.", d2="Two owls.")
    house.search.refresh()
    house.search.close()
    assert process(_KILLED, *first.split(), data=bench.folder).status == -9
    assert house.store.changes.unfinished(bench.folder / "index")
    if then:
        came = process(_MAIN, *then.split(), data=bench.folder)
    else:
        await open_parts(Settings(data_dir=bench.folder)).aclose()
        came = Outcome("opened", "")
    return Outcome(came.status, f"{came.text}\nunfinished: {house.store.changes.unfinished(bench.folder / 'index')}")


_REMOVALS: dict[str, tuple[tuple[str, str], int | str, str]] = {
    "a deletion was killed, and is given again": (
        ("delete c", "delete c"),
        2,
        "A removal that an earlier command began",
    ),
    "a deletion was killed": (("delete c", "collections"), 0, "A removal that an earlier command began is finished"),
    "a deletion was killed, and a server or the page starts": (("delete c", ""), "opened", ""),
}

_AGAIN = "made again from the store"
ROWS: tuple[Row, ...] = (
    *(Row(name, damaged, how, 0, f"The {index} index was damaged", _AGAIN) for name, (index, how) in _DAMAGED.items()),
    *(Row(name, next_command, *row, "unfinished: False") for name, row in _REMOVALS.items()),
)
