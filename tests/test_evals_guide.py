"""docs/evals.md: every file on it is written, every command on it is run, and every suite is on it."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Suite
from model_replies import Body
from model_server import ModelServer

from evals.__main__ import SUITES, _module

GUIDE = (ROOT / "docs" / "evals.md").read_text()
FILES = dict(re.findall(r"^`([\w./]+)`:\n```\w*\n(.*?\n)```$", GUIDE, re.MULTILINE | re.DOTALL))
SECTIONS = {
    part.partition("\n")[0]: [
        c for block in re.findall(r"^```sh\n(.*?)^```$", part, re.MULTILINE | re.DOTALL) for c in block.splitlines()
    ]
    for part in GUIDE.split("\n## ")[1:]
}
"""Title to the commands below it."""
LONG = ("bench", "judge-train", "judge-pack")
"""Suites that take minutes: only their options are read."""
ASK_THE_AGENT = ("answers", "quotes", "preference")
ASKING = ("expand", "build")
"""Suites that say that a chat model is missing once they have read their file."""


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """A folder with every file of the page."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def suite_of(command: str) -> str:
    assert command.startswith("python -m evals "), command
    return command.split()[3]


def test_every_suite_is_on_the_page_with_a_command() -> None:
    assert {suite_of(command) for commands in SECTIONS.values() for command in commands} == set(SUITES)
    assert [name for name in FILES if len(FILES[name].splitlines()) > 12] == []
    titles = {t.lower().replace(",", "").replace(" ", "-") for t in re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", GUIDE)) <= titles


@pytest.mark.timeout(300)  # of `answers` the larger judge is built once, and five minutes are for a busy machine
@pytest.mark.parametrize(
    "section", [pytest.param(name, marks=pytest.mark.slow if name in ASK_THE_AGENT else ()) for name in SECTIONS]
)
def test_every_command_runs_on_the_files_of_the_page(section: str, run_suite: Suite, reader: Path) -> None:
    for command in SECTIONS[section]:
        typed, _, to = command.partition(" > ")
        suite, arguments = suite_of(typed), shlex.split(typed)[3:]
        if suite in LONG:
            parser = argparse.ArgumentParser()
            _module(suite).add_arguments(parser)
            parser.parse_args(arguments[1:])
            continue
        status, out, error = run_suite(*arguments)
        if suite in ASKING:
            assert status == 2, command
            assert "OPENAI_API_KEY" in error, command
        else:
            assert (status, bool(out)) == (0, True), f"{command}\n{error}"
        if to:
            (reader / to).write_text(out)


def test_an_agent_over_http_is_asked_and_measured(run_suite: Suite, reader: Path, server: ModelServer) -> None:
    theirs = {t["question"]: t for t in map(json.loads, FILES["theirs.jsonl"].splitlines())}
    empty: Body = {"perspectives": [], "citations": [], "outcome": "nothing_found"}
    server.on("", lambda body: theirs.get(body["question"], empty | {"question": body["question"]}), path="/v1/ask")
    environment = os.environ | {"AGENT": f"{server.url}/ask"}
    subprocess.run([sys.executable, "ask.py"], cwd=reader, env=environment, check=True, timeout=60)
    options = ("answers", "--data", "towns", "--set", "towns", "--json")
    status, out, error = run_suite(*options, "--answers", "asked_over_http.jsonl")
    assert status == 0, error
    metrics = json.loads(out)["metrics"]
    assert (metrics["asked"], metrics["failed"], metrics["answered"], metrics["one_sided"]) == (2, 0, 0.5, 0.5)
    assert metrics["citations_right"] == 1, "both cited documents are known for the side that they stand under"
    status, out, _ = run_suite(*options, "--answers", "theirs.jsonl")
    metrics = json.loads(out)["metrics"]
    assert (metrics["asked"], metrics["failed"], metrics["answered"]) == (2, 1, 0.5), "a question without a line failed"
