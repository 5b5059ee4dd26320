"""The starter corpus: indexed on first use, and the questions that it can answer."""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from agent.inference import Models
from tools.ingest.ingest import Ingester
from tools.ingest.readers import read_file
from tools.passages import SourceDocument
from tools.store.store import SAMPLES, Store

FOLDER = Path(__file__).parent.parent / "samples"
_NEAREST = 3
_RELATED = 0.25  # cosine of two questions that have something to do with each other
_SIGNATURE = "samples"


@cache
def sample_questions() -> dict[str, str]:
    """Topic folder to the question that its passages answer."""
    questions: dict[str, str] = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))
    return questions


def sample_documents() -> list[SourceDocument]:
    """The sample passages, named by their path in the project."""
    files = sorted(FOLDER.glob("*/*.md"))
    return [d for f in files for d in read_file(f, f"samples/{f.relative_to(FOLDER).as_posix()}")]


def samples_signature(encoder: str) -> str:
    """Changes when a sample file or the encoder does."""
    digest = hashlib.sha256(encoder.encode())
    for file in sorted(FOLDER.glob("*/*.md")):
        digest.update(file.parent.name.encode() + file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def index_samples(store: Store, ingester: Ingester, encoder: str) -> None:
    """Brings the `samples` collection up to date with the files; a glance when nothing changed."""
    signature = samples_signature(encoder)
    if store.note(_SIGNATURE) == signature and store.has_collection(SAMPLES):
        return
    documents = sample_documents()
    if store.has_collection(SAMPLES) and store.collection(SAMPLES)[1] != encoder:
        store.delete_collection(SAMPLES)  # made with another encoder, and made again in seconds
    ingester.ingest(documents, SAMPLES)
    kept = {d.external_id for d in documents}
    for row in store.documents(SAMPLES):
        if row["external_id"] not in kept:
            store.delete_document(SAMPLES, row["external_id"])
    store.set_note(_SIGNATURE, signature)


async def nearest_questions(question: str, models: Models) -> list[str]:
    """The sample questions nearest in meaning, nearest first; none that is about something else altogether."""
    questions: Sequence[str] = list(sample_questions().values())
    vectors = await models.encode([question, *questions])
    nearness = vectors[1:] @ vectors[0]
    return [questions[i] for i in np.argsort(-nearness)[:_NEAREST] if nearness[i] >= _RELATED]
