"""The suite `news`: data, measures and methods by hand, the command."""

import json
import math
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.__main__ import main
from evals.datasets.news import NewsEvent, NewsParagraph, NewsSet, load_news
from evals.metrics.diversity import f1, figures, measures, ratios
from evals.reports import results
from evals.retrievers.news import EventCandidates
from evals.retrievers.news_methods import ABLATIONS, METHODS, SWEEP, article_cosine, held_out, named
from evals.retrievers.published_selections import Clustered
from evals.suites.news import NewsPlan, measured, scored, table
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
    assert (first.text[:11], first.source, first.label) == ("The harbour", "harbour-news.example", True)
    assert news.events[0].positives == (first, third)
    assert news.events[0].annotated == {first.id, second.id, third.id}
    assert first.article == second.article == "https://www.Harbour-News.example/ice"
    assert [p.article for p in news.events[1].paragraphs] == ["https://coast.example/b", "12_p1"]
    for other in (load_news(folder.parent), load_news(zipped(folder, tmp_path / "news.zip"))):
        assert (other.name, other.events, other.digest) == (news.name, news.events, news.digest)


ONE = next(iter(TEXTS["7"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": TEXTS | {"9": {"a": "b"}}}, r"headline\.json has no headline for event '9'"),
        ({"texts": TEXTS | {"3": {ONE: "Words."}}}, r"paragraph '7_h.*' is in two events"),
        ({"labels": {"7": {ONE: 2}}}, r"annotation/7_by_paragraph\.json: '7_.*_p0': .* 0 or 1"),
        ({"labels": {}}, r"annotation says of no paragraph whether it is relevant"),
    ],
)
def test_bad_data_is_named_by_file_paragraph_and_field(tmp_path: Path, changes: Any, message: str) -> None:
    folder = write(tmp_path / "Small", **changes)
    for data in (folder, zipped(folder, tmp_path / "news.zip")):
        with pytest.raises(InputError, match=message):
            load_news(data)


# Paragraph 0 says two things of cluster 0; 1 says one of it; 2 one of 1; 3 one of 1 and one that nobody else says.
SAID = Clustered(np.array([0, 0, 1, 2, 3, 3]), np.array([0, 0, 0, 1, 1, -1]))


def rows(**values: Sequence[float]) -> dict[str, NDArray[np.float64]]:
    base = {f"{reading}{m}@5": (0.5, 0.5) for reading in ("", "published_") for m in ("precision", "recall")}
    return {name: np.array(row) for name, row in (base | {f"{m}@5": row for m, row in values.items()}).items()}


EVENTS = ["one", "other"]


def test_f1_is_of_the_means_and_no_mean_of_f1s() -> None:
    found = measures(rows(precision=(1, 0), recall=(0.5, 1), density=(0.25, math.nan)), [5], EVENTS)
    assert found["f1@5"].value == f1(0.5, 0.75) == 0.6  # the mean of 2/3 and 0 would be 1/3
    assert found["f1@5"].statistic(np.array([0, 0])) == pytest.approx(2 / 3)
    assert found["published_f1@5"].value == 0.5
    assert found["density@5"].value == 0.25  # an event in which a measure is not defined does not count in it
    assert math.isnan(found["density@5"].statistic(np.array([1, 1])))


def test_ratios_and_the_papers() -> None:
    dense = {"published_f1@5": 0.5, "distance@5": 0.0, "density@5": 0.4, "coverage@5": 0.25}
    other = {"published_f1@5": 0.4, "distance@5": 0.3, "density@5": 0.6, "coverage@5": 0.5}
    found = ratios("LocalNews", "greedyplus", dense, other)
    assert {m: round(r["here"], 9) for m, r in found.items() if m != "distance@5"} == {
        "published_f1@5": 0.8,
        "density@5": 1.5,
        "coverage@5": 2.0,
    }
    assert math.isnan(found["distance@5"]["here"])
    assert found["coverage@5"]["paper"] == pytest.approx(62.2 / 34.2)
    assert ratios("DSGlobal", "mmr", dense, other)["coverage@5"]["paper"] == pytest.approx(28.7 / 24.6)  # table 3
    assert math.isnan(ratios("Other", "mmr", dense, other)["coverage@5"]["paper"])


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


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("scs+enough:0.6", [3, 0, 1]),  # a3 covers two thirds; the rest by similarity
        ("greedyplus+stop:0.6", [3]),
        ("greedyplus:inf", [0, 1, 2]),  # no clusters: dense retrieval
        ("greedyplus:0", [3, 1, 0]),  # clusters alone: a3 1.25; then a2, which ties with a1 and has fewer sentences
        # λ = 4: a1 0.867 + 3.6, a2 0.867 + 3.2 and 3.2, b1 0.65 + 2.8, a3 1.25 + 2.4
        ("greedyplus:4", [0, 3, 1]),
        # 0.5 · 0.8 − 0.5 · 1 = −0.1 for a2, 0.35 for b1; then −0.1 for a2, −0.2 for a3
        ("mmr:0.5", [0, 2, 1]),
        # μ = 0.1: 2 · 0.1 · 0.5 / 6 = 0.017: a2 0.4 − 0.017, b1 0.35
        ("dkmips:0.5:0.1", [0, 1, 2]),
    ],
)
def test_numbers_and_rules_by_hand(name: str, chosen: list[int]) -> None:
    assert named([name])[name].choose(ready(), 3) == chosen


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bm26", "no method 'bm26'"),
        ("mmr:1.5", "λ from 0 to 1"),
        ("dense:1", "dense takes no numbers"),
        ("mmr+stop:0.5", "for the methods that cover clusters"),
        ("scs+enough:2", "a share from 0 to 1"),
    ],
)
def test_a_wrong_name_is_an_error(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        named([name])


def test_an_article_is_as_near_as_its_nearest_paragraph() -> None:
    assert article_cosine(ready()).tolist() == pytest.approx([0.9, 0.8, 0.7, 0.9])
    # a1, a2 and a3 are worth next to 1, b1 0.38; clusters 0.96, (0.38 + 0.99) / 2, 0.99: a3 brings 2.2, then a1 or a2
    assert named(["greedyplus-calibrated"])["greedyplus-calibrated"].choose(ready(), 4) == [3, 0, 1, 2]


# The suite


def plan(news: NewsSet, *methods: str, **changes: Any) -> NewsPlan:
    return NewsPlan(news, news.measured, named(methods or METHODS), changes.pop("cutoffs", [1, 2]), **changes)


def test_the_figures_of_an_event_by_hand() -> None:
    # a1 and a2: one of two is relevant, of three in all; both of four are annotated; they are alike; one cluster in
    # three sentences; of the two relevant clusters (a1 | a3, a4) one is covered.
    assert figures(ready(), [0, 1], 2) == {
        "precision@2": 1 / 2,
        "recall@2": 1 / 3,
        "published_precision@2": 1.0,
        "published_recall@2": 2 / 4,
        "distance@2": 0.0,
        "density@2": 1 / 3,
        "coverage@2": 1 / 2,
        "coverage_without_noise@2": 1 / 2,
        "chosen@2": 2.0,
    }
    assert figures(ready(), [2], 1)["published_precision@1"] == 0.0  # b1 is another event's


def two_events() -> tuple[NewsSet, list[EventCandidates]]:
    """The event above, and one that differs in that b1 is relevant and its only cluster."""
    one = ready()
    other = replace(one.event, id="b", paragraphs=(NewsParagraph("b1", "", label=True),))
    two = replace(
        one,
        event=other,
        place={"b1": 0},
        positives=Clustered(np.array([0]), np.array([-1])),
        seconds={"search": 1.0, "clustering": 7.0},
    )
    return NewsSet("Two", (one.event, other), 0), [one, two]


def test_the_report_by_hand() -> None:
    news, events = two_events()
    asked = plan(news, "mmr", "scs", cutoffs=[2])
    report = scored(asked, measured(asked, iter(events)), "toy")
    dense, mmr = (report["metrics"]["Two"][name] for name in ("dense", "mmr"))
    # dense finds a1, a2; mmr a1, b1; scs a3, a1
    assert (dense["precision@2"], mmr["precision@2"]) == ((1 / 2 + 0) / 2, 1 / 2)
    assert (dense["recall@2"], mmr["recall@2"]) == ((1 / 3 + 0) / 2, (1 / 3 + 1) / 2)
    assert mmr["f1@2"] == f1(1 / 2, 2 / 3)
    assert (dense["coverage@2"], mmr["coverage@2"]) == ((1 / 2 + 0) / 2, (1 / 2 + 1) / 2)
    assert report["intervals"]["Two"]["mmr"]["coverage@2"] == (0.5, 1.0)  # events of 1/2 and of 1
    assert report["paired"]["Two"]["scs"]["coverage@2"] == {"difference": 0.25, "interval": (0.0, 0.5)}
    assert report["ratios"]["Two"]["scs"]["coverage@2"]["here"] == 2.0
    assert report["items"]["Two"]["scs"]["recall@2"] == (("a", 2 / 3, 1.0), ("b", 0.0, 1.0))


def test_the_held_out_half_is_reported_separately() -> None:
    news, events = two_events()
    asked = plan(replace(news, name="LocalNews"), "greedyplus-calibrated", cutoffs=[2])
    report = scored(asked, measured(asked, iter(events)), "toy")
    (held,) = held_out(news.measured)
    all_, half = (report["items"][data]["dense"]["precision@2"] for data in ("LocalNews", "LocalNews, held out"))
    assert list(half) == [row for row in all_ if row[0] == held]
    assert [one["questions"] for one in report["config"]["sizes"].values()] == [2, 1]
    assert report["metrics"]["LocalNews, held out"]["dense"]["precision@2"] == half[0][1]
    assert [line.data for line in results.measured(report)] == ["LocalNews"] * 2 + ["LocalNews, held out"] * 2
    shown = "\n".join(table(report | {"seconds": 1.0, "one_table": False}))
    assert shown.index("LocalNews: 2 of 2") < shown.index("LocalNews, held out: 1 of 2 annotated events")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = zipped(write(tmp_path / "Small"), tmp_path / "news.zip")
    command = ["news", "--data", str(data), "--k", "1,3", "--seed", "3", "--methods", "scs,mmr"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert list(report["metrics"]["Small"]) == ["dense", "scs", "mmr"]
    assert report["metrics"]["Small"]["dense"]["precision@1"] == 1.0
    assert report["metrics"]["Small"]["dense"]["distance@1"] is None
    assert report["config"]["sizes"]["Small"] == {
        "questions": 2, "annotated": 2, "events": 3, "paragraphs": 6, "sources": 3, "without_text": 1,
    }  # fmt: skip
    assert main([*command, "--limit", "1"]) == 0
    assert "Small: 1 of 2 annotated events; 6 paragraphs from 3 sources on 3 events" in capsys.readouterr().out


def test_a_sweep_in_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(write(tmp_path / "Small"))
    command = ["news", "--data", data, "--k", "2", "--sweep", "--ablations"]
    assert main([*command, "--methods", "bm25"]) == 0
    shown = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in shown.split("s an event")[0].splitlines() if line.strip()}
    assert {"dense", "bm25", *SWEEP, *ABLATIONS} <= set(rows)
    assert rows["greedyplus:inf"][:2] == rows["dense"][:2]
