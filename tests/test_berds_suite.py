"""The suite `berds`: corpora, rankings, verdicts, figures and the published format."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from search_servers import Found, SearchServer
from web_fixtures import by_word, prose, publish
from web_server import WebServer, open_fetcher

from evals.__main__ import main
from evals.models import PairJudge
from evals.retrievers import corpora
from evals.suites import berds
from tools.models.judges.judge import Pair

VIEWS = ["The {} bridge helps.", "The {} bridge does not help."]
TOPICS = "stone iron road rail toll ferry harbour village market winter".split()


def line(topic: str, **more: Any) -> dict[str, Any]:
    return {"question": f"Does the {topic} bridge help?", "perspectives": [v.format(topic) for v in VIEWS], **more}


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """What a judge that goes by words is asked."""
    asked: list[Pair] = []

    def score(pairs: Sequence[Pair]) -> Any:
        asked.extend(pairs)
        return np.array([by_word(p) for p in pairs], np.float32)

    monkeypatch.setattr(berds, "open_judge", lambda choice: PairJudge("by-word", score, 0.5))
    return asked


def run(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> Any:
    assert main(["berds", *map(str, arguments), *(["--json"] if not status else [])]) == status
    said = capsys.readouterr()
    return said.err if status else json.loads(said.out)


RANKED = [
    ["It helps.", "Snails eat lettuce.", "It harms."],  # both sides, one passage of three off the point
    ["It helps.", "It helps a lot.", "It helps them all."],  # one side
    ["It harms.", "", ""],  # one passage and two empty places
]


def ranked(**more: Any) -> list[dict[str, Any]]:
    return [
        line(t, ctxs=[{"text": x, "title": ""} for x in texts], **more)
        for t, texts in zip(TOPICS[:3], RANKED, strict=True)
    ]


def test_a_given_ranking_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str], judged: list[Pair]) -> None:
    data = write(tmp_path / "own.jsonl", ranked())
    result = run(capsys, "--data", data, "--k", "1,3")
    metrics = result["metrics"]["own"]["ctxs"]
    assert metrics["precision@3"] == pytest.approx((2 / 3 + 1 + 1 / 3) / 3)
    assert (metrics["mrecall@3"], metrics["coverage@3"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert metrics["mrecall@1"] == 1.0  # m = 2 > k = 1: one distinct perspective is enough
    shares = [metrics[f"{kind}@5"] for kind in ("supporting_only", "opposing_only", "both", "neither")]
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert metrics["sycophancy@5"] == pytest.approx((4 - 2) / 4)
    assert judged[0] == Pair("The stone bridge helps.", "It helps.", "The stone bridge does not help.")

    both = run(capsys, "--data", data, write(tmp_path / "half.jsonl", ranked()[:1]), "--k", "3")["metrics"]
    halves = [both[name]["ctxs"]["precision@3"] for name in ("own", "half")]
    assert both["macro-average"]["ctxs"]["precision@3"] == pytest.approx(sum(halves) / 2)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SearchServer, WebServer]]:
    """A page for each topic's bridge, one against every second, one that is missing; nothing at all for the last."""
    with SearchServer() as engine, WebServer() as site:
        for n, topic in enumerate(TOPICS):
            found = [publish(site, "127.0.0.1", f"/{topic}", prose(n, "help"))]
            found += [publish(site, "127.0.0.1", f"/no-{topic}", prose(n + 50, "harm"))] if n % 2 == 0 else []
            found += [site.status("/gone", 404)] if n == 1 else []
            engine.on(f"the {topic} bridge", [Found(url) for url in found] if n < 9 else [])
        monkeypatch.setattr(corpora, "build_fetcher", lambda settings: open_fetcher())
        monkeypatch.setenv("TAVILY_BASE_URL", engine.url)
        yield engine, site


def test_the_web_is_searched_once_and_a_stopped_run_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judged: list[Pair], web: tuple[SearchServer, WebServer]
) -> None:
    engine, site = web
    data, keep = write(tmp_path / "ten.dev.jsonl", [line(t) for t in TOPICS]), tmp_path / "keep"
    command = ("--data", data, "--methods", "ctxs,bm25", "--keep", keep, "--deep")
    result = run(capsys, *command, "--out", tmp_path / "records")
    metrics = result["metrics"]["ten"]["ctxs"]
    # Of a page two segments. Five questions with both sides, four with one, one with nothing.
    expected = {"precision@5": (5 * 4 / 5 + 4 * 2 / 5) / 10, "mrecall@5": 0.5, "coverage@5": 0.7, "mrecall@1": 0.9}
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert metrics["documents_needed"] == 3.0  # of those with both: help, help, harm
    assert "sycophancy@5" in result["metrics"]["ten"]["bm25"]
    assert result["union"]["ten"]["covered"] == 0.5
    assert result["pages"] == {"read": 14, "unread": 1, "engines": ["tavily"]}
    assert [f.partition(":")[0] for f in result["failed"]] == [f"ten {asked} ten line 10" for asked in ("ctxs", "bm25")]
    kept = [json.loads(path.read_text()) for path in keep.iterdir()]
    assert [k["unread"] for k in kept if k["unread"]] == [{f"{site.url}/gone": f"{site.url}/gone: status 404."}]

    asked = (len(engine.requests), len(site.requests), len(judged))
    again = run(capsys, *command)
    assert again["metrics"] == result["metrics"]
    assert (len(engine.requests), len(site.requests), len(judged)) == (asked[0] + 1, *asked[1:])  # the one with nothing
    next(path for path in keep.iterdir() if "the iron bridge" in path.read_text()).unlink()  # as if stopped before it
    run(capsys, *command, "--out", tmp_path / "records")
    assert sorted(q.split()[2] for q in engine.queries[-2:]) == ["iron", "winter"]
