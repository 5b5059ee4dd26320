"""The suite 'model': a scripted chat model in whole runs, what it is counted by, and asking one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.settings import load_settings
from evals.__main__ import main
from evals.scripted.live import QUESTIONS, ask_live
from evals.scripted.player import Page, Player, Written
from evals.scripted.runs import Found, read_topics
from evals.scripted.server import Call
from evals.suites.model import figures_of, table
from tools.errors import InputError

FOR, AGAINST = "Ferries should be free.", "Ferries should not be free."
PAGES = [
    Page(id="f1", side="for", text="Free ferries carry nurses to work. A crossing costs a nurse 9 pounds a day."),
    Page(id="a1", side="against", text="Free ferries are soon cancelled. Skerra lost its boat in 2011."),
    Page(id="m1", side="mixed", text="Some islanders want free ferries and others want more of them."),
]
CLAIMS = [
    Written(text="A crossing costs a nurse 9 pounds a day.", kind="true", side="for", pages=("f1",)),
    Written(text="A crossing costs a nurse 90 pounds a day.", kind="number", side="for", pages=("f1",)),
    Written(text="Skerra lost its boat in 2011.", kind="true", side="against", pages=("a1",)),
    Written(text="Every boat was lost in 2012.", kind="phantom", side="against", pages=("X-99",)),
]


def player(manner: Any = "right") -> Player:
    statements = {"for": FOR, "against": AGAINST}
    return Player("Should ferries be free?", statements, PAGES, list(CLAIMS), manner, 1)


def asked(*passages: str) -> str:
    shown = "\n".join(f'<passage label="P{n}">{text}</passage>' for n, text in enumerate(passages))
    return f'<side label="SA">{AGAINST}</side>\n<side label="SF">{FOR}</side>\n{shown}'


def verdicts(script: Player, prompt: str) -> dict[str, set[str]]:
    """The sides that each passage is said to be on."""
    found: dict[str, set[str]] = {}
    for verdict in script("Verdicts", prompt)["verdicts"]:
        found.setdefault(verdict["passage"], set()).add(verdict["side"])
    return found


def test_it_judges_by_the_gold_or_in_its_manner() -> None:
    said = verdicts(player(), asked(PAGES[0].text, PAGES[1].text, "Bakers bake bread."))
    assert said == {"P0": {"SF"}, "P1": {"SA"}, "P2": {"none"}}
    assert verdicts(player("first"), asked(PAGES[0].text))["P0"] == {"SA"}, "the first side of the call"
    assert verdicts(player(), asked(PAGES[2].text))["P0"] == {"SF", "SA"}
    assert verdicts(player("favour"), asked(PAGES[2].text))["P0"] == {"SA"}


def test_the_measures_by_hand() -> None:
    found = Found(
        claims=[("a 0", "true", True), ("a 0", "true", False), ("a 0", "number", True), ("b 0", "clause", False)],
        sides=[("a 0", 3, 4), ("a 0", 2, 2)],
        spent=[("a", [Call(0, 1, 100, 1), Call(1, 2, 50, 1)])],
        slow=[(4, 5.0), (5, 5.5)],
    )
    told = figures_of(found, 1)
    assert [told[n]["value"] for n in ("kept", "bad", "sources")] == [0.5, 0.5, 0.5]
    assert (told["calls"], told["tokens"], told["sentences"]) == (2, 150, 3.0)
    assert (told["chain"], told["slowest"]) == (5, 1.25)
    assert told["let_through"] == {"number": 1}
    assert "right: let through: 1 number" in table({"judges": {"right": told}})


def test_the_gold_is_read() -> None:
    topics = read_topics(Path("evals/gold/claims"), "dev")
    assert [len(t.pages) for t in topics] == [24, 24, 24]
    assert all(t.statements["for"] != t.statements["against"] for t in topics)


@pytest.mark.usefixtures("cached")
def test_whole_runs_are_asked_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evals.scripted.runs.A_SECOND", 0.1)

    def lines(rows: list[dict[str, Any]]) -> str:
        return "".join(f"{json.dumps(row)}\n" for row in rows)

    topic = {"topic": "t", "question": "Should ferries be free?", "for": FOR, "against": AGAINST}
    pages = [
        {"topic": "t", "id": p.id, "side": p.side, "text": p.text, "title": f"Title {p.id}", "publisher": p.id}
        for p in PAGES
    ]
    claims = [
        {"topic": "t", "half": "dev", "kind": c.kind, "side": c.side, "pages": list(c.pages), "text": c.text}
        for c in CLAIMS
    ]
    (tmp_path / "topics.jsonl").write_text(lines([topic]))
    (tmp_path / "pages.jsonl").write_text(lines(pages))
    (tmp_path / "claims.jsonl").write_text(lines(claims))
    assert main(["model", "--data", str(tmp_path), "--judges", "all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["judges"]["all"]
    assert (told["kept"]["value"], told["kept"]["over"]) == (1.0, 2)
    assert (told["bad"]["value"], told["bad"]["over"]) == (0.0, 2), "a figure and a page that do not exist"
    assert told["calls"] >= 5
    assert main(["model", "--data", str(tmp_path), "--half", "last"]) == 2
    assert main(["model", "--judges", "nobody"]) == 2


async def test_ones_own_model_is_not_asked_before_the_price_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no chat model"):
        await ask_live(load_settings(), yes=True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    far = load_settings(openai_base_url="http://192.0.2.1/v1", model="m", prices="m=1/4")
    with pytest.raises(InputError, match="nothing was asked"):
        await ask_live(far, yes=False)
    assert f"{len(QUESTIONS)} questions to m: up to 310,000 tokens, about $0.49 at most" in capsys.readouterr().err
