"""The outside parts of a run, each played well: which stage a request belongs to, what a good reply is, what settings
turn the part on.

The library has twelve documents for bridges and twelve against. The chat model plans a third side, ferries, which the
library is silent on; the embedded judge's stand-in accepts one document against bridges only. So every run searches
for a side once more, and goes through all stages.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any

from evals.benchmarks.instant import InstantEncoder
from evals.faults.chroma import play_chroma
from evals.faults.injected import NAN, WRONG_COUNT, WRONG_SHAPE, Reply, packed_json
from evals.faults.server import Asked, Play
from tools.passages import SourceDocument

QUESTION = "Should towns build bridges?"
_CLAIM, _NEGATION = "Towns should build bridges.", "Towns should not build bridges."
_FERRIES = "Towns should run ferries in the place of bridges."
_QUERIES = ("ferry boats for small towns", "what a ferry costs a town")
_MODEL = "scripted"
KEY = "sk-fault-0123456789"
_ELEMENT = re.compile(r'<(side|passage|claim|statement)(?: (?:label|number)="(\w+)")?[^>]*>(.*?)</\1>', re.DOTALL)
_FRAMED = {
    "form": "polar",
    "neutral": QUESTION,
    "claim": _CLAIM,
    "negation": _NEGATION,
    "alternatives": [],
    "topic": "towns building bridges",
    "focus": "",
}
_SIDES = [
    {"name": "Build them", "statement": _CLAIM, "stance": "supports"},
    {"name": "Leave it", "statement": _NEGATION, "stance": "opposes"},
    {"name": "Run ferries", "statement": _FERRIES, "stance": "other"},
]
_GAINS = ("trade", "schools", "markets", "doctors", "letters", "visitors")
_PLACES = "Arden Brill Corby Dunmow Ewell Frome Goole Hythe Ilford Jarrow Kelso Ludlow".split()


def library() -> list[SourceDocument]:
    """What the store holds: texts of three sentences, each of a publisher of its own."""
    return [
        SourceDocument(f"{place.lower()}-{side}", text, publisher=f"{place} {side} Press")
        for n, place in enumerate(_PLACES)
        for side, text in (
            ("pro", f"Towns should build bridges, since {place} gained {_GAINS[n % 6]} by its own. {_more(place, n)}"),
            ("con", f"Towns should not build bridges, since {place} went into debt for one. {_more(place, n + 7)}"),
        )
    ]


def _more(place: str, n: int) -> str:
    return f"The council of {place} counted {n + 3} years of work. Its people remember year {1900 + n} for it."


def own_support(statement: str, text: str) -> float:
    """What the embedded judge's stand-in makes of a pair."""
    return 0.9 if leans(text) == statement and (statement != _NEGATION or _PLACES[0] in text) else 0.05


def leans(text: str) -> str:
    """The statement that a text of this library, or a page, argues for."""
    if "ferr" in text.lower():
        return _FERRIES
    return _NEGATION if " not " in text else _CLAIM


# The chat model

_STAGES = {
    "FramedQuestion": "frame",
    "PlannedSides": "expand",
    "Verdicts": "judge",
    "PlannedQueries": "requery",
    "WrittenCase": "write",
    "CheckedClaims": "verify",
    "WrittenCrux": "crux",
}


def play_chat(asked: Asked) -> tuple[str, Reply]:
    """An OpenAI-compatible server, streamed."""
    if asked.method == "GET":
        return "models", Reply({"object": "list", "data": [{"id": _MODEL, "object": "model"}]}, packed_json)
    shape = str(asked.body["response_format"]["json_schema"]["name"])
    good, altered = _said(shape, str(asked.body["messages"][-1]["content"]))
    streamed = {name: json.dumps(value) for name, value in altered.items()}
    return _STAGES[shape], Reply(json.dumps(good), _stream, "text/event-stream", altered=streamed)


def _stream(content: str) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": _MODEL}
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    events = [{**head, "choices": [choice]}, {**head, "choices": [], "usage": usage}]
    return ("".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n").encode()


def _said(shape: str, prompt: str) -> tuple[Any, dict[str, Any]]:
    """What the model says, and its own faults: another shape, more or fewer items than were asked for."""
    elements = [(kind, label, unescape(text)) for kind, label, text in _ELEMENT.findall(prompt)]
    passages = [(label, text) for kind, label, text in elements if kind == "passage"]
    labels = {text: label for kind, label, text in elements if kind == "side"}
    odd: dict[str, Any] = {WRONG_SHAPE: {"answer": [42, {"nested": None}]}}
    match shape:
        case "FramedQuestion":
            return _FRAMED, odd
        case "PlannedSides":
            return {"perspectives": _SIDES}, odd | {WRONG_COUNT: {"perspectives": []}}
        case "PlannedQueries":
            return {"queries": list(_QUERIES)}, odd | {WRONG_COUNT: {"queries": []}}
        case "Verdicts":
            verdicts = [
                {"passage": label, "side": labels.get(leans(text), "none"), "grade": "clear"}
                for label, text in passages
            ]
            return {"verdicts": verdicts}, odd | {WRONG_COUNT: {"verdicts": []}}
        case "CheckedClaims":
            claims = [label for kind, label, _ in elements if kind == "claim"]
            checked = [{"claim": label, "said": "yes", "serves": "yes"} for label in claims]
            return {"claims": checked}, odd | {WRONG_COUNT: {"claims": []}}
        case "WrittenCase":
            written = [{"text": _first(text), "passages": [int(number)]} for number, text in passages[:4]]
            return {"claims": written}, odd | {WRONG_COUNT: {"claims": []}}
    return {"text": "", "passages": []}, odd


def _first(text: str) -> str:
    return " ".join(text.split(". ")[0].split()).rstrip(".") + "."


# The judge, the encoder, the search engine, the web


def play_judge(asked: Asked) -> tuple[str, Reply]:
    """A cross-encoder behind /score. Passages are judged, and then sentences of them are read."""
    statements, texts = asked.body["text_1"], asked.body["text_2"]
    scores = [0.9 if leans(t) == s else 0.05 for s, t in zip(statements, texts, strict=True)]
    rows = _rows("score", scores)
    whole = any(text.count(". ") >= 2 for text in texts)
    altered = {
        WRONG_SHAPE: {"data": {"scores": "all fine"}},
        WRONG_COUNT: {"data": rows[:-1]},
        NAN: {"data": _rows("score", [float("nan")] * len(scores))},
    }
    return "judge" if whole else "select", Reply({"object": "list", "data": rows}, packed_json, altered=altered)


def play_encoder(asked: Asked) -> tuple[str, Reply]:
    """An embeddings server. The first search encodes the question alone, those of the sides their statements, and the
    second one its new queries."""
    texts = asked.body["input"]
    vectors = InstantEncoder().encode(texts).tolist()
    rows = _rows("embedding", vectors)
    short = _rows("embedding", [v[:5] for v in vectors])
    altered = {
        WRONG_SHAPE: {"data": [{"index": i, "embedding": "none"} for i in range(len(texts))]},
        WRONG_COUNT: {"data": rows[:-1] or short},
        NAN: {"data": _rows("embedding", [[float("nan")] * len(v) for v in vectors])},
    }
    new = set(texts) - {_CLAIM, _NEGATION, QUESTION}
    stage = "requery" if new else "retrieve" if {_CLAIM, _NEGATION} & set(texts) else "expand"
    return stage, Reply({"object": "list", "data": rows}, packed_json, altered=altered)


def _rows(name: str, values: list[Any]) -> list[dict[str, Any]]:
    return [{"index": i, "object": name, name: value} for i, value in enumerate(values)]


def play_engine(asked: Asked) -> tuple[str, Reply]:
    """A search engine that speaks Tavily's format, and the pages that it finds, on the same server."""
    root = f"http://{asked.headers['host']}"
    if asked.method == "GET":
        return "page", Reply(
            _page(asked.path), str.encode, "text/html; charset=utf-8", altered={WRONG_SHAPE: '{"no": 1}'}
        )
    query = asked.body["query"]
    start = sum(map(ord, query)) % 100
    topic = "ferry" if "ferr" in query.lower() else "bridge"
    found = [f"{root}/{topic}/{start + i}" for i in range(4)]
    rows = [{"url": url, "title": url, "content": topic, "score": 0.5} for url in found]
    altered = {
        WRONG_SHAPE: {"query": query, "results": {"first": 1}},
        WRONG_COUNT: {"query": query, "results": rows * 200},
        NAN: {"query": query, "results": [row | {"score": float("nan"), "title": None} for row in rows]},
    }
    stage = "retrieve" if query in (_CLAIM, _NEGATION) else "requery"
    return stage, Reply({"query": query, "results": rows}, packed_json, altered=altered)


def _page(path: str) -> str:
    _, topic, number = path.split("/")[:3]
    verb = "run ferries" if topic == "ferry" else "build bridges"
    said = " ".join(
        f"Towns should {verb}, said reader {number}{n} of the {topic} paper, since {gain} grew in year {1900 + n}."
        for n, gain in enumerate(_GAINS)
    )
    head = f'<title>The {topic} {number}</title><meta property="og:site_name" content="Town {number} Times">'
    return f"<html><head>{head}</head><body><main><article><h1>The {topic} {number}</h1><p>{said}</p></article></main>"


# The parts of the table


@dataclass(frozen=True)
class Part:
    """A row group of the table. stages: those in which it is asked, in their order. settings: what turns it on at an
    address. named: words one of which a note on its failure holds. partial: whether other passages may come of it
    without a failure, as of a page that is cut, or of fewer pages."""

    stages: tuple[str, ...]
    settings: Callable[[str], Mapping[str, Any]]
    play: Play
    named: tuple[str, ...]
    partial: bool = False


def _chat(root: str) -> dict[str, Any]:
    return {"openai_base_url": f"{root}/v1", "model": _MODEL, "openai_api_key": KEY}


def _judge(root: str) -> dict[str, Any]:
    return {"judge_url": f"{root}/score", "judge_model": _MODEL, "judge_api_key": KEY}


def _encoder(root: str) -> dict[str, Any]:
    return {"embeddings_url": f"{root}/v1", "embeddings_model": _MODEL, "embeddings_api_key": KEY}


def _engine(root: str) -> dict[str, Any]:
    return {"tavily_base_url": root, "tavily_api_key": KEY}


PARTS: dict[str, Part] = {
    "chat model": Part(tuple(_STAGES.values()), _chat, play_chat, (_MODEL,)),
    "judge": Part(("judge", "select"), _judge, play_judge, ("judge", _MODEL)),
    "encoder": Part(("expand", "retrieve", "requery"), _encoder, play_encoder, ("encoder", "vectors")),
    "search engine": Part(("retrieve", "requery"), _engine, play_engine, ("Tavily", "web search"), partial=True),
    "web pages": Part(("page",), _engine, play_engine, ("web page", "page"), partial=True),
    "Chroma server": Part(("open", "query"), lambda root: {"chroma_url": root}, play_chroma, ("Chroma", "search")),
}
