"""docs/api.md: every line on it does what the line below it says, its tables name what there is; the page of the calls;
the notebook."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from api_on_loopback import api
from conftest import ROOT
from raw_http import wait_until
from written_files import pdf

from agent.settings import Settings
from api.callers import Keys
from api.events import KINDS
from tools.store.database import Database

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["visitors"]

GUIDE = (ROOT / "docs" / "api.md").read_text()
WRITTEN = "http://127.0.0.1:8000"
LINES = re.findall(r"^```sh\n(curl .*?)\n```\n`(\d{3})`", GUIDE, re.MULTILINE | re.DOTALL)
_RUN = re.compile(rb'"(?:run_)?id": ?"([0-9a-f]{12})"')
_JOB = re.compile(rb'"id": ?"(j[0-9a-f]{12})"')


@dataclass
class Reader:
    """Somebody who types the lines one after the other, and keeps the id of the last run."""

    address: str
    folder: Path
    known: dict[str, str] = field(default_factory=dict)

    def types(self, line: str) -> tuple[int, bytes]:
        """The status and the body that the line gets."""
        asked = line.replace(WRITTEN, self.address) + " -w '\\n%{http_code}'"
        environment = {"PATH": os.environ["PATH"], "KEY": "of-no-use-where-none-is-needed", **self.known}
        done = subprocess.run(["bash", "-c", asked], cwd=self.folder, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"
        body, _, status = done.stdout.rpartition(b"\n")
        if job := _JOB.search(body):
            self.known["JOB"] = job[1].decode()
        if run := _RUN.search(body):
            self.known["RUN"] = run[1].decode()
        return int(status), body


@pytest.fixture(scope="module")
def reader(module_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("the lines of docs/api.md are for curl in a shell, and one of both is not on this machine")
    folder = tmp_path_factory.mktemp("reader")
    (folder / "notes.txt").write_text("Schools should ban smartphones, since lessons are calmer without them.")
    (folder / "survey.csv").write_text("age,pro,con\n41,Lessons are calmer.,Parents cannot call.\n")
    (folder / "paper.pdf").write_bytes(pdf("Schools should not ban smartphones."))
    with api(module_settings) as address:
        yield Reader(address, folder)


HOW_FAR = f"curl -s {WRITTEN}/v1/jobs/$JOB"


def test_every_line_gets_what_stands_below_it(reader: Reader) -> None:
    wrong = {}
    for line, status in LINES:
        got, body = reader.types(line)
        if line == HOW_FAR:  # a reader too waits before the lines about a job that has ended
            wait_until(lambda: b'"status":"done"' in reader.types(HOW_FAR)[1], 30)
        if str(got) != status:
            wrong[line] = f"{got}: {body.decode()[:500]}"
    assert wrong == {}


def test_every_line_is_tried() -> None:
    assert len(LINES) == len(re.findall(r"\bcurl -", GUIDE)) >= 20


def test_every_call_has_a_line(reader: Reader) -> None:
    document = json.loads(reader.types(f"curl -s {WRITTEN}/openapi.json")[1])
    for path, methods in document["paths"].items():
        pattern = re.escape(WRITTEN) + re.sub(r"\\{\w+\\}", r"[\\w$-]+", re.escape(path)) + r"(?=['\s?]|$)"
        for method in methods:
            found = [line for line, _ in LINES if re.search(pattern, line) and method_of(line) == method]
            assert found or path == "/healthz", f"docs/api.md has no line for {method.upper()} {path}"


def method_of(line: str) -> str:
    named = re.search(r"-X (\w+)", line)
    return named[1].lower() if named else "post" if re.search(r"\s-[dF]\s", line) else "get"


def test_its_tables_name_what_there_is() -> None:
    events = re.search(r"\| event \| data.*?\n\n", GUIDE, re.DOTALL)
    assert events
    assert set(re.findall(r"^\| `(\w+)`", events[0], re.MULTILINE)) == set(KINDS)
    stages = re.search(r"a stage begins: (.*?) \|", events[0])
    assert stages
    nodes = "".join(f.read_text() for f in (ROOT / "agent" / "stages").glob("*.py"))
    assert set(re.findall(r"[a-z]+", stages[1])) - {"or"} == set(re.findall(r'@stage\("(\w+)"', nodes))
    settings = {f"STEELMAN_{name.upper()}" for name in Settings.model_fields if name.startswith("api_")}
    assert set(re.findall(r"`(STEELMAN_API_\w+)`", GUIDE)) == settings
    told = set(re.findall(r"`([a-z]+(?:-[a-z]+)+|failure)`", GUIDE[GUIDE.index("| status | `urn:") :]))
    text = "".join(f.read_text() for f in (ROOT / "api").rglob("*.py"))
    made = set(re.findall(r'\(\s*\d{3},\s*"([a-z-]+)"', text))
    made |= {"key-missing", "key-wrong"}
    assert made <= told, made - told


# The page of the calls


def test_it_is_read_without_a_key_and_loads_nothing_from_elsewhere(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        Keys(database).make("laptop")
    with api(settings) as address:
        page = httpx.get(f"{address}/docs")
        assert page.status_code == 200
        assert page.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "://" not in page.text
        loaded = re.findall(r"""(?:src|href|url: ?)=?["'](/[^"']+)""", page.text)
        assert "/openapi.json" in loaded
        assert [httpx.get(f"{address}{path}").status_code for path in loaded] == [200] * len(loaded) == [200] * 3
        for path in ("/docs/", "/docs/oauth2-redirect", "/v1/collections"):
            assert httpx.get(f"{address}{path}").status_code == 401


@pytest.mark.slow
def test_a_browser_shows_every_call_and_sends_one(settings: Settings, browser: "Browser") -> None:
    with api(settings) as address:
        said: list[str] = []
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.goto(f"{address}/docs")
        page.locator("[id$='list_collections'] button").first.click()
        page.locator("text=Try it out").click()
        page.locator("button.execute").click()
        page.locator(".live-responses-table", has_text="samples").wait_for()
        assert said == []


# The notebook and the lines for Python

NOTEBOOK = ROOT / "examples" / "client.ipynb"


def code_of(cells: list[dict[str, object]]) -> str:
    return "\n".join("".join(map(str, c["source"])) for c in cells if c["cell_type"] == "code")  # type: ignore[call-overload]


def ran(code: str, address: str, folder: Path) -> str:
    """What the code prints in a process of its own, started in that folder."""
    assert WRITTEN in code
    lines = [sys.executable, "-W", "error", "-c", code.replace(WRITTEN, address)]
    done = subprocess.run(lines, cwd=folder, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_the_notebook_runs(reader: Reader) -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    told = ran(code_of(notebook["cells"]), reader.address, NOTEBOOK.parent)
    assert "\nFor: Schools should ban smartphones." in told
    assert "404 unknown-collection There is no collection 'nootbook'." in told
    assert re.search(r"^What about the cost\? → \w+$", told, re.MULTILINE)


def test_the_lines_for_python_run(reader: Reader) -> None:
    asked, followed = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert "For: Schools should ban smartphones.\n- " in ran(asked, reader.address, reader.folder)
    kinds = [line.partition(" ")[0] for line in ran(followed, reader.address, reader.folder).splitlines()]
    assert (kinds[0], kinds[-1]) == ("started", "done")
    assert {"sides", "claim"} < set(kinds) <= set(KINDS)
