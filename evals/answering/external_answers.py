"""Reads another agent's answers for the suite `answers`, one line a question, in the form of `POST /v1/ask`.

Required: `question`; `perspectives`, each with `stance`, `statement` and `claims` (`text`, the numbers `citations`);
`citations`, each with `number` and `document_id`. A claim is a quotation unless its `quoted` is false.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.answer.model import Answer
from evals.datasets.cases import Case
from evals.datasets.rows import Shape, Text, json_rows, problem
from evals.reports.records import Record
from tools.passages import SourceDocument

_ANSWER: Record = dict.fromkeys(("run_id", "neutral_question", "summary"), "") | {"outcome": "answered"}
_ANSWER |= {"coverage": [], "notes": [], "providers": {}, "timings": {}, "usage": {}}
_CITATION: Record = dict.fromkeys(("collection", "quote", "title", "url", "publisher", "date"), "")
_CITATION |= {"kind": "unknown", "support": None, "sample": False}


class _Line(Shape, extra="allow"):
    question: Text
    perspectives: list[dict[str, Any]]
    citations: list[dict[str, Any]]


def read_answers(path: Path, cases: Iterable[Case], documents: Sequence[SourceDocument]) -> dict[str, Record]:
    """Returns a record for each question, as if the suite had asked the question. A question without a line counts as
    failed. Raises InputError with file, line and field, for example for an unknown or repeated question or an unknown
    document."""
    texts, empty = {d.external_id: d.text for d in documents}, f"{path.name} has no line for it"
    found: dict[str, Record] = {c.question: {"case": c.key, "failed": empty} for c in cases}
    for row in json_rows(path):
        line = _ANSWER | row.read(_Line).model_dump()
        sides, cited = enumerate(line["perspectives"], start=1), enumerate(line["citations"], start=1)
        line["perspectives"] = [{"id": f"p{n}", "name": "", "status": "supported"} | side for n, side in sides]
        line["citations"] = [_CITATION | {"passage_id": n} | one for n, one in cited]
        try:
            answer, record = Answer.model_validate(line), found.get(line["question"], Record())
        except ValidationError as exc:
            raise row.wrong(problem(exc)) from exc
        if "failed" not in record:
            raise row.wrong("'question' is not in the set, or is in an earlier line.")
        at = {c.number: c.document_id for c in answer.citations}
        claims = [*(claim for side in answer.perspectives for claim in side.all_claims), *answer.also]
        named = {n: at.get(n, f"number {n}") for claim in claims for n in claim.citations}
        if unknown := [document for document in {**at, **named}.values() if document not in texts]:
            raise row.wrong(f"'citations' has '{unknown[0]}', which is not a document of the set.")
        ids = {i: c.document_id for c in answer.citations for i in (c.passage_id, *(q.passage_id for q in c.more))}
        record |= {"answer": answer.model_dump(), "passages": {i: texts[document] for i, document in ids.items()}}
        del record["failed"]
    return {record["case"]: record for record in found.values()}
