"""Replies of a model that does what each prompt asks, for runs of the whole agent against the scripted server."""

import re
from html import unescape
from typing import Any

from model_replies import Body
from model_server import ModelServer

_PASSAGE = re.compile(r'<passage number="(\d+)"[^>]*>(.*?)</passage>', re.DOTALL)
_STATEMENT = re.compile(r"<statement>(.*?)</statement>", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?]+[.!?]")

FRAMED = {
    "form": "polar",
    "neutral": "Should voting be compulsory?",
    "claim": "Voting should be compulsory.",
    "negation": "Voting should not be compulsory.",
    "alternatives": [],
    "topic": "compulsory voting",
    "focus": "",
}
SIDES = {
    "perspectives": [
        {"name": "Make it a duty", "statement": "Voting should be compulsory.", "stance": "supports"},
        {"name": "Leave it free", "statement": "Voting should not be compulsory.", "stance": "opposes"},
        {"name": "Make it easy", "statement": "Voting should be made easier, not compulsory.", "stance": "other"},
    ]
}


def answering(server: ModelServer, *, again: bool = False) -> ModelServer:
    """The server with rules that answer every stage for a question on compulsory voting; `again`: a side needs it."""
    server.on("- neutral: one short question", FRAMED, times=1)
    server.on("List the perspectives", SIDES, times=1)
    if again:
        server.on("new queries that could find", {"queries": ["turnout law evidence", "fines for absent voters"]})
    server.on("Write up to", case_of, times=3)
    return server


def case_of(body: Body) -> dict[str, Any]:
    """A claim for each of the first passages: the longest sentence of it, as a writer would keep to its source."""
    text = body["messages"][-1]["content"]
    claims = []
    for number, passage in _PASSAGE.findall(text)[:5]:
        sentence = max(_SENTENCE.findall(unescape(passage)), key=len, default="").strip()
        claims.append({"text": " ".join(sentence.split()), "passages": [int(number)]})
    return {"claims": claims}
