"""The suite `news`: data, measures and methods by hand, the command."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals.__main__ import main
from evals.datasets.news import NewsEvent, NewsParagraph, load_news
from evals.retrievers.news import EventCandidates, named
from evals.retrievers.published_selections import Clustered
from tools.errors import InputError
from tools.models.cache import VectorCache

FROZEN = "The harbour froze over on Monday and the ferries stayed in port."
TEXTS: dict[str, dict[str, str]] = {
    "7": {
        "7_https://www.Harbour-News.example/ice_p0": f"{FROZEN} Two hundred passengers had to wait for the thaw.",
        "7_https://www.Harbour-News.example/ice_p1": "Read our letter every morning before the first ferry leaves.",
        "7_https://coast.example/a_p0": f"{FROZEN} The harbour master called for an icebreaker from the north.",
        "7_https://coast.example/a_p1": "  ",
    },
    "12": {
        "12_https://coast.example/b_p0": "A bakery on the market square baked the longest bread of the coast.",
        "12_p1": "The bread of the bakery was cut by the mayor and eaten by noon.",
    },
    "3": {"3_https://hills.example/c_p0": "Sheep were driven from the hills down to the winter meadows."},
}
HEADLINES = {
    "7": "The harbour froze over and the ferries stayed in port.",
    "12": "A bakery baked the longest bread of the coast.",
    "3": "Sheep leave the hills.",
}
LABELS: dict[str, dict[str, int]] = {
    "7": dict(zip(TEXTS["7"], (1, 0, 1, 0), strict=True)),
    "12": dict.fromkeys(TEXTS["12"], 1),
}


def write(folder: Path, headlines: Any = HEADLINES, texts: Any = TEXTS, labels: Any = LABELS) -> Path:
    """A folder in the released layout; a text in the place of an object is written as it is."""
    for name in ("raw_data", "news_text_by_paragraph", "annotation"):
        (folder / name).mkdir(parents=True)
    files = {folder / "raw_data" / "headline.json": headlines}
    files |= {folder / "news_text_by_paragraph" / f"{e}_by_paragraph.json": found for e, found in texts.items()}
    files |= {folder / "annotation" / f"{e}_by_paragraph.json": found for e, found in labels.items()}
    for path, value in files.items():
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for part in sorted(folder.rglob("*.json")):
            file.write(part, part.relative_to(folder.parent))
    return path


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.db")


# Data


def test_a_zip_and_a_folder_give_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path / "around" / "Small")
    news = load_news(folder)
    assert [(e.id, e.headline) for e in news.events] == list(HEADLINES.items())
    assert [e.id for e in news.measured] == ["7", "12"]
    assert (news.name, news.without_text, len(news.corpus)) == ("Small", 1, 6)
    first, second, third = news.events[0].paragraphs
    assert (first.text[:11], first.label) == ("The harbour", True)
    assert news.events[0].positives == (first, third)
    assert news.events[0].annotated == {first.id, second.id, third.id}
    assert first.article == second.article == "https://www.Harbour-News.example/ice"
    assert [p.article for p in news.events[1].paragraphs] == ["https://coast.example/b", "12_p1"]
    for other in (load_news(folder.parent), load_news(zipped(folder, tmp_path / "news.zip"))):
        assert (other.name, other.events, other.digest) == (news.name, news.events, news.digest)
    write(folder.parent / "Other")
    with pytest.raises(InputError, match="several sets: Other, Small"):
        load_news(folder.parent)


# Paragraph 0 says two things of cluster 0; 1 says one of it; 2 one of 1; 3 one of 1 and one that nobody else says.
SAID = Clustered(np.array([0, 0, 1, 2, 3, 3]), np.array([0, 0, 0, 1, 1, -1]))


# Methods


def ready() -> EventCandidates:
    """Four candidates: a1 and a2 alike, b1 and a3 alike; a1, a3 and a4 are relevant, and a4 was not found.

    b1 is another event's. a1 and a3 are of one article. The clusters are those of SAID, what nobody else says being
    cluster 2.
    """
    labels = {"a1": True, "a2": False, "a3": True, "a4": True}
    event = NewsEvent("a", "What happened?", tuple(NewsParagraph(i, "", label=v) for i, v in labels.items()))
    cosine = np.array([0.9, 0.8, 0.7, 0.6], np.float32)
    return EventCandidates(
        event=event,
        ids=["a1", "a2", "b1", "a3"],
        articles=["one", "two", "three", "one"],
        vectors=np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32),
        cosine=cosine,
        clusters=Clustered(SAID.paragraph, np.array([0, 0, 0, 1, 1, 2])),
        positives=Clustered(np.array([0, 1, 2]), np.array([0, 1, 1])),
        place={"a1": 0, "a3": 1, "a4": 2},
        seconds={"search": 1.0, "clustering": 5.0},
    )


@pytest.mark.parametrize(
    ("name", "k", "chosen"),
    [
        ("dense", 9, [0, 1, 2, 3]),
        # a2: 0.75 · 0.8 − 0.25 · 1 = 0.35; b1: 0.75 · 0.7 − 0.25 · 0 = 0.525
        ("mmr", 2, [0, 2]),
        # 2μ(1 − λ) / (k(k − 1)) = 0.5 / 2: a2: 0.6 − 0.25 = 0.35; b1: 0.525
        ("dkmips", 2, [0, 2]),
        # a3 brings two clusters; then a1 and a2 bring one, and a1 is nearer
        ("scs", 2, [3, 0]),
        # a1: 0.04 + 0.9; then a2: 0.8, b1: 0.04 + 0.7, a3: 0.08 + 0.6
        ("scs-released", 2, [0, 1]),
        # Clusters are worth (0.9 + 0.9 + 0.8) / 3 = 0.867, (0.7 + 0.6) / 2 = 0.65, 0.6:
        # a1: 0.867 + 0.45 = 1.317; a2: 1.267; b1: 1.0; a3: 0.65 + 0.6 + 0.3 = 1.55. Then a1 again.
        ("greedyplus", 2, [3, 0]),
    ],
)
def test_the_methods_by_hand(name: str, k: int, chosen: list[int]) -> None:
    assert named([name])[name].choose(ready(), k) == chosen


# The suite


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = zipped(write(tmp_path / "Small"), tmp_path / "news.zip")
    command = ["news", "--data", str(data), "--k", "1,3", "--seed", "3", "--methods", "scs,mmr"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert list(report["metrics"]["Small"]) == ["dense", "scs", "mmr"]
    assert report["metrics"]["Small"]["dense"]["precision@1"] == 1.0
    assert report["metrics"]["Small"]["dense"]["distance@1"] is None
    assert report["config"]["sizes"]["Small"] == {
        "questions": 2, "annotated": 2, "events": 3, "paragraphs": 6, "without_text": 1,
    }  # fmt: skip
    assert main([*command, "--limit", "1"]) == 0
    assert "Small: 1 of 2 annotated events; 6 paragraphs on 3 events" in capsys.readouterr().out
