"""A chat model that checks claims: what it is told, in how many calls, and what is made of its answers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from answering_model import check_reply
from model_server import ModelServer, Reply

from tools.models.chat.model import ChatModel
from tools.models.judges.checker import ClaimCheck, ClaimChecker
from tools.passages import Passage

FOR, AGAINST = "Ferries should be free.", "Ferries should not be free."
_CLAIM = re.compile(r'<claim label="(\w+)" cites="([\w ]*)"([^>]*)>(.*?)</claim>')
_LINE = re.compile(r"^(?:<document[^>]*>)?\[(P\w+)\] (.*?)(?:</document>)?$", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """A claim of a request: its label, the texts that it cites, its other attributes."""

    label: str
    text: str
    cites: list[str]
    told: str


def asked(body: Any) -> list[Asked]:
    text = unescape(body["messages"][-1]["content"])
    passages = dict(_LINE.findall(text))
    return [Asked(label, t, [passages[p] for p in c.split()], told) for label, c, told, t in _CLAIM.findall(text)]


def saying(answer: Callable[[Asked], dict[str, str]]) -> Callable[[Any], Any]:
    """A reply with what `answer` says of each claim, where it is not 'yes'."""
    usual = {"said": "yes", "serves": "yes", "corrected": ""}

    def reply(body: Any) -> Reply:
        said = [{"claim": a.label, **usual, **answer(a)} for a in asked(body)]
        return Reply(check_reply(said), usage=(len(str(body)) // 4, 9))  # of fewer tokens a prompt was cut

    return reply


@pytest.fixture
def checker(chat_model: ChatModel) -> ClaimChecker:
    return ClaimChecker(chat_model)


def passage(number: int, text: str, document: str = "", **known: Any) -> Passage:
    return Passage(number, document or f"d{number}", "c", text, position=number, **known)


LETTER = {"document": "letter", "title": "A letter to the editor", "publisher": "The Courier", "date": "2024-05-03"}
FIRST = passage(1, "Ferries carry nurses.", **LETTER)
SECOND = passage(2, "Nobody pays for a bridge.", speaker="Cllr Moen", section="Debate", **LETTER)
OTHER = passage(3, "Free ferries are soon cancelled.")


async def test_all_claims_are_checked_in_one_call(server: ModelServer, checker: ClaimChecker) -> None:
    claims = [
        ClaimCheck("Ferries carry nurses.", FOR, (SECOND, FIRST)),
        ClaimCheck("Free ferries end soon.", AGAINST, (OTHER,), hints=("not found: soon", "not found: </claim>")),
        ClaimCheck("Bridges cost nothing.", FOR, (SECOND,), objection=True),
        ClaimCheck("Some say this, some that.", "", (FIRST, OTHER)),
    ]
    server.on("", saying(lambda a: {"serves": "no"} if "nothing" in a.text else {}))
    verdicts, fooled = await checker.check(claims)
    assert ([v.serves for v in verdicts], fooled) == ([0.95, 0.95, 0.05, 0.95], False)
    [prompt] = server.prompts()
    heading = '<document title="A letter to the editor" publisher="The Courier" date="2024-05-03">'
    assert re.search(rf"{heading}\[P\w\w\] Ferries carry nurses.\n\[P\w\w\] Debate \| Cllr Moen: Nobody", prompt)
    assert all(prompt.count(p.text) == 1 + (p is FIRST) for p in (FIRST, SECOND, OTHER))  # one is a claim's text too
    sides = {text: label for label, text in re.findall(r'<side label="(\w+)">(.*?)</side>', prompt)}
    told = {a.text: a.told for a in asked(server.requests[0].body)}
    assert told["Ferries carry nurses."] == f' for="{sides[FOR]}"'
    assert told["Bridges cost nothing."] == f' against="{sides[FOR]}"'
    assert told["Some say this, some that."] == ""
    assert f' for="{sides[AGAINST]}" hint="not found: soon; not found: &lt;/claim&gt;">' in prompt
    assert [sorted(a.cites, key=len) for a in asked(server.requests[0].body) if a.text == claims[0].text] == [
        ["Ferries carry nurses.", "Debate | Cllr Moen: Nobody pays for a bridge."]
    ]


async def test_labels_and_order_are_new_for_each_call(server: ModelServer, checker: ClaimChecker) -> None:
    server.on("", saying(lambda a: {}), times=12)
    claims = [ClaimCheck(f"Claim {n}.", FOR, (OTHER,)) for n in range(3)]
    for _ in range(12):
        await checker.check(claims)
    orders = [[(a.label, a.text) for a in asked(r.body)] for r in server.requests]
    assert len({tuple(text for _, text in order) for order in orders}) > 1
    assert len({label for order in orders for label, _ in order}) > 20


async def test_a_missing_verdict_is_asked_for_once_more(server: ModelServer, checker: ClaimChecker) -> None:
    def forgetful(body: Any) -> Any:
        [known] = [a.label for a in asked(body) if a.text == "One."] or ["C??"]
        return {"hold": [known], "others": []}

    server.on("", forgetful, forgetful)
    verdicts, _ = await checker.check([ClaimCheck(text, FOR, (FIRST,)) for text in ("One.", "Two.")])
    assert [v.answered for v in verdicts] == [True, False]
    assert [[a.text for a in asked(r.body)] for r in server.requests][1] == ["Two."]
