"""Encoders and judges for the nodes: asynchronous, batched, cached and within the deadline."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tools.budget import current_budget, current_log, share_of_time
from tools.errors import BudgetError, DeadlineError, JudgeError, ProviderError, StoreError
from tools.language.question import ParsedQuestion, is_standalone_question, read_question
from tools.language.sentences import split_sentences
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder
from tools.models.judges.batch import document_attributes, passage_line
from tools.models.judges.checker import ClaimChecker
from tools.models.judges.judge import Judge, JudgedSide, Pair, PassageVerdicts
from tools.models.judges.quoting import load_quoting_weights
from tools.models.worker import WORKER
from tools.net.http import without_login
from tools.passages import Passage, Sentence
from tools.store.store import Store

JUDGE_PATIENCE = 0.7
"""Share of the remaining time that a remote judge gets. The rest is for the embedded judge if it fails."""
_STORING_SECONDS = 1  # longest wait for a busy store, because nothing is lost without the write


@dataclass
class Models:
    """A run's encoders and judges.

    encoder: compares sentences, for which it was tuned. other_encoder: encodes passages and queries, if it is set;
    otherwise `encoder` does. own_judge: the embedded judge, the fallback of remote_judge. judge_required: remote_judge
    has no fallback. store: holds the vectors of indexed sentences. checker: checks written claims.
    encoder_languages: the languages that `other_encoder` reads (ISO 639-1, or 'all').
    """

    encoder: Encoder
    own_judge: Judge
    cache: VectorCache
    remote_judge: Judge | None = None
    judge_required: bool = False
    other_encoder: Encoder | None = None
    store: Store | None = None
    checker: ClaimChecker | None = None
    encoder_languages: frozenset[str] = frozenset()

    @property
    def retrieval_encoder(self) -> Encoder:
        """The encoder of passages and queries."""
        return self.other_encoder or self.encoder

    async def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns unit vectors for comparing sentences, (n, dimensions)."""
        return await self._vectors(self.encoder, texts, queries=False)

    async def read_questions(self, texts: Sequence[str]) -> list[ParsedQuestion]:
        """Returns what each text asks."""
        vectors = await self.encode(texts)
        return await asyncio.to_thread(lambda: list(map(read_question, texts, vectors)))

    async def thread_question(self, earlier: Sequence[str]) -> str:
        """Returns the thread's latest question that needs no context, or the first."""
        read = await self.read_questions(earlier)
        alone = [
            found.text for asked, found in zip(earlier, read, strict=True) if is_standalone_question(asked, found.kind)
        ]
        return [read[0].text, *alone][-1]

    async def encode_sentences(self, sentences: Sequence[Sentence]) -> NDArray[np.float32]:
        """Returns `encode` of sentences of passages, (n, dimensions).

        Vectors of ingested passages come from the store, in half precision. The first question encodes and stores all
        sentences of a passage. Sentences of a shortened passage have other positions and are encoded anew.
        """
        store = self.store if self.retrieval_encoder is self.encoder else None  # other vectors cannot be compared
        stored = (s.passage for s in sentences if s.passage.id > 0 and not s.passage.whole)
        own = {p.id: p.text for p in stored} if store else {}
        known = await asyncio.to_thread(store.sentence_vectors, own) if store else {}
        missing = {i: text for i, text in own.items() if i not in known}
        split = await asyncio.to_thread(lambda: list(map(split_sentences, missing.values())))
        others = [i for i, s in enumerate(sentences) if s.passage.id not in own]
        fresh = await self.encode([*(sentences[i].text for i in others), *chain(*split)])
        of_others, *rows = np.split(fresh, np.cumsum([len(others), *map(len, split)])[:-1])
        new = dict(zip(missing, (r.astype(np.float16).astype(np.float32) for r in rows), strict=True))
        if store and new:
            with suppress(StoreError):  # the next question tries again
                await asyncio.to_thread(store.add_sentence_vectors, new, self.encoder.name, _STORING_SECONDS)
        known |= new
        vectors = np.empty((len(sentences), fresh.shape[1]), np.float32)
        vectors[others] = of_others
        for i, sentence in enumerate(sentences):
            if sentence.passage.id in known:
                vectors[i] = known[sentence.passage.id][sentence.position]
        return vectors

    async def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns unit vectors of passages as in the dense index, (n, dimensions)."""
        return await self._vectors(self.retrieval_encoder, texts, queries=False)

    async def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns unit vectors of queries, comparable with `encode_passages`, (n, dimensions)."""
        return await self._vectors(self.retrieval_encoder, texts, queries=True)

    def judge(self, name: str = "") -> "CachedJudge":
        """Returns the judge with that name; by default the remote judge, or the embedded judge without one."""
        if self.remote_judge is not None and name in ("", self.remote_judge.name):
            return CachedJudge(self.remote_judge, self.cache, 1.0 if self.judge_required else JUDGE_PATIENCE)
        return CachedJudge(self.own_judge, self.cache)

    async def _vectors(self, encoder: Encoder, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        compute = encoder.encode_queries if queries else encoder.encode
        space = f"{encoder.name}/query" if queries else encoder.name

        def missing(wanted: list[int]) -> NDArray[np.float32]:
            chosen = [texts[i] for i in wanted]
            if hasattr(encoder, "address"):  # a remote encoder: the worker is for local computation
                return compute(chosen)
            return WORKER.run(compute, chosen)

        def rows() -> NDArray[np.float32]:  # in a thread: `dimensions` may load the model or ask a server
            return self.cache.rows(space, texts, missing) if texts else np.zeros((0, encoder.dimensions), np.float32)

        return await asyncio.to_thread(rows)


class CachedJudge(Judge):
    """A judge with a cache. Its methods raise JudgeError if the judge fails."""

    def __init__(self, judge: Judge, cache: VectorCache, patience: float = 1.0) -> None:
        """patience: share of the time after which the judge counts as failed."""
        self.name, self.address = judge.name, judge.address
        self.threshold = judge.threshold
        self.reads_closely, self.reads_documents = judge.reads_closely, judge.reads_documents
        self.answer_note = judge.answer_note
        self.essays_only, self.quoting = judge.essays_only, load_quoting_weights()
        self._judge = judge
        self._cache = cache
        self._patience = patience

    async def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return (await self._cached(self.name, pairs, self._judge.support, 1))[:, 0]

    async def stances(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        closely = closely and self.reads_closely
        space = f"{self.name}/{'close' if closely else 'stances'}"
        return await self._cached(space, pairs, partial(self._judge.stances, closely=closely), 2)

    async def read(self, question: str, sides: Sequence[JudgedSide], passages: Sequence[Passage]) -> PassageVerdicts:
        """Caches verdicts on documents by question, sides and shown passage."""
        if self._judge.first:
            return await CachedJudge(self._judge.first, self._cache).read(question, sides, passages)
        if not self.reads_documents:
            return await super().read(question, sides, passages)
        shown = [f"{document_attributes(p)} {passage_line(p)}" for p in passages]
        known, asked = dict(zip(shown, passages, strict=True)), [question, *(side.statement for side in sides)]

        async def ask(pairs: Sequence[Pair]) -> NDArray[np.float32]:
            new = await self._judge.read(question, sides, [known[p.text] for p in pairs])
            return np.vstack([new.support, new.opposition, new.on_question]).T

        pairs = [Pair("\x1e".join(asked), text) for text in shown]
        rows = (await self._cached(f"{self.name}/read", pairs, ask, 2 * len(sides) + 1)).T
        return PassageVerdicts(rows[: len(sides)], rows[len(sides) : -1], rows[-1])

    async def _cached(self, space: str, pairs: Sequence[Pair], ask: "_Ask", width: int) -> NDArray[np.float32]:
        """Returns scores, (n, width), from the cache or the judge."""
        keys = [f"{p.form}\x1f{p.statement}\x1f{p.contrary}\x1f{p.text}\x1f{p.placed}" for p in pairs]
        known = dict(await asyncio.to_thread(self._cache.known, space, keys))
        missing = list({k: i for i, k in enumerate(keys) if k not in known}.values())
        if missing and current_budget().seconds_left() > 0:
            fresh = await self._asked([pairs[i] for i in missing], ask, width)
            judged = {keys[i]: row for i, row in zip(missing, fresh, strict=True) if not np.isnan(row).any()}
            await asyncio.to_thread(self._cache.keep, space, judged)
            known |= judged
        unknown = np.full(width, np.nan, np.float32)
        return np.stack([known.get(k, unknown) for k in keys]) if keys else np.zeros((0, width), np.float32)

    async def _asked(self, pairs: Sequence[Pair], ask: "_Ask", width: int) -> NDArray[np.float32]:
        """Returns the judge's scores; NaN if the budget ran out first."""
        try:
            with share_of_time(self._patience):
                scores = (await ask(pairs)).reshape(len(pairs), width)
            if self.address and np.isnan(scores).all():
                raise DeadlineError(f"The judge at {without_login(self.address)} gave no verdict in time.")
            return scores
        except BudgetError as exc:
            current_log().note("unjudged", f"Not everything was read by the judge: {exc}")
            return np.full((len(pairs), width), np.nan, np.float32)
        except ProviderError as exc:
            raise JudgeError(f"the judge failed: {exc}", hint=exc.hint) from exc


_Ask = Callable[[Sequence[Pair]], Awaitable[NDArray[np.float32]]]
