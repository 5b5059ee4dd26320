"""Documents name paths that exist; libraries do their part; the tour names functions in the order of their calls."""

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


MISSION = {
    # package: (who uses it, what the file says, the document that names the way there, the way)
    "langgraph": ("agent/graph.py", "from langgraph.graph import", "README.md", "make ask"),
    "langchain": ("tools/models/chat/vendors.py", "init_chat_model", "README.md", "STEELMAN_MODEL=anthropic:"),
    "openai": ("tools/models/chat/vendors.py", "import openai", "README.md", "OPENAI_API_KEY="),
    "vllm": ("tools/serving.py", '"vllm.entrypoints', "README.md", "make local-models"),
    "chromadb": ("tools/store/dense_server.py", "chromadb", "README.md", "make ask"),
    "tavily": ("tools/web/engines.py", "AsyncTavilyClient", "README.md", "TAVILY_API_KEY="),
    "sentence_transformers": (
        *("tools/models/encoders.py", "SentenceTransformer("),
        *("docs/providers.md", "STEELMAN_ENCODER="),
    ),
    "streamlit": ("ui/app.py", "import streamlit", "README.md", "make ui"),
    "textblob": ("evals/metrics/stance_alignment.py", "from textblob", "docs/results.md", "python -m evals answers"),
    "transformers": ("evals/training/model.py", "from transformers", "docs/tour.md", "judge-train"),
}


def test_each_library_of_the_mission_does_its_part() -> None:
    """A module uses it, and a document says how a person gets there."""
    for package, (module, use, document, way) in MISSION.items():
        assert use in (ROOT / module).read_text(), package
        assert way in (ROOT / document).read_text(), package


@pytest.mark.slow
def test_the_tour_tells_the_road_of_a_question() -> None:
    told = re.findall(r"`([\w.]+)` in `(agent/[\w/]+\.py)`", (ROOT / "docs" / "tour.md").read_text())
    assert 15 <= len(told) <= 20
    asked = [sys.executable, "-m", "tests.road", "Should schools ban smartphones?"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    road = done.stderr.splitlines()
    places = [road.index(f"{module} {function}") for function, module in told]
    assert places == sorted(places), [name for name, _ in told]
