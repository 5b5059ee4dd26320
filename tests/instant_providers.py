"""Providers that answer at once, for timing what the agent itself adds."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.providers.from_settings import build_web
from agent.providers.inference import Models
from agent.settings import Settings
from agent.stage_interfaces import Brief, Framer, Providers
from agent.stages.frame import frame_by_classifier
from agent.stages.requery import queries_by_rules
from agent.state import Claim, FramingState, Perspective
from tools.documents.ingest import Ingester
from tools.language.sentences import split_sentences
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder, load_encoder
from tools.models.judges.judge import LocalJudge, Pair
from tools.passages import Passage, SourceDocument
from tools.store.hybrid import HybridSearch
from tools.store.store import SAMPLES, Store

_LETTERS, _WIDTH = 16, 384  # as wide as the embedded encoder's


class InstantEncoder:
    """Vectors from the letters of a text."""

    name = "instant"
    dimensions = _WIDTH

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array([[1.0 + t.count(chr(97 + i)) for i in range(_LETTERS)] for t in texts], np.float32)
        counts = np.pad(counts.reshape(len(texts), _LETTERS), ((0, 0), (0, _WIDTH - _LETTERS)))
        return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), np.float32)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)


class InstantJudge(LocalJudge):
    """Supports whatever it is asked about."""

    name = "instant-judge"
    threshold = 0.5

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return np.full(len(pairs), 0.9, np.float32)


class InstantExpander:
    """Two sides of what should be, worded as a model would."""

    async def expand(self, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
        asked = framing["question"].removeprefix("Should ").rstrip("?")
        subject, _, rest = (asked[:1].upper() + asked[1:]).partition(" ")
        yes, no = f"{subject} should {rest}.", f"{subject} should not {rest}."
        return [
            Perspective(id="p1", name="For", statement=yes, stance="supports", contrary="p2", origin="model"),
            Perspective(id="p2", name="Against", statement=no, stance="opposes", contrary="p1", origin="model"),
        ]


def _first_sentence(text: str) -> str:
    """The first whole sentence."""
    sentences = split_sentences(text)
    return next((s for s in sentences if s.endswith(".")), sentences[0])


class InstantWriter:
    """The first sentence of each passage."""

    async def write(self, brief: Brief) -> list[Claim]:
        claims = [
            Claim(
                perspective=brief.perspective["id"],
                text=_first_sentence(p.text),
                passages=[p.id],
                support=0.9,
                role="case",
            )
            for p in brief.passages
        ]
        return claims[: brief.limit]


_encoder = cache(load_encoder)


def framer(folder: Path) -> Framer:
    """Tells the kind of a question as the embedded providers do, by the encoder that this was fitted on."""
    return partial(frame_by_classifier, Models(_encoder(), InstantJudge(), VectorCache(folder / "framing.db")))


def instant_providers(settings: Settings, store: Store, encoder: Encoder | None = None) -> Providers:
    """Providers over a small collection of their own."""
    encoder = encoder or InstantEncoder()
    search = HybridSearch(store, settings.data_dir / "index", encoder)
    documents = [
        SourceDocument(
            f"d{i}", f"A bridge with {i} arches carries a town. It stands {i} years.", publisher=f"Press {i}"
        )
        for i in range(40)
    ]
    Ingester(store, search, encoder).ingest(documents, SAMPLES)
    models = Models(encoder, InstantJudge(), VectorCache(settings.cache_dir / "cache.db"))
    return Providers(
        store=store,
        search=search,
        models=models,
        web=replace(build_web(settings, store, models), sources=(), unusable=()),
        frame=framer(settings.cache_dir),
        expand=InstantExpander().expand,
        requery=queries_by_rules,
        write=InstantWriter().write,
        names={"all": "instant"},
        closers=(partial(asyncio.to_thread, search.close),),
    )
