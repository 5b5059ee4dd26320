"""Answers written by hand: what a test does not say of a citation, a side or an answer is as plain as can be."""

from typing import Any

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation, CoverageLine, Usage


def cited(number: int, **changes: Any) -> Citation:
    plain = {"document_id": f"d{number}", "collection": "mine", "quote": "q", "title": f"Title {number}", "url": ""}
    source = {"publisher": f"Press {number}", "kind": "news", "date": "", "support": 0.9, "sample": False}
    return Citation(number=number, **{"passage_id": number, **plain, **source, **changes})


def stands(side: str, stance: Any, statement: str, *claims: AnswerClaim, **changes: Any) -> AnswerPerspective:
    name = {"supports": "For", "opposes": "Against"}.get(stance, statement.rstrip("."))
    words = {"name": name, "statement": statement, "stance": stance, "status": "supported", "claims": list(claims)}
    return AnswerPerspective(id=side, **{**words, **changes})


def covered(side: AnswerPerspective, **changes: Any) -> CoverageLine:
    counts = {"strength": "some", "passages": 2, "sources": 2, "strongest": 0.9}
    found = {"status": side.status, **counts, "queries": [side.statement]}
    return CoverageLine(perspective=side.id, **{**found, **changes})


def answer(question: str, *sides: AnswerPerspective, **changes: Any) -> Answer:
    words = {"question": question, "neutral_question": question, "outcome": "answered", "summary": "They disagree."}
    made = {"perspectives": list(sides), "citations": [], "coverage": [covered(s) for s in sides], "notes": []}
    about = {"run_id": "run", "providers": {"frame": "embedded"}, "timings": {"total": 0.1}, "usage": Usage()}
    return Answer(**{**words, **made, **about, **changes})
