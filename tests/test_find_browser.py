"""Where the page's browser is looked for, and what is said where there is none."""

import stat
from pathlib import Path

import pytest

from evals import __main__ as evals
from evals.benchmarks.browser import PageServer, chromium, find_chromium
from tools.errors import ModelError, SettingsError


def put(folder: Path, name: str) -> Path:
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_the_named_one_comes_first_then_the_usual_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_chromium() is None
    chrome = put(tmp_path, "google-chrome")
    assert find_chromium() == chrome
    usual = put(tmp_path, "chromium")
    assert find_chromium() == usual
    own = put(tmp_path, "my-browser")
    monkeypatch.setenv("STEELMAN_CHROMIUM", str(own))
    assert find_chromium() == own
    monkeypatch.setenv("STEELMAN_CHROMIUM", str(tmp_path / "nowhere"))
    assert find_chromium() is None  # what was named is not replaced by another


def test_without_a_browser_it_is_said_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match=r"apt-get install .*chromium.*STEELMAN_CHROMIUM"), chromium():
        pass
    assert evals.main(["bench", "page"]) == 1
    assert "there is no Chromium here" in capsys.readouterr().err


def test_a_page_that_does_not_come_up_says_why(tmp_path: Path) -> None:
    server = PageServer(tmp_path / "home", start=("-c", "raise SystemExit('out of paper')"))
    with pytest.raises(ModelError, match="out of paper"):
        server.start()
