"""Rows of the contract table: damaged indexes, and what a killed command left behind. Real Chroma and real tantivy run
in their own processes, which are killed."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

from contract_table import Bench, Outcome, Row
from instant_providers import instant_providers
from toys import House, text

from agent.runs.bootstrap import open_parts
from agent.runs.store import RunStore
from agent.runs.threads import ThreadStore
from agent.settings import Settings
from tools.store.database import Database
from tools.store.store import Store

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
    """What Python on the code prints, and its exit status."""
    paths = os.pathsep.join(map(str, (_ROOT, _ROOT / "tests")))
    command, environment = [sys.executable, "-c", code, *map(str, arguments)], {"PYTHONPATH": paths}
    environment = {**os.environ, **environment, "STEELMAN_DATA_DIR": str(data)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout + done.stderr)


# Damage: the index is made again in the same command

Damage: TypeAlias = Callable[[Path], object]


def cut(keep: float) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(file.read_bytes()[: int(keep * file.stat().st_size)])


def overwrite(file: Path) -> object:
    return file.write_bytes(random.Random(7).randbytes(file.stat().st_size))


def zero(file: Path) -> object:
    return file.write_bytes(bytes(file.stat().st_size))


def each(pattern: str, how: Damage) -> Damage:
    """Damage to the files of that pattern below the indexes."""
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
_HEAD = "dense/chroma/*/header.bin"
_LINKS = "dense/chroma/*/link_lists.bin"
_DAMAGED: dict[str, tuple[str, Damage]] = {
    "the vectors cut": ("dense", each(_VECTORS, cut(0.5))),
    "the graph's head cut": ("dense", each(_HEAD, cut(0.5))),
    "the upper links zeroed": ("dense", each(_LINKS, zero)),
    "Chroma's database cut": ("dense", each("dense/chroma/chroma.sqlite3", cut(0.1))),
    "the number overwritten": ("dense", each("dense/NUMBER", overwrite)),
    "a file of the words gone": ("lexical", each("lexical/tantivy/*.idx", Path.unlink)),
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
    assert house.store.changes.unfinished()
    if then:
        came = process(_MAIN, *then.split(), data=bench.folder)
    else:
        await open_parts(Settings(data_dir=bench.folder)).aclose()
        came = Outcome("opened", "")
    return Outcome(came.status, f"{came.text}\nunfinished: {house.store.changes.unfinished()}")


_GONE = "Nothing of that name is left, in the store or in the indexes"
_REMOVALS: dict[str, tuple[tuple[str, str], int | str, str]] = {
    "a deletion was killed, and is given again": (("delete c", "delete c"), 0, _GONE),
    "a document's was killed, and is given again": (("delete c d1", "delete c d1"), 0, _GONE),
    "a deletion was killed": (("delete c", "collections"), 0, "A removal that an earlier command began is finished"),
    "a deletion was killed, and a server or the page starts": (("delete c", ""), "opened", ""),
}

# Runs whose process was killed

_COMMAND = """
import os, signal, sys
from functools import partial
from agent.__main__ import main
from agent.runs import bootstrap, service
from providers import build
killed = lambda query: os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1] == "killed" else None
service.Runs = partial(service.Runs, build=build(before_search=killed))
bootstrap.index_samples = lambda *_: None
sys.exit(main(sys.argv[2:]))
"""


async def after_a_killed_run(then: str, bench: Bench) -> Outcome:
    """A batch is killed in its run. then: the words of the next command, if any."""
    settings, questions = Settings(data_dir=bench.folder / "data"), bench.folder / "q.jsonl"
    database = Database(settings.database_path)
    instant_providers(settings, Store(database)).search.close()
    questions.write_text('{"question": "Should towns build bridges?"}\n')
    batch = f"batch {questions} --out {bench.folder / 'a.jsonl'}"
    assert process(_COMMAND, "killed", *batch.split(), data=settings.data_dir).status == -9
    came = Outcome("looked at", "")
    if then:
        came = process(_COMMAND, "", *then.replace("BATCH", batch).split(), data=settings.data_dir)
    rows = RunStore(database).latest(9)
    states = f"\nruns: {[r.state for r in rows]} stored: {[r.status for r in rows]} history: "
    return Outcome(came.status, came.text + states + str([t.state for t in ThreadStore(database).latest(9)]))


_RUNS: dict[str, tuple[str, int | str, str, str]] = {
    "a batch was killed, and is given again": ("BATCH", 0, "1 answered, 0 failed", "stored: ['done', 'cancelled']"),
    "runs are listed after a batch was killed": ("runs", 0, "  interrupted  ", "ask --resume"),
    "the history is looked at": ("", "looked at", "runs: ['interrupted']", "history: ['interrupted']"),
}

_AGAIN = "made again from the store"
ROWS: tuple[Row, ...] = (
    *(Row(name, damaged, how, 0, f"The {index} index was damaged", _AGAIN) for name, (index, how) in _DAMAGED.items()),
    *(Row(name, next_command, *row, "unfinished: False") for name, row in _REMOVALS.items()),
    *(Row(name, after_a_killed_run, *row) for name, row in _RUNS.items()),
)
