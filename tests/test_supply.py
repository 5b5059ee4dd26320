"""What is installed: locks with hashes, without what is never loaded, and the table of their licences."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
from conftest import ROOT
from licences import TABLE, locked, table

LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ABSENT = (
    "kubernetes",
    "huggingface_hub",
    "hf_xet",
    "oauthlib",
    "requests_oauthlib",
    "aiohttp",
    "websocket",
    "durationpy",
)
_LOADED = f"""
import sys
for name in {ABSENT!r}:
    sys.modules[name] = None  # an import of it fails, installed or not
import chromadb, chromadb.api.fastapi, chromadb.api.rust
import langchain_openai, langgraph.graph, openai, streamlit, tavily, tokenizers
import agent.runs.service, api.serving, tools.store.dense, tools.store.dense_server
chromadb.EphemeralClient().create_collection("sides", embedding_function=None).add(ids=["a"], embeddings=[[1.0, 0.0]])
"""


@pytest.mark.parametrize("name", LOCKS)
def test_everything_locked_is_pinned_and_has_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) == len(list(locked(ROOT / name))) > 1
    assert [entry for entry in entries if not re.search(r" --hash=sha256:[0-9a-f]{64}\b", entry)] == []


def test_what_is_never_loaded_is_in_no_lock_of_the_runtime() -> None:
    excluded = set(SETTINGS["tool"]["uv"]["exclude-dependencies"])
    assert {"kubernetes", "huggingface-hub"} <= excluded
    for name in ("requirements.lock", "requirements-langgraph.lock"):
        assert excluded & dict(locked(ROOT / name)).keys() == set()
    assert {"hf-xet", "oauthlib", "aiohttp"} & dict(locked(ROOT / "requirements.lock")).keys() == set()


def test_what_is_installed_together_is_locked_once() -> None:
    names = [n for lock in ("", "-hub", "-dev") for n, _ in locked(ROOT / f"requirements{lock}.lock")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.slow
def test_nothing_needs_what_is_left_out() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _LOADED], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_table_of_licences_fits_the_locks() -> None:
    locks = [pair for lock in ("requirements.lock", "requirements-hub.lock") for pair in locked(ROOT / lock)]
    assert [name for name, version in locks if metadata.version(name) != version] == [], "installed and not locked"
    assert table() == TABLE.read_text(), "write it again: make licences"
