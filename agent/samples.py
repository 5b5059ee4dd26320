"""The starter corpus: indexed on first use, and the questions that it can answer."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from agent.models import Models
from tools.ingest import Ingester, IngestReport, Progress
from tools.passages import SourceDocument
from tools.readers import read_file
from tools.store import SAMPLES

FOLDER = Path(__file__).parent.parent / "samples"
_NEAREST = 3


@cache
def sample_questions() -> dict[str, str]:
    """Topic folder to the question that its passages answer."""
    questions: dict[str, str] = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))
    return questions


def sample_documents() -> list[SourceDocument]:
    """The sample passages, named by their path in the project."""
    files = sorted(FOLDER.glob("*/*.md"))
    return [d for f in files for d in read_file(f, f"samples/{f.relative_to(FOLDER).as_posix()}")]


def index_samples(ingester: Ingester, progress: Progress | None = None) -> IngestReport:
    """Brings the `samples` collection up to date with the files; quick when nothing changed."""
    return ingester.ingest(sample_documents(), SAMPLES, progress)


async def nearest_questions(question: str, models: Models) -> list[str]:
    """The sample questions nearest in meaning, nearest first."""
    questions: Sequence[str] = list(sample_questions().values())
    vectors = await models.encode([question, *questions])
    order = np.argsort(-(vectors[1:] @ vectors[0]))[:_NEAREST]
    return [questions[i] for i in order]
