"""Prompts: files that are filled in whole, and data that stays data, whatever it says."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prompts import FOLDER, PromptError, as_data, load_prompt, read_prompt


def written(folder: Path, text: str) -> Path:
    path = folder / "own.md"
    path.write_text(text, encoding="utf-8")
    return path


# --- the files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda p: p.stem)
def test_every_prompt_has_both_parts_and_says_that_data_gives_no_orders(path: Path) -> None:
    prompt = load_prompt(path.stem)
    assert prompt.variables
    system, user = prompt.render(**dict.fromkeys(prompt.variables, "VALUE"))
    assert "data" in system
    assert user.count("VALUE") == len(re.findall(r"\{\{\w+\}\}", prompt.user))
    assert "{{" not in system + user


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[system]\nBe fair.\n",
        "[system]\nBe fair.\n[user]\n\n",
        "You judge.\n[system]\nBe fair.\n[user]\n{{x}}\n",
        "[user]\n{{x}}\n[user]\n{{y}}\n",
    ],
)
def test_a_file_that_asks_nothing_or_says_more_than_is_used_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(PromptError, match=re.escape(str(tmp_path))):
        read_prompt(written(tmp_path, text))


# --- what comes from outside ------------------------------------------------------------------------------------------


def inside(element: str, tag: str) -> str:
    """The content of the one element; nothing may follow it."""
    found = re.fullmatch(rf"<{tag}(?: \w+=\"[^\"<>]*\")*>([^<>]*)</{tag}>", element)
    assert found is not None, element
    return found[1]


@given(st.text(), st.text())
@settings(max_examples=300, deadline=None)
def test_no_text_leaves_its_element(text: str, title: str) -> None:
    inside(as_data("passage", text, number=1, title=title), "passage")
