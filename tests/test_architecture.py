"""The picture of the architecture and the tour fit the code; the picture is read from the code as it is."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evals.__main__ import main
from evals.suites import architecture
from evals.suites.architecture import FLOORS, PICTURE, ROOT, floor, main_line, opening, ordered, stage_edges

TOUR = (ROOT / "docs" / "tour.md").read_text()


def test_the_picture_fits_the_code(tmp_path: Path) -> None:
    assert main(["architecture", "--out", str(tmp_path / "drawn.svg")]) == 0
    assert (tmp_path / "drawn.svg").read_text() == PICTURE.read_text(), "draw it again: python -m evals architecture"


def test_the_picture_needs_nothing_from_elsewhere_and_is_small() -> None:
    text = PICTURE.read_text()
    assert len(text.encode()) < 30_000
    assert "prefers-color-scheme:dark" in text
    assert re.findall(r"(?:https?:|url\((?!#)|@import|<image|<script)", text) == ["http:"]  # the namespace's name
    words = [element.text for element in ElementTree.fromstring(text).iter() if element.tag.endswith("}text")]
    for name in (*(package for packages in FLOORS for package in packages), "nodes", "evidence", "language"):
        assert words.count(name) == 1
    for stage in {stage for edge in stage_edges() for stage in edge}:
        assert stage in words


def test_the_main_line_leaves_out_what_a_direct_edge_goes_around() -> None:
    line = "frame expand review retrieve judge select write verify".split()
    assert main_line(stage_edges()) == line
    assert main_line([("a", "b"), ("b", "c"), ("c", "d"), ("b", "d"), ("d", "e")]) == ["a", "b", "d", "e"]


def test_rooms_are_ordered_so_that_few_imports_point_up() -> None:
    arrows = Counter({("low", "top"): 1, ("top", "low"): 3, ("mid", "low"): 2, ("top", "mid"): 1})
    assert ordered(["low", "mid", "top"], arrows) == ["top", "mid", "low"]
    assert ordered(["b", "a"], Counter()) == ["a", "b"]


def test_a_package_is_read_from_its_files(tmp_path: Path) -> None:
    for name, text in {
        "agent/__init__.py": '"""The agent. More."""',
        "agent/state.py": "",
        "agent/graph.py": "from agent.nodes import frame",
        "agent/nodes/__init__.py": '"""Stages: `frame` and others."""',
        "agent/nodes/frame.py": "import agent.evidence.pool\nfrom agent import state",
        "agent/evidence/__init__.py": '"""Worth."""',
        "agent/evidence/pool.py": "def late():\n    from agent.state import x",
        "agent/runs/__init__.py": '"""Runs."""\nfrom agent import graph',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    read = floor(tmp_path, "agent")
    assert read.text == "The agent"
    assert read.rooms == {"runs": "Runs", "nodes": "Stages: frame and others", "evidence": "Worth"}
    assert read.arrows == {("runs", "nodes"): 1, ("nodes", "evidence"): 1}
    assert read.modules == ("state",)


@pytest.mark.parametrize(
    ("documented", "shown"),
    [
        ("Words of all kinds, and more of them", "Words of all kinds"),
        ("Words of many kinds: long, short", "Words of many kinds"),
        ("Words without any mark at all", "Words without any mark …"),
        ("Words. And more", "Words"),
    ],
)
def test_a_long_docstring_gives_its_first_clauses(tmp_path: Path, documented: str, shown: str) -> None:
    (tmp_path / "__init__.py").write_text(f'"""{documented}."""')
    assert opening(tmp_path, 24) == shown


def test_a_place_where_no_file_can_be_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(architecture, "drawing", lambda root: "")
    assert main(["architecture", "--out", str(tmp_path)]) == 1
    assert "Name another file with --out" in capsys.readouterr().err


# The tour


def test_the_tour_names_every_folder_of_agent_and_tools() -> None:
    named = set(re.findall(r"^\| `((?:agent|tools)/\w+)/`", TOUR, re.M))
    folders = {f"{name}/{room}" for name in ("agent", "tools") for room in floor(ROOT, name).rooms}
    assert named == folders | {"tools/weights"}


def test_the_documents_name_paths_that_are_there() -> None:
    paths, lost = 0, []
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = document.read_text()
        named = re.findall(r"`((?:agent|api|docs|evals|prompts|samples|tests|tools|ui)/[\w/.-]*)`", text)
        linked = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
        places = [*((ROOT / path, path) for path in named), *((document.parent / link, link) for link in linked)]
        lost += [f"{document.name}: {path}" for place, path in places if not place.exists()]
        paths += len(places)
    assert paths > 150
    assert lost == []


def test_the_words_of_the_glossary_are_defined_where_it_says() -> None:
    rows = re.findall(r"^\| [\w ]+ \| .+ \| `(\w+)` in `([\w/.]+)` \|$", TOUR, re.M)
    assert len(rows) > 25
    lost = [f"{name} in {path}" for name, path in rows if not defines(ROOT / path, name)]
    assert lost == [], "renamed or moved: mend the glossary of docs/tour.md"


def defines(file: Path, name: str) -> bool:
    text = file.read_text() if file.exists() else ""
    return bool(re.search(rf"^(?:class |(?:async )?def )?{name}\b", text, re.M))
