"""The documents fit the code: the tour's folders, the paths that documents name, the glossary."""

import re
from pathlib import Path

from conftest import ROOT

TOUR = (ROOT / "docs" / "tour.md").read_text()


def test_the_tour_names_every_folder_of_agent_and_tools() -> None:
    named = set(re.findall(r"^\| `((?:agent|tools)/\w+)/`", TOUR, re.M))
    folders = {
        f"{name}/{place.parent.name}" for name in ("agent", "tools") for place in (ROOT / name).glob("*/__init__.py")
    }
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
