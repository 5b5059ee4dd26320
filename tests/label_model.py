"""Labelled documents, and a chat model that knows their labels and nothing else.

A folder has `docs/`, `questions.json` (a list of form, question and sides, each side with name and statement) and
`labels.csv` with the columns file, sentence, side and who. `side` is yes, no, other or none. `who` is empty where
nobody is named; ' / ' separates names that are all right.

The model plans the sides of `questions.json` and gives each passage the sides of the labelled sentences in it. It
writes each labelled sentence of a side as a claim, 'Ann Roe says: …' with the label's first name, and says nothing of
other passages. It accepts a claim if its labelled sentence stands in a cited passage and takes the claim's side.
"""

import csv
import json
import re
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from answering_model import CITED, NUMBERED, SIDE, STAGES, check_reply, read_request
from model_replies import Body, Reply
from model_server import ModelServer
from speaker_rates import plain

SIDES = ("yes", "no", "other", "none")
OPPOSITE = {"yes": "no", "no": "yes"}
STANCES = {"supports": "yes", "opposes": "no"}
_MOST_CLAIMS, _MOST_OBJECTIONS = 24, 12  # that a reply may have
_FEWEST_WORDS = 4  # of a part of a labelled sentence
_CHECKED = re.compile(r'<claim label="(\w+)" cites="([\w ]*)"(?: (for|against)="(\w+)")?[^>]*>(.*?)</claim>')


class Label(NamedTuple):
    """A sentence of a file, its side and who says it."""

    file: str
    sentence: str
    side: str
    who: str

    @property
    def names(self) -> list[str]:
        return self.who.split(" / ")

    @property
    def claim(self) -> str:
        """The sentence as a model writes it."""
        return f"{self.names[0]} says: {self.sentence}" if self.who else self.sentence

    def fits(self, text: str) -> bool:
        """Whether the text holds the sentence or is a part of it."""
        own, other = plain(self.sentence), plain(text)
        return own in other or (len(other.split()) >= _FEWEST_WORDS and other in own)


class Pages(NamedTuple):
    """The labelled documents of a folder."""

    folder: Path
    labels: list[Label]
    questions: list[dict[str, Any]]


def read_pages(folder: Path) -> Pages:
    """Returns the folder's labels and questions. Raises ValueError if something is missing or wrong."""
    if lacking := [n for n in ("docs", "labels.csv", "questions.json") if not (folder / n).exists()]:
        raise ValueError(f"{folder} has no {lacking[0]}.")
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if lacking := [n for n in Label._fields if not rows or n not in rows[0]]:
        raise ValueError(f"{folder}/labels.csv has no column {lacking[0]}, or no row.")
    labels = [Label(*(row[n] or "" for n in Label._fields)) for row in rows]
    if wrong := [label for label in labels if label.side not in SIDES]:
        raise ValueError(f"{folder}/labels.csv has the side '{wrong[0].side}'; a side is {', '.join(SIDES)}.")
    if wrong := [label for label in labels if not (folder / "docs" / label.file).is_file()]:
        raise ValueError(f"{folder}/docs has no '{wrong[0].file}', which labels.csv names.")
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    if not all({"form", "question", "sides"} <= {*question} for question in questions):
        raise ValueError(f"{folder}/questions.json has a question without form, question or sides.")
    return Pages(folder, labels, questions)


class LabelModel:
    """The model; its methods reply to the agent's requests."""

    def __init__(self, pages: Pages) -> None:
        self._labels, self._questions = pages.labels, pages.questions
        self._side_of = {side["statement"]: name for q in pages.questions for name, side in q["sides"].items()}

    def serve(self, server: ModelServer) -> None:
        replies = {"expand": self.plan, "judge": self.verdicts, "write": self.case, "check": self.checks}
        for stage, reply in replies.items():
            server.on(STAGES[stage], partial(_reply, reply))
        server.on(STAGES["requery"], {"queries": []}).on(STAGES["crux"], {"text": "", "claims": []})

    def plan(self, body: Body) -> dict[str, Any]:
        asked = next(q for q in self._questions if q["question"] == _element(body, "question"))
        stances = {name: stance for stance, name in STANCES.items()} if asked["form"] == "polar" else {}
        sides = [{**s, "english": "", "stance": stances.get(n, "other")} for n, s in asked["sides"].items()]
        words = {"language": "English", "english": "", "focus": "", "perspectives": sides}
        return {"form": asked["form"], "question": asked["question"], **words}

    def verdicts(self, body: Body) -> dict[str, Any]:
        sides, passages = read_request(body)
        asked = {self._side_of[text]: label for text, label in sides.items() if text in self._side_of}
        verdicts, no_side = list[dict[str, Any]](), list[str]()
        for text, label in passages.items():
            found = {each.side for each in self._in(text)}
            own = [asked[side] for side in found if side in asked]
            denied = [asked[OPPOSITE[side]] for side in found if OPPOSITE.get(side) in asked]
            if own:
                verdicts.append({"passage": label, "for": own, "against": denied, "weak": []})
            elif found:
                no_side.append(label)
        return {"verdicts": verdicts, "no_side": no_side, "off_question": []}

    def case(self, body: Body) -> dict[str, Any]:
        text, side = body["messages"][-1]["content"], self._side_of.get(_element(body, "statement"), "")
        said = [
            (each.side, {"passages": [int(number)], "speakers": each.names[:1], "text": each.claim})
            for number, passage in NUMBERED.findall(text)
            for each in self._in(unescape(passage))
        ]
        claims, against = ([claim for own, claim in said if own == wanted] for wanted in (side, OPPOSITE.get(side)))
        objections = {"objections": against[:_MOST_OBJECTIONS]} if "\nobjections: " in text else {}
        return {"claims": claims[:_MOST_CLAIMS], **objections}

    def checks(self, body: Body) -> dict[str, Any]:
        text, verdicts = body["messages"][-1]["content"], list[dict[str, str]]()
        sides = {label: self._side_of.get(unescape(statement), "") for label, statement in SIDE.findall(text)}
        passages = {label: plain(unescape(words)) for label, words in CITED.findall(text)}
        for label, cites, way, side, words in _CHECKED.findall(text):
            claim = unescape(words)
            meant = [each for each in self._labels if each.fits(claim)]
            taken = {each.side for each in meant}
            said = any(plain(each.sentence) in passages[cited] for cited in cites.split() for each in meant)
            serves = not way or (sides[side] in taken) == (way == "for")
            yes_no = ("no", "yes")
            verdicts.append({"claim": label, "said": yes_no[said], "serves": yes_no[serves]})
        return check_reply(verdicts)

    def _in(self, text: str) -> list[Label]:
        return [label for label in self._labels if plain(label.sentence) in plain(text)]


def _reply(make: Callable[[Body], dict[str, Any]], body: Body) -> Reply:
    """The reply, with as many tokens as a vendor would count: from fewer the agent concludes that a prompt was cut."""
    return Reply(make(body), usage=(len(body["messages"][-1]["content"]) // 3, 100))


def _element(body: Body, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", body["messages"][-1]["content"])
    return unescape(found[1]) if found else ""
