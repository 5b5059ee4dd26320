"""Rows of the contract table: indexes that are damaged or cannot be used, and what a killed command left behind. Real
Chroma and real tantivy, in processes of their own, which really are killed."""

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

from agent.runs.parts import open_parts
from agent.runs.store import RunStore
from agent.runs.threads import ThreadStore
from agent.settings import Settings
from tools.store.database import Database
from tools.store.store import Store

MANY = 1100  # passages: enough for Chroma to write its vector files
INDEXES = ("dense", "lexical")
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
    """Names the making of each index, which is another when it was made again."""
    return [(folder / "index" / name / "NUMBER").read_text().split()[0] for name in INDEXES]


def process(code: str, *arguments: object, data: Path, path: Path = _ROOT) -> Outcome:
    """What Python on the code prints, and its exit status; `path` is looked into for modules first."""
    paths = os.pathsep.join(map(str, (path, _ROOT, _ROOT / "tests")))
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


def swap(file: Path) -> object:
    other, data = file.with_name("data_level0.bin"), file.read_bytes()
    file.write_bytes(other.read_bytes())
    return other.write_bytes(data)


def vectors(name: str, how: Damage) -> Damage:
    """Damage to a file of Chroma's graph."""
    return lambda index: how(next((index / "dense" / "chroma").glob(f"*/{name}")))


def words(pattern: str, how: Damage) -> Damage:
    """Damage to files of tantivy."""
    return lambda index: [how(file) for file in (index / "lexical" / "tantivy").glob(pattern)]


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


async def question_over_damage(given: Damage, bench: Bench) -> Outcome:
    folder = Path(shutil.copytree(indexed(), bench.folder / "data"))
    given(folder / "index")
    return process(_SEARCH, folder, data=folder)


_DENSE: dict[str, Damage] = {
    "the vectors cut to nothing": vectors("data_level0.bin", cut(0)),
    "the vectors cut in half": vectors("data_level0.bin", cut(0.5)),
    "the vectors overwritten": vectors("data_level0.bin", overwrite),
    "the vectors gone": vectors("data_level0.bin", Path.unlink),
    "the graph's head cut in half": vectors("header.bin", cut(0.5)),
    "the graph's head overwritten": vectors("header.bin", overwrite),
    "the upper links cut": vectors("link_lists.bin", cut(0.9)),
    "the upper links zeroed": vectors("link_lists.bin", zero),
    "the upper links in the vectors' place": vectors("link_lists.bin", swap),
    "the list of ids cut": vectors("index_metadata.pickle", cut(0.5)),
    "the list of ids gone": vectors("index_metadata.pickle", Path.unlink),
    "Chroma's database cut": lambda index: cut(0.1)(index / "dense" / "chroma" / "chroma.sqlite3"),
    "the number overwritten": lambda index: overwrite(index / "dense" / "NUMBER"),
}
_LEXICAL: dict[str, Damage] = {
    "the words overwritten": words("*.*", overwrite),
    "a file of the words gone": words("*.idx", Path.unlink),
    "the words' head cut": words("meta.json", cut(0.5)),
}
_DAMAGED = [("dense", "lexical", how) for how in _DENSE.items()] + [("lexical", "dense", h) for h in _LEXICAL.items()]


# Hindrance: the index is left as it is

_HINDERED = """
import os, resource, sys
from pathlib import Path
from toys import House
from test_healing import asked
from tools.errors import SteelmanError
house = House(Path(sys.argv[1]))
if "files" in sys.argv:
    open_files = len(os.listdir("/proc/self/fd")) + 3
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
try:
    print(asked(house, 5))
except SteelmanError as exc:
    print(exc)
    sys.exit(type(exc).__name__)
"""


async def question_over_hindrance(given: tuple[str, str], bench: Bench) -> Outcome:
    """given: a module and what happens where it is imported; or no module, and a word for the process."""
    module, what = given
    folder = Path(shutil.copytree(indexed(), bench.folder / "data"))
    if module:
        (bench.folder / module).mkdir()
        (bench.folder / module / "__init__.py").write_text(what)
    before, came = makings(folder), process(_HINDERED, folder, what, data=folder, path=bench.folder)
    kept = makings(folder) == before and not list((folder / "index").glob("*.opening"))
    return Outcome("kept" if kept else "emptied", came.text)


_MISSING = "raise ImportError('libfoo.so.1: cannot open shared object file')"
_REBUILD = "`python -m agent rebuild`"
_HINDRANCES = [
    ("Chroma cannot be imported", ("chromadb", _MISSING), "cannot be used now (libfoo.so.1", _REBUILD),
    (
        "there is no home folder",
        ("chromadb", "raise RuntimeError('no home')"),
        "cannot be used now (no home)",
        _REBUILD,
    ),
    ("memory is short", ("chromadb", "raise MemoryError"), "cannot be used now (MemoryError)", _REBUILD),
    ("tantivy cannot be imported", ("tantivy", _MISSING), "cannot be used now (libfoo.so.1", _REBUILD),
    ("no more files can be opened", ("", "files"), "cannot be", ""),
]

# A removal that was killed before it came to the indexes

_KILLED = """
import os, signal, sys
from agent.__main__ import main
from tools.store.hybrid import HybridSearch
HybridSearch.refresh = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
_KILLED_SYNC = """
import os, signal, sys
from pathlib import Path
from toys import House
House(Path(os.environ["STEELMAN_DATA_DIR"])).store.delete_documents("c", ["d1"])
os.kill(os.getpid(), signal.SIGKILL)
"""
_MAIN = "import sys; from agent.__main__ import main; sys.exit(main(sys.argv[1:]))"


async def next_command(given: tuple[str, str, str], bench: Bench) -> Outcome:
    """given: the killed code, the words of its command, and those of the next one; none opens the service instead."""
    code, first, then = given
    house = House(bench.folder)
    house.put("c", d1="One owl.", d2="Two owls.")
    house.search.refresh()
    house.search.close()
    assert process(code, *first.split(), data=bench.folder).status == -9
    assert house.store.changes.unfinished() is not None
    if then:
        came = process(_MAIN, *then.split(), data=bench.folder)
    else:
        parts = open_parts(Settings(data_dir=bench.folder))
        await parts.aclose()
        came = Outcome("opened", "")
    left = None if house.store.changes.unfinished() is None else "unfinished"
    return Outcome(came.status, f"{came.text}\nremoval: {left or 'finished'}")


_AGAIN = "It was removed already, by a command that was stopped"
_FINISHED = "which an earlier command began, is finished now"
_REMOVALS: list[tuple[str, tuple[str, str, str], int | str, str]] = [
    ("a deletion was killed, and is given again", (_KILLED, "delete c", "delete c"), 0, _AGAIN),
    ("a document's was killed, and is given again", (_KILLED, "delete c d1", "delete c d1"), 0, _AGAIN),
    ("a deletion was killed", (_KILLED, "delete c", "collections"), 0, f"collection 'c', {_FINISHED}"),
    ("an ingest was killed at what it removes", (_KILLED_SYNC, "", "collections"), 0, f"passages, {_FINISHED}"),
    ("a deletion was killed, and a server or the page starts", (_KILLED, "delete c", ""), "opened", ""),
]

# Runs whose process was killed

_COMMAND = """
import os, signal, sys
from functools import partial
from agent.__main__ import main
from agent.runs import parts, service
from providers import build
killed = lambda query: os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1] == "killed" else None
service.Runs = partial(service.Runs, build=build(before_search=killed))
parts.index_samples = lambda *_: None
sys.exit(main(sys.argv[2:]))
"""


async def after_a_killed_run(given: tuple[str, str], bench: Bench) -> Outcome:
    """given: the words of the command that is killed in its run, and of the next one, if any."""
    settings, questions = Settings(data_dir=bench.folder / "data"), bench.folder / "q.jsonl"
    database = Database(settings.database_path)
    instant_providers(settings, Store(database)).search.close()
    questions.write_text('{"question": "Should towns build bridges?"}\n')
    first, then = (
        words.replace("BATCH", f"batch {questions} --out {bench.folder / 'a.jsonl'}").split() for words in given
    )
    first, then = (["ask", "Should towns build bridges?"] if w == ["ASK"] else w for w in (first, then))
    assert process(_COMMAND, "killed", *first, data=settings.data_dir).status == -9
    came = process(_COMMAND, "", *then, data=settings.data_dir) if then else Outcome("looked at", "")
    rows = RunStore(database).latest(9)
    states = f"\nruns: {[r.state for r in rows]} stored: {[r.status for r in rows]} history: "
    return Outcome(came.status, came.text + states + str([t.state for t in ThreadStore(database).latest(9)]))


_RUNS: list[tuple[str, tuple[str, str], int | str, str, str]] = [
    ("a batch was killed, and is given again", ("BATCH", "BATCH"), 0, "1 answered, 0 failed", "stored: ['done']"),
    (
        "another batch follows",
        ("BATCH", "BATCH --quick"),
        0,
        "['done', 'interrupted']",
        "stored: ['done', 'cancelled']",
    ),
    ("runs are listed after a batch was killed", ("BATCH", "runs"), 0, "  interrupted  ", "ask --resume"),
    ("the history is looked at", ("ASK", ""), "looked at", "runs: ['interrupted']", "history: ['interrupted']"),
    ("the next question follows", ("ASK", "ASK"), 0, "['done', 'interrupted']", "stored: ['done', 'cancelled']"),
]

ROWS: tuple[Row, ...] = (
    *(
        Row(name, question_over_damage, how, 0, f"The {index} index was damaged", "made again from the store", (other,))
        for index, other, (name, how) in _DAMAGED
    ),
    *(Row(name, question_over_hindrance, how, "kept", a, b, ("was damaged",)) for name, how, a, b in _HINDRANCES),
    *(Row(name, next_command, given, status, cause, "removal: finished") for name, given, status, cause in _REMOVALS),
    *(Row(name, after_a_killed_run, given, status, a, b) for name, given, status, a, b in _RUNS),
)
