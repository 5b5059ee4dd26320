"""Documents name paths that exist, and the tour names functions in the order of their calls."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT


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


@pytest.mark.slow
def test_the_tour_tells_the_road_of_a_question() -> None:
    told = re.findall(r"`([\w.]+)` in `(agent/[\w/]+\.py)`", (ROOT / "docs" / "tour.md").read_text())
    assert 15 <= len(told) <= 20
    asked = [sys.executable, "-m", "tests.road", "Should schools ban smartphones?"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    road = done.stderr.splitlines()
    places = [road.index(f"{module} {function}") for function, module in told]
    assert places == sorted(places), [name for name, _ in told]
