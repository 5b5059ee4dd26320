"""examples/client.ipynb and the lines of docs/api.md for Python: they run from top to bottom against a real server."""

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from api_on_loopback import api
from conftest import ROOT

from agent.providers.build import build_providers
from agent.samples import index_samples
from agent.settings import Settings, load_settings
from tools.store.database import Database
from tools.store.store import Store

NOTEBOOK = ROOT / "examples" / "client.ipynb"
WRITTEN = "http://127.0.0.1:8000"


def code_of(cells: list[dict[str, object]]) -> str:
    return "\n".join("".join(map(str, c["source"])) for c in cells if c["cell_type"] == "code")  # type: ignore[call-overload]


def ran(code: str, address: str, folder: Path) -> str:
    """What the code prints in a process of its own, started in that folder."""
    assert WRITTEN in code
    lines = [sys.executable, "-W", "error", "-c", code.replace(WRITTEN, address)]
    done = subprocess.run(lines, cwd=folder, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_the_notebook_runs(settings: Settings) -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    with api(settings) as address:
        told = ran(code_of(notebook["cells"]), address, NOTEBOOK.parent)
    assert "\nFor: Schools should ban smartphones." in told
    assert "404 unknown-collection There is no collection 'nootbook'." in told
    assert re.search(r"^What about the cost\? → \w+$", told, re.MULTILINE)


def test_it_keeps_no_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    kept = [c for c in cells if c["cell_type"] == "code" and (c["outputs"] or c["execution_count"])]
    assert kept == []
    assert NOTEBOOK.stat().st_size < 20_000


def test_the_lines_for_python_run(settings: Settings) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(), re.DOTALL)
    with api(settings) as address:
        assert "For: " in ran(block, address, ROOT)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_notebook_runs_on_the_samples(shared_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cache").symlink_to(shared_cache, target_is_directory=True)
    with closing(Database(load_settings().database_path)) as database:
        store = Store(database)
        search = build_providers(load_settings(), store).search
        index_samples(store, search)
    with api(load_settings(), build_providers) as address:
        told = ran(code_of(json.loads(NOTEBOOK.read_text())["cells"]), address, NOTEBOOK.parent)
    assert told.startswith("samples: ")
    assert "\nNo: Should schools ban smartphones? (" in told
    assert "[1] " in told
