"""What a run would make of lines as people type them, for the sheet of `python -m evals readers --framings`."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from agent.providers.embedded.expanding import planned
from agent.providers.embedded.framing import EmbeddedFramer
from evals.datasets.rows import json_rows
from evals.reports.records import Record
from evals.suite import GOLD

TYPED = GOLD / "typed.jsonl"


def line_rows(path: Path) -> Iterator[Record]:
    """A row a line: the question as it would be asked and the statements of its sides. It has none where the sources
    have to give them, where a fact is looked up, and where the line is refused (its question is then empty).
    Raises InputError with file, line and field.
    """
    for row in json_rows(path):
        question = row.text("question")
        framing = asyncio.run(EmbeddedFramer().frame(question, []))
        sides = [] if framing["form"] == "none" else planned(framing)
        yield {
            "kind": "line",
            "question": question,
            "asked": "" if framing["form"] == "none" else framing["question"],
            "sides": [side["statement"] for side in sides],
        }
