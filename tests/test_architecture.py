"""Documents name paths that exist; libraries do their part; the tour names functions in the order of their calls."""

import re

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
