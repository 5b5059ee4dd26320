"""The sample corpus: its index, built on first use, and its questions."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.providers.inference import Models
from tools.documents.ingest import Ingester
from tools.documents.markdown import markdown_document
from tools.language.question import opens_yes_no_question
from tools.language.sentences import passage_sentences, split_sentences
from tools.models.encoders import Encoder
from tools.models.judges.judge import Pair
from tools.passages import SourceDocument
from tools.store.hybrid import HybridSearch
from tools.store.store import SAMPLES, Store

FOLDER = Path(__file__).parent.parent / "samples"
VECTORS = FOLDER / "vectors.npz"
"""Vectors of the samples' passages and sentences, made by `python -m evals.training.artifacts samples`."""
_SIDES = FOLDER.parent / "evals" / "gold" / "samples"  # each sample's side, labelled by its writer
_NEAREST = 3
_RELATED = 0.25  # least cosine of related questions
_SAME_TOPIC, _SAME_PLAIN = 0.38, 0.6
"""Least cosine of two questions on one topic. The second value is for short yes/no questions with literal words."""
_PLAIN = 10  # the most words of a short question
_LOOKED_AT, _OF_TOPIC = 10, 4  # passages retrieved, and the least number of them on the topic
_SENTENCES, _ON_TOPIC = 5, 0.44  # nearest sentences in these passages, and their least mean cosine to the question
_SIGNATURE = "samples"


@cache
def sample_questions() -> dict[str, str]:
    """Returns the question of each topic folder."""
    questions: dict[str, str] = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))
    return questions


def sample_documents() -> list[SourceDocument]:
    """Returns the sample documents, named by their path in the project."""
    named = {f"samples/{f.relative_to(FOLDER).as_posix()}": f for f in sorted(FOLDER.glob("*/*.md"))}
    return [markdown_document(f.read_text(encoding="utf-8"), name)[0] for name, f in named.items()]


def text_key(text: str) -> int:
    """Returns the key of a text's vector in VECTORS."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def calibration_pairs() -> list[tuple[Pair, bool]]:
    """Returns pairs that calibrate a judge: the longest sentence of each sample, with its own question (True) and
    with a question of another topic (False)."""
    texts, pairs = {d.external_id: d.text for d in sample_documents()}, list[tuple[Pair, bool]]()
    rows = [
        json.loads(line) for file in sorted(_SIDES.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()
    ]
    sided = [row for row in rows if row["stance"] != "other"][::2]  # half of them calibrate as well in half the time
    for row, other in zip(sided, sided[len(sided) // 2 :] + sided, strict=False):
        sentence = max(split_sentences(texts[row["path"]]), key=len)
        own, contrary = ("Yes", "No") if row["stance"] == "supports" else ("No", "Yes")
        for question in (row["question"], other["question"]):
            pair = Pair(f"{own}: {question}", sentence, f"{contrary}: {question}", form="answer")
            pairs.append((pair, question == row["question"]))
    return pairs


class SampleEncoder:
    """An encoder that has stored vectors for the samples' texts (`known`). It encodes all other texts."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name = encoder.name
        self.known: dict[int, NDArray[np.float16]] = {}
        with np.load(VECTORS) as stored:
            if str(stored["encoder"]) == encoder.name:
                self.known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = {text: self.known.get(text_key(text)) for text in texts}
        missing = [text for text, row in found.items() if row is None]
        fresh = self._encoder.encode(missing) if missing else ()
        rows = {**found, **dict(zip(missing, fresh, strict=True))}
        return np.array([rows[text] for text in texts], np.float32).reshape(len(texts), self.dimensions)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._encoder.encode_queries(texts)


def index_samples(store: Store, search: HybridSearch) -> None:
    """Updates the `samples` collection. This takes no time if nothing changed."""
    encoder = search.encoder.name
    built = VECTORS.stat()  # made again with every change of the samples
    signature = f"{encoder} {built.st_size} {built.st_mtime_ns}"
    if store.note(_SIGNATURE) == signature and store.has_collection(SAMPLES):
        return
    documents = sample_documents()
    if store.has_collection(SAMPLES) and store.collection(SAMPLES)[1] != encoder:
        store.delete_collection(SAMPLES)  # indexed with another encoder; indexing takes seconds
    stored = SampleEncoder(search.encoder)
    Ingester(store, search, stored).ingest(documents, SAMPLES)
    kept = {d.external_id for d in documents}
    for row in store.documents(SAMPLES):
        if row.external_id not in kept:
            store.delete_document(SAMPLES, row.external_id)
    if stored.known:  # the stored vectors are this encoder's
        read = [p for row in store.documents(SAMPLES) for p in store.passages_of(row.number)]
        store.add_sentence_vectors({p.id: stored.encode(split_sentences(p.text)) for p in read}, encoder)
    store.set_note(_SIGNATURE, signature)


async def nearest_questions(question: str, models: Models) -> list[str]:
    """Returns the sample questions nearest in meaning, nearest first, without unrelated ones."""
    return [near for near, nearness in await _by_nearness(question, models) if nearness >= _RELATED][:_NEAREST]


async def sample_question_for(models: Models, search: HybridSearch, store: Store, question: str) -> str:
    """Returns the sample question on the same topic, or an empty string.

    The given question must be similar to the sample question. It must also retrieve passages of the sample question's
    topic, and these must have sentences similar to the given question.
    """
    (nearest, nearness), *_ = await _by_nearness(question, models)
    words = question.split()
    if nearness < (_SAME_PLAIN if len(words) <= _PLAIN and opens_yes_no_question(words[0]) else _SAME_TOPIC):
        return ""
    vector = (await models.encode_queries([question]))[0]
    hits = await asyncio.to_thread(search.search, question, vector, (SAMPLES,), _LOOKED_AT)
    found = (await asyncio.to_thread(store.passages, [hit.passage_id for hit in hits])).values()
    topic = next(topic for topic, asked in sample_questions().items() if asked == nearest)
    of_topic = [passage for passage in found if passage.document_id.startswith(f"samples/{topic}/")]
    if len(of_topic) < _OF_TOPIC:
        return ""
    sentences = await models.encode_sentences([s for passage in of_topic for s in passage_sentences(passage)])
    near = sentences @ (await models.encode([question]))[0]
    return nearest if float(np.sort(near)[-_SENTENCES:].mean()) >= _ON_TOPIC else ""


async def _by_nearness(question: str, models: Models) -> list[tuple[str, float]]:
    """Returns the sample questions with their cosines to the question, nearest first."""
    questions = list(sample_questions().values())
    vectors = await models.encode([question, *questions])
    nearness = vectors[1:] @ vectors[0]
    return [(questions[i], float(nearness[i])) for i in np.argsort(-nearness)]
