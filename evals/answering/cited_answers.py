"""Reads answers of any system with their citations and sources, one line an answer.

This agent's lines are as `python -m agent batch --out` and `POST /v1/ask` write them. Another system's line has
`question`, `answer` (text with citations such as [1] or [2, 3]) and `sources` in the order of their numbers, each with
its `text` (empty if unreadable). `debate` is false for a question without sides.
"""

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.answer.model import Answer
from agent.answer.outline import body_blocks, lead_blocks, source_blocks
from agent.settings import Settings
from evals.datasets.rows import Asked, Loose, Row, Shape, json_rows, problem
from tools.errors import InputError
from tools.language.grounding import verbatim
from tools.language.sentences import split_sentences
from tools.store.database import Database
from tools.store.store import Store

Statement = tuple[str, frozenset[int]]
"""A statement without its citations, and the numbers that it cites."""
_CITATION = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_AFTER_STOP = re.compile(rf"([.!?][\"'”’)*]*)((?:{_CITATION.pattern})+)")


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer; without statements if there is none. sources: each listed source's text by number, empty if
    unreadable."""

    question: str
    statements: tuple[Statement, ...]
    sources: Mapping[int, str]
    debate: bool = True

    @property
    def text(self) -> str:
        return "\n".join(text for text, _ in self.statements)


class _Source(Shape):
    text: Loose = ""


class _Line(Asked):
    answer: Loose
    sources: tuple[_Source, ...]
    debate: bool = True


def read_cited_answers(path: Path, settings: Settings) -> list[CitedAnswer]:
    """settings: name the store with the texts of this agent's sources. Raises InputError with file, line and field, and
    StoreError."""
    found, seen = list[CitedAnswer](), dict[str, int]()
    for row in json_rows(path):
        row.once("question", question := row.read(Asked).question, seen)
        if "perspectives" in row.values:
            found.append(_own(row, settings))
        elif "error" in row.values:
            found.append(CitedAnswer(question, (), {}))
        else:
            line = row.read(_Line)
            texts = {number: source.text.strip() for number, source in enumerate(line.sources, start=1)}
            found.append(CitedAnswer(question, tuple(split_statements(line.answer)), texts, line.debate))
    if not found:
        raise InputError(f"{path} has no answers. Name another file.")
    return found


def split_statements(text: str) -> list[Statement]:
    """Splits a text into sentences with their citations; those after a full stop belong to the sentence before it."""
    found: list[Statement] = []
    for sentence in split_sentences(_AFTER_STOP.sub(r"\2\1", text)):
        bare = _CITATION.sub("", sentence).strip()
        cited = frozenset(int(number) for part in _CITATION.findall(sentence) for number in part.split(","))
        if any(map(str.isalnum, bare)):
            found.append((bare, cited))
        elif found:  # nothing but citations
            found[-1] = found[-1][0], found[-1][1] | cited
    return found


def _own(row: Row, settings: Settings) -> CitedAnswer:
    """Returns an answer of this agent as a reader sees it: its summary and each shown claim are statements. A source's
    text is its document in the store or, without it, the quoted words."""
    try:
        answer = Answer.model_validate(row.values)
    except ValidationError as exc:
        raise row.wrong(problem(exc)) from exc
    blocks = [b for b in (*lead_blocks(answer), *body_blocks(answer)) if b.citations or b.kind == "summary"]
    sources = dict[int, str]()
    with closing(Database(settings.database)) as database:
        for cited in (block.source for block in source_blocks(answer) if block.source):
            whole = "\n".join(passage.text for passage in Store(database).document_passages(cited.passage_id))
            quoted = "\n".join(part.quote for part in cited.quotations)
            sources[cited.number] = whole if verbatim(cited.quote, whole) else quoted
    said = tuple((b.labelled_text, frozenset(b.citations or ())) for b in blocks)
    return CitedAnswer(answer.question, said, sources)
