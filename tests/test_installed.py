"""The wheel: what it holds, its commands in folders with files of the same names, and `steelman.ask`."""

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest
from conftest import ROOT
from hatchling.builders.wheel import WheelBuilder

import steelman

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
QUESTION = "Should schools ban smartphones?"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
FOREIGN = "raise SystemExit('imported from somebody else')"
PROGRAM = f"""
import json, sys
import email, steelman, tools  # two of them this program's own
answer = steelman.ask({QUESTION!r}, collection=["samples"], depth="quick", web=False)
try:
    steelman.ask({QUESTION!r}, collection="nowhere")
except steelman.SteelmanError as exc:
    print(json.dumps([answer["outcome"], exc.status, str(exc), tools.OWN, "agent" in sys.modules]))
"""


def test_the_wheel_holds_the_packages_inside_its_own() -> None:
    listed = subprocess.run(["git", "ls-files", "--", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True)
    held = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert held == {f"steelman/{path.removeprefix('steelman/')}" for path in listed.stdout.split("\n") if path}
    assert {"steelman/tools/weights/judge/model.onnx", "steelman/prompts/judge.md", "steelman/ui/app.py"} <= held


def test_the_image_is_built_from_what_the_wheel_needs() -> None:
    taken = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert [name for name in taken if not (ROOT / name).exists()] == []
    script = (ROOT / "docker" / "install.sh").read_text()
    assert {*FOLDERS, "docker", "pyproject.toml", "README.md", "LICENSE"} <= taken
    assert set(re.findall(r"requirements[\w-]*\.lock", script)) <= taken
    assert not taken & {"tests", ".git", ".env"}


def test_a_program_is_told_the_line_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "email.py").write_text(FOREIGN)
    monkeypatch.chdir(tmp_path)
    for question, depth, why in (("a\0b", "deep", "null byte"), ("Why?", "deeper", "--deeper")):
        with pytest.raises(steelman.SteelmanError, match=why) as told:
            steelman.ask(question, depth=depth)
        assert told.value.status == 2


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment with the wheel, which shares this one's libraries."""
    base = tmp_path_factory.mktemp("a wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(base)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(base / "env", symlinks=True)
    python = base / "env" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, "--no-compile", *map(str, base.glob("*.whl"))], check=True, capture_output=True)
    (site,) = base.glob("env/lib/*/site-packages")
    (site / "shared.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent


@pytest.mark.slow
def test_the_commands_import_nothing_of_the_folder_that_they_are_typed_in(scripts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "another project"
    for name in ("tools", "agent", "api"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(FOREIGN)
    for name in ("email", "types", "json", "typing"):
        (folder / f"{name}.py").write_text(FOREIGN)
    (folder / "note.md").write_text("Schools should ban smartphones because pupils who are not distracted learn more.")
    (tmp_path / "path" / "tools").mkdir(parents=True)
    (tmp_path / "path" / "tools" / "__init__.py").write_text(FOREIGN)
    environment = {"PATH": "/usr/bin:/bin", "HOME": "", "STEELMAN_DATA_DIR": str(tmp_path / "data")}

    def typed(*command: str, said: str = "") -> tuple[int, str]:
        done = subprocess.run(
            [str(scripts / command[0]), *command[1:]],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(tmp_path / "path")},
            input=said,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    status, text = typed("steelman", "ask", QUESTION)
    assert (status, "More sources: steelman ingest" in text) == (0, True), text
    status, text = typed("steelman", "ingest", "note.md")
    assert (status, "1 document stored" in text) == (0, True), text
    status, text = typed("steelman-api", "--host", "0.0.0.0")
    assert (status, "`steelman-api keys make NAME`" in text) == (2, True), text
    status, text = typed("steelman-mcp", said=json.dumps(INITIALIZE) + "\n")
    assert json.loads(text.splitlines()[0])["result"]["serverInfo"]["name"] == "steelman", text
    for command in ("steelman", "steelman-api", "steelman-evals"):
        status, text = typed(command, "--help")
        assert (status, f"usage: {command} " in text, "python -m" in text) == (0, True, False), text
    status, text = typed("python", "-P", "-m", "steelman", "collections")
    assert (status, "mine" in text) == (0, True), text


@pytest.mark.slow
def test_a_program_asks_beside_packages_of_the_same_names(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("OWN = 'own'")
    (tmp_path / "email.py").write_text("")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([scripts / "python", "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcome, status, text, own, mixed = json.loads(done.stdout)
    assert (outcome, status, own, mixed) == ("answered", 2, "own", False)
    assert text.startswith("there is no collection 'nowhere'")
    assert "`steelman ingest YOUR_FOLDER --collection nowhere`" in text
