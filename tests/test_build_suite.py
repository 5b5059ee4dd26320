"""The suite `build`: questions and news events by a scripted model over HTTP."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Reply

from evals.__main__ import main
from evals.datasets.news import load_news
from evals.datasets.perspectives import load_perspectives

SAMPLES = Path(__file__).with_name("build_samples")
Run = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def run(
    cached: None,
    server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quick_retries: None,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """The suite on a file, into tmp_path / 'made': the status, the result, and what was said on standard error."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "test-model")

    def run_it(kind: str, file: Path, *more: str, to: str = "made") -> tuple[int, dict[str, Any], str]:
        status = main(
            ["build", "--from", kind, str(file), "--to", str(tmp_path / to), "--parallel", "1", "--json", *more]
        )
        said = capsys.readouterr()
        return status, json.loads(said.out or "{}"), said.err

    return run_it


def elements(body: Any, tag: str) -> list[str]:
    """The texts of these elements of the prompt."""
    user = body["messages"][-1]["content"]
    return [unescape(text) for text in re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", user, re.DOTALL)]


def sides(body: Any) -> dict[str, str]:
    [question] = elements(body, "question")
    about = question.removeprefix("Should ").rstrip("?")
    return {"statement": f"It is so that {about}.", "negation": f"It is not so that {about}."}


def script_pairs(server: ModelServer, asked: dict[str, str]) -> None:
    """asked: words of the first argument to the question of the pair."""

    def question(body: Any) -> dict[str, str]:
        return {"question": next(q for words, q in asked.items() if words in elements(body, "argument")[0])}

    server.on("These two arguments are opposed", question)
    server.on("Write two sentences", sides)


ASKED = {
    "carers": "Should the ferry to the island be free?",
    "fish market": "Should the ferry cross at night?",
    "caterpillars": "Should lanes have hedges?",
    "church clock": "Should the church clock strike at night?",
    "pear tree": "Should old orchards be kept?",
    "without staff": "Should village libraries run without staff?",
}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_pairs_become_questions(run: Run, server: ModelServer, tmp_path: Path) -> None:
    script_pairs(server, ASKED)
    status, found, _ = run("pairs", SAMPLES / "pairs.jsonl")
    assert (status, found["metrics"]["lines"], found["metrics"]["failed"]) == (0, 6, 0)
    made = rows(tmp_path / "made" / "pairs.jsonl")
    assert {r["question"] for r in made} == set(ASKED.values())
    [ferry] = [r for r in made if "free" in r["question"]]
    statement = "the ferry to the island be free."
    assert ferry["perspectives"] == [f"It is so that {statement}", f"It is not so that {statement}"]
    assert ferry["topic"]
    read = load_perspectives([str(tmp_path / "made")])["pairs"]
    assert [r.question for r in read] == [r["question"] for r in made], "as `evals expand` reads"


def script_survey(server: ModelServer) -> None:
    def sorted_(body: Any) -> dict[str, Any]:
        personal = "yourself" in elements(body, "item")[0] or "household" in elements(body, "item")[0]
        return {"personal": personal, "why": "It asks for a fact." if personal else "It asks for a view."}

    def converted(body: Any) -> dict[str, str]:
        first, last = elements(body, "item")[0][:20], body["messages"][-1]["content"].count("<choice>")
        return {
            "question": f"Is {first} right?",
            "positive": f"{first} is right.",
            "negative": f"{first} is wrong {last}.",
        }

    server.on("lived through?", sorted_)
    server.on("two ends of its scale", converted)


def test_personal_items_are_excluded_and_a_stopped_run_resumes(run: Run, server: ModelServer, tmp_path: Path) -> None:
    server.on("spend a gift", Reply("the key is no longer in force", status=401), times=1)
    script_survey(server)
    out = ("--out", str(tmp_path / "records.jsonl"))
    status, _, error = run("survey", SAMPLES / "survey.jsonl", *out)
    assert status == 1
    assert "401" in error
    assert not (tmp_path / "made").exists()
    before = len(server.prompts())
    assert before == 6, "three items: of one it is asked whether it is left out"
    status, found, _ = run("survey", SAMPLES / "survey.jsonl", *out)
    assert len(server.prompts()) - before == 5, "what was asked before is asked no more"
    assert found["metrics"]["left_out_share"] == pytest.approx(2 / 6)
    assert found["left_out"] == ["line 2: It asks for a fact.", "line 5: It asks for a fact."]
    made = rows(tmp_path / "made" / "survey.jsonl")
    assert len(made) == 4
    assert made[0]["perspectives"][1].endswith("wrong 2."), "the first and the last choice are shown, and no other"


def test_articles_become_events_that_the_news_suite_reads(run: Run, server: ModelServer, tmp_path: Path) -> None:
    votes: dict[str, int] = {}

    def headline(body: Any) -> dict[str, str]:
        articles = elements(body, "article")
        return {"headline": f"{'Skerra' if 'Skerra' in articles[0] else 'Goose'} event of {len(articles)} articles."}

    def vote(body: Any) -> dict[str, bool]:
        [text] = elements(body, "paragraph")
        votes[text] = votes.get(text, 0) + 1
        if "Subscribe" in text:
            return {"relevant": False}
        return {"relevant": "sandwich" not in text or votes[text] != 2}  # two of three for the boy with the sandwich

    server.on("These articles report one event", headline)
    server.on("Does the paragraph tell", vote)
    status, found, _ = run("articles", SAMPLES / "articles.jsonl")
    metrics = found["metrics"]
    assert (status, metrics["events"], metrics["alone"], metrics["paragraphs"]) == (0, 2, 1, 11)
    assert metrics["agreement"] == pytest.approx(10 / 11)
    assert metrics["relevant"] == pytest.approx(10 / 11)
    news = load_news(tmp_path / "made")
    assert [e.headline for e in news.measured] == ["Skerra event of 3 articles.", "Goose event of 2 articles."]
    assert news.sizes["paragraphs"] == 12
    assert [p.label for e in news.events for p in e.paragraphs if "Subscribe" in p.text] == [False]


@pytest.mark.parametrize(
    ("kind", "lines", "message"),  # nobody is asked: the server has no script
    [
        ("pairs", [{"first": "a"}], "line 1: 'second': Field required"),
        ("survey", [{"question": "q", "choices": ["a"]}], "line 1: 'choices'"),
        ("answers", [], "has no lines"),
        ("songs", [{}], "there is no kind of file 'songs'"),
    ],
)
def test_bad_files_are_named(run: Run, tmp_path: Path, kind: str, lines: list[Any], message: str) -> None:
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, _, error = run(kind, tmp_path / "bad.jsonl")
    assert status == 2
    assert message in error
