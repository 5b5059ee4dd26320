"""A source of another package: installed, switched on, asked in a whole run, and broken."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from toy_sources import ToyServer

from agent.commands.doctor import doctor_checks, run_check
from agent.commands.parts import in_plain_words
from agent.providers.from_settings import KEYED, installed_sources, sources_on
from agent.settings import Settings
from tools.errors import SettingsError

BROKEN = "raise RuntimeError('no such library')"


def install(folder: Path, name: str, code: str, target: str) -> None:
    """What pip leaves of a package with one module and one entry point."""
    (folder / f"{name}.py").write_text(code)
    (made := folder / f"{name}-1.0.dist-info").mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(f"[steelman.sources]\n{name} = {name}:{target}\n")


def documented(address: str) -> str:
    """The source in docs/providers.md, at this address, whose results come with their text."""
    page = (ROOT / "docs" / "providers.md").read_text()
    [code] = [block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "Source" in block]
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    code = code.replace("https://hansard.example", address).replace('"hits"', '"found"').replace('"link"', '"url"')
    return str(code.replace('date="date"', 'date="date", text="text", extent="post"'))


@pytest.fixture
def toys() -> Iterator[ToyServer]:
    with ToyServer() as running:
        running.has["search"] = [
            {"url": f"https://hansard.example/{n}", "title": f"Speech {n}", "text": text, "date": "2025-06-01"}
            for n, text in enumerate(
                (
                    "Schools should ban smartphones, because pupils learn more without them. Phones distract the whole "
                    "class from lessons, and teachers lose time with them.",
                    "Schools should not ban smartphones, because pupils need them to learn. A ban at school teaches no "
                    "child to use a phone with care, and parents want to reach their children.",
                )
            )
        ]
        yield running


def command(folder: Path, data: Path, *typed: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SSL_CERT_FILE") if name in os.environ}
    environment = kept | {"PYTHONPATH": str(folder), "STEELMAN_DATA_DIR": str(data), "STEELMAN_ENV_FILE": ""} | settings
    line = [sys.executable, "-m", "agent", *typed]
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.usefixtures("cached")
def test_the_documented_plugin_is_asked_and_a_broken_one_costs_a_note(toys: ToyServer, tmp_path: Path) -> None:
    (folder := tmp_path / "site").mkdir()
    install(folder, "hansard", documented(toys.url), "Hansard")
    install(folder, "wrong", BROKEN, "Source")
    on = {"STEELMAN_SOURCES": "hansard, wrong"}
    asking = ("ask", "Should schools ban smartphones?", "--sources", "discussion", "--quick", "--json")
    asked = command(folder, tmp_path / "data", *asking, **on)
    assert asked.returncode in (0, 4), asked.stderr
    answer: dict[str, Any] = json.loads(asked.stdout)
    assert {d["title"] for d in answer["documents"]} == {"Speech 0", "Speech 1"}
    cited = {(c["kind"], c["extent"], c["publisher"]) for c in answer["citations"]}
    assert cited == {("forum", "post", "hansard.example")}
    [note] = [n["text"] for n in answer["notes"] if "wrong" in n["text"]]
    assert note == "The source 'wrong' cannot be used (RuntimeError: no such library)."
    told = command(folder, tmp_path / "data", "doctor", **on)
    assert re.search(r"ok +source hansard +Hansard \(discussion\) at http\S+, answers", told.stdout), told.stdout
    assert re.search(r"FAILS +source wrong +The source 'wrong' cannot be used", told.stdout)
    assert re.search(r"off +other sources +on with STEELMAN_SOURCES \(openalex, .*wikipedia", told.stdout)


def test_installed_packages_are_found_and_replace_no_source_of_steelman(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "Mine", BROKEN, "Source")
    install(tmp_path, "wikipedia", BROKEN, "Source")
    monkeypatch.syspath_prepend(tmp_path)
    found = installed_sources()
    assert found["Mine"].value == "Mine:Source"
    for named, on in (("mine", ["Mine"]), ("all", [name for name in found if name not in KEYED])):
        assert sources_on(settings.model_copy(update={"sources": named})) == on
    assert found["wikipedia"].value == "tools.web.encyclopedia:Wikipedia"


def test_an_address_of_a_source_that_takes_none_is_refused(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"STEELMAN_SOURCE_ADDRESSES names 'openalx'\. It may name: openalex, "):
        sources_on(settings.model_copy(update={"source_addresses": "openalx = http://127.0.0.1:8010"}))


def test_the_page_tells_which_sources_are_searched(settings: Settings) -> None:
    told = in_plain_words(settings.model_copy(update={"sources": "wikipedia", "mcp_sources": "notes=uvx notes"}))
    [parts] = [parts for said, parts in told.items() if said.endswith("and the web, with wikipedia, mcp:notes")]
    assert {"source wikipedia", "source mcp:notes"} <= {*parts}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (BROKEN, r"\(RuntimeError: no such library\)"),
        ("Source = dict", r"\(it is no tools.web.source.Source\)"),
        ("import sys\ndef Source(): sys.exit(3)", r"\(SystemExit: 3\)"),
        (
            "from tools.web.engines import SearXng\ndef Source(): x = SearXng('x'); x.kind = 'songs'; return x",
            "'songs'",
        ),
    ],
)
def test_the_doctor_says_why_a_package_cannot_be_used(
    code: str, says: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"odd{abs(hash(code))}"
    install(tmp_path, name, code, "Source")
    monkeypatch.syspath_prepend(tmp_path)
    chosen = settings.model_copy(update={"sources": name})
    [found] = [run_check(part) for part in doctor_checks(chosen) if part.name == f"source {name}"]
    assert found.state == "fails"
    assert re.search(says, found.detail), found.detail
