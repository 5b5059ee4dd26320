"""A chat model for whole runs on the samples: it answers every stage on the questions it knows, as slow as wanted."""

import re
from html import unescape
from typing import Any

from answering_model import QUERIES, STAGES, case_of
from model_replies import Body
from model_server import ModelServer, Reply

PHONES = "Should schools ban smartphones?"
VOTING = "Should voting be compulsory?"
_EARLIER = re.compile(r"<earlier_question>(.*?)</earlier_question>", re.DOTALL)
_YES = {PHONES: "Schools should ban smartphones.", VOTING: "Voting should be compulsory."}
_NO = {PHONES: "Schools should not ban smartphones.", VOTING: "Voting should not be compulsory."}


def speaking(server: ModelServer, *, delay: float = 0.0) -> dict[str, str]:
    """Gives the server its rules; returns the settings of a page that asks it. delay: seconds that each reply takes."""
    server.on(STAGES["frame"], lambda body: Reply(_framed(_text(body)), delay=delay))
    server.on(STAGES["expand"], lambda body: Reply(_sides(_text(body)), delay=delay))
    server.on(STAGES["again"], Reply(QUERIES, delay=delay))
    server.on(STAGES["write"], lambda body: Reply(case_of(body), delay=delay))
    return {"OPENAI_BASE_URL": server.url, "STEELMAN_MODEL": "test-model"}


def _text(body: Body) -> str:
    return unescape("\n".join(m["content"] for m in body["messages"]))


def _framed(text: str) -> dict[str, Any]:
    """A follow-up on the cost: a question of its own is framed by rules."""
    asked = (_EARLIER.search(text) or [text, PHONES])[1].strip()
    known = asked if asked in _YES else PHONES
    return {
        "form": "polar",
        "question": known,
        "alternatives": [],
        "focus": "cost",
    }


def _sides(text: str) -> dict[str, Any]:
    known = next(q for q in _YES if q in text)
    return {
        "perspectives": [
            {"name": "The plain yes", "statement": _YES[known], "stance": "supports"},
            {"name": "The plain no", "statement": _NO[known], "stance": "opposes"},
        ]
    }
