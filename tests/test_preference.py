"""The preference study: statistics by hand, ballots, the page for votes, the suite."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION
from page_app import Client, Pages, click, html
from providers import build
from sqlalchemy import select
from streamlit.testing.v1 import AppTest
from test_ui import page  # noqa: F401  # a fixture
from test_ui_parts import ANSWER, HOSTILE, passage

from agent.answer.ballots import CRITERIA, Ballots, Choice
from agent.runs import service as session
from agent.runs.service import Runs
from agent.settings import Settings
from evals.__main__ import main
from tools.store import schema
from tools.store.database import Database

pytestmark = pytest.mark.both_stores


@pytest.fixture
def ballots(settings: Settings) -> Ballots:
    """Two ballots, of a hostile answer whose two passages are cited."""
    made = Ballots(Database(settings.database))
    said = "No boat carries a town. The answer is <b>to build bridges</b>, says the town."
    for question in (QUESTION, f"{QUESTION} {HOSTILE}"):
        made.add(question, ANSWER.model_copy(update={"summary": HOSTILE}), [passage(n, said) for n in (7, 1, 4)], 1)
    return made


def test_a_ballot_is_blind(ballots: Ballots) -> None:
    ballot = ballots.drawn_for("x")[0]
    assert [said for _, said, _ in ballot.ranked] == ["“The answer is <b>to build bridges</b>, says the town.”"] * 2
    drawn = [ballot.blinded(f"voter-{n}") for n in range(200)]
    assert 70 < sum(names == ("answer", "list") for *_, names in drawn) < 130
    assert drawn == [ballot.blinded(f"voter-{n}") for n in range(200)], "a reload changes nothing"
    ballots.add(ballot.question, ANSWER, [], 2)
    assert ballots.drawn_for("x")[0] == ballot, "a ballot with votes does not change"
    assert {(left == ballot.answer, names[0]) for left, _, names in drawn} == {(True, "answer"), (False, "list")}


def cookie(app: AppTest) -> dict[str, str]:
    return dict(re.findall(r"document\.cookie = '(\w+)=([\w-]+);", html(app)))


def test_a_person_votes_returns_and_corrects(
    page: Pages,  # noqa: F811
    ballots: Ballots,
) -> None:
    app = page(view="vote")
    page.client = Client(cookies=cookie(app))
    assert "1 of 2" in html(app)
    assert "<script>alert" not in html(app)
    assert not [b for b in app.button if b.label in ("New question", "Settings")], "no history beside the ballot"
    app.radio[0].set_value("left").run()
    [vote] = ballots.votes()
    first = vote.ballot
    app = page(view="vote")  # a reload, or another day
    assert [radio.value for radio in app.radio] == ["left", None, None, None]
    assert next(b for b in app.button if b.label == "Next").disabled
    for radio in app.radio[1:]:
        radio.set_value("same").run()
    app.text_area[0].set_value("Clearer.")
    click(app, "Next")
    assert "2 of 2" in html(app)
    [vote] = ballots.votes(vote.voter)
    assert (list(vote.choices.values()), vote.reason) == (["left", "same", "same", "same"], "Clearer.")
    click(app, "Back").radio[0].set_value("right").run()
    assert next(v for v in ballots.votes(vote.voter) if v.ballot == first).choices["organisation"] == "right"
    assert not app.exception


def test_only_its_browser_reads_and_changes_a_vote(page: Pages, ballots: Ballots) -> None:  # noqa: F811
    app = page(view="vote")
    kept = cookie(app)
    app.text_area[0].set_value("My reason.").run()
    [voter] = {vote.voter for vote in ballots.votes()}
    token = kept["steelman_voter"]
    assert len(token) >= 43
    assert token not in voter, "figures name voters"
    tried: list[tuple[dict[str, str], dict[str, Any]]] = [({}, {"voter": voter}), ({"steelman_voter": voter}, {})]
    for cookies, query in [*tried, ({}, {"voter": token, "n": "1"})]:
        page.client = Client(cookies=cookies)
        other = page(view="vote", **query)
        assert "My reason." not in [area.value for area in other.text_area]
        other.text_area[0].set_value("Another's.").run()
        assert token not in cookie(other).values()
    assert [vote.reason for vote in ballots.votes(voter)] == ["My reason."]
    page.client = Client(cookies=kept)
    assert "My reason." in [area.value for number in "12" for area in page(view="vote", n=number).text_area]


def test_with_logins_a_vote_belongs_to_the_person(page: Pages, ballots: Ballots) -> None:  # noqa: F811
    ann, bob = ({"is_logged_in": True, "iss": "https://id.example.org", "sub": name} for name in ("ann", "bob"))
    page(ann, view="vote").text_area[0].set_value("Ann's.").run()
    for claims, sees in ((bob, False), (ann, True)):
        shown = [area.value for number in "12" for area in page(claims, view="vote", n=number).text_area]
        assert ("Ann's." in shown) is sees
    assert "steelman_voter" not in html(page(ann, view="vote"))
    assert "ann" not in ballots.votes()[0].voter


Suite = Callable[..., tuple[int, str, str]]


@pytest.fixture
def suite(settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Suite:
    monkeypatch.setattr(session, "Runs", partial(Runs, build=build()))
    monkeypatch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main(["preference", *map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_study_from_questions_to_figures(suite: Suite, settings: Settings, tmp_path: Path) -> None:
    asked = [f"Should towns build {n} bridges?" for n in "no two three four five six seven eight".split()]
    file = lines(tmp_path / "asked.jsonl", [{"question": q} for q in [*asked, asked[0]]])
    assert (
        "line 9: 'question' is 'Should towns build no bridges?', as in line 1"
        in suite("--prepare", "--questions", file)[2]
    )
    lines(file, [{"question": q} for q in [*asked, "???"]])
    assert suite("--prepare", "--questions", file, "--limit", 4)[0] == 0  # stopped after some
    status, out, _ = suite("--prepare", "--questions", file, "--json")
    found = json.loads(out)
    assert (status, found["config"]["ballots"], found["metrics"]["preference"]) == (0, 8, None)
    assert [name.partition(":")[0] for name in found["failed"]] == ["???"]
    with closing(Database(settings.database)) as database:
        assert database.rows(select(schema.runs)) == [], "the history would tell which page was the answer"
        ballots = Ballots(database)
        for voter in ("voter-1", "voter-2"):
            for ballot in ballots.drawn_for(voter):
                said: Choice = "left" if ballot.blinded(voter)[2][0] == "answer" else "right"
                said = "same" if voter == "voter-2" else said
                ballots.vote(ballot, voter, dict.fromkeys(CRITERIA, said), "")
    found = json.loads(suite("--json")[1])
    assert (found["metrics"]["preference"], found["intervals"]["preference"]) == (0.75, [0.5, 1.0])
    assert (found["voters"], found["votes"]) == (2, 16)
    assert "preference 8 8 0 75.0 [50.0, 100.0]" in " ".join(suite()[1].split())
