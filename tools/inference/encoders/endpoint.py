"""Encoders behind an OpenAI-compatible address (`POST /embeddings`): vLLM, TEI, Ollama, OpenAI and their like."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import current_budget
from tools.errors import DeadlineError, ProviderDownError, ProviderReplyError
from tools.inference.batching import parts
from tools.net.http import fetch_json, is_local, open_client

_MOST_CONCURRENT = 4  # requests under way together


class EndpointEncoder:
    """Unit vectors from an embeddings address.

    url: up to and without `/embeddings`, as in http://127.0.0.1:8000/v1. key: sent as a bearer token. query_prompt and
    document_prompt: put before every query and document, for a model that was trained so. dimensions: of the model's
    vectors; asked for once where None. batch: texts of one request. seconds: the longest silence of the server.

    The server's name for the model stands for its weights: another model under the same name is not noticed.

    The methods are called from threads, never from an event loop's own. They raise ProviderDownError,
    ProviderReplyError (vectors that cannot be used), DeadlineError and BudgetError.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        query_prompt: str = "",
        document_prompt: str = "",
        dimensions: int | None = None,
        batch: int = 64,
        seconds: float = 30.0,
    ) -> None:
        self.address = url.rstrip("/").removesuffix("/embeddings")
        self._model = model
        self._key = key
        self._query_prompt = query_prompt
        self._document_prompt = document_prompt
        self._dimensions = dimensions
        self._batch = batch
        self._seconds = seconds
        self._asking = threading.Lock()
        settings = "\x1f".join((model, query_prompt, document_prompt, str(dimensions or "")))
        self.name = f"endpoint-{model}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        with self._asking:
            if self._dimensions is None:
                self._dimensions = self._ask(["How many dimensions has this?"]).shape[1]
            return self._dimensions

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors([self._document_prompt + text for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors([self._query_prompt + text for text in texts])

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = self._ask(texts)
        with self._asking:
            self._dimensions = known = self._dimensions or vectors.shape[1]
        if vectors.shape[1] != known:
            raise ProviderReplyError(
                f"the encoder {self._model} gave vectors of {vectors.shape[1]} dimensions in the place of {known}. "
                "Set the number that it gives, then encode again with `python -m agent rebuild`.",
                hint=", then encode again with `python -m agent rebuild`",
            )
        return vectors

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float32]:
        bodies = [
            {"model": self._model, "input": list(part), "encoding_format": "float"}
            for part in parts(texts, self._batch)
        ]
        replies = post_all(f"{self.address}/embeddings", bodies, self._key, f"the encoder {self._model}", self._seconds)
        rows = [_rows(reply, len(body["input"])) for reply, body in zip(replies, bodies, strict=True)]
        if len({part.shape[1] for part in rows}) > 1:
            raise ProviderReplyError(f"the encoder {self._model} gave vectors of different lengths.")
        return np.concatenate(rows)


def post_all(url: str, bodies: Sequence[Any], key: str, name: str, seconds: float) -> list[Any]:
    """The JSON replies to the bodies, in their order, a few requests under way together; every one is counted.

    For threads without an event loop. Raises ProviderDownError (offline included), ProviderReplyError, DeadlineError,
    BudgetError.
    """
    if current_budget().offline and not is_local(url):
        raise ProviderDownError(f"{name} is not on this machine, and this run stays offline.")
    return asyncio.run(_post_all(url, bodies, key, name, seconds))


async def _post_all(url: str, bodies: Sequence[Any], key: str, name: str, seconds: float) -> list[Any]:
    free = asyncio.Semaphore(_MOST_CONCURRENT)
    async with open_client({"authorization": f"Bearer {key}"} if key else {}, seconds) as client:

        async def post(body: Any) -> Any:
            async with free:
                current_budget().begin_call()
                reply = await fetch_json(client, "POST", url, name=name, body=body)
                _count(reply, 0.0 if is_local(url) else None)
                return reply

        left = current_budget().seconds_left()
        try:
            async with asyncio.timeout(None if left == float("inf") else max(0.0, left)):
                return await asyncio.gather(*(post(body) for body in bodies))
        except TimeoutError as exc:
            raise DeadlineError(f"{name} did not answer within the time of the run.") from exc


def _count(reply: Any, cost: float | None) -> None:
    usage = reply.get("usage") if isinstance(reply, dict) else None
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    current_budget().add_tokens(tokens if isinstance(tokens, int) and tokens > 0 else 0, 0, cost)


def _rows(reply: Any, wanted: int) -> NDArray[np.float32]:
    """Unit vectors of shape (wanted, dimensions), in the order of what was sent."""
    try:
        data = reply["data"]
        by_index = {int(item["index"]): item["embedding"] for item in data}
        if len(data) != wanted or set(by_index) != set(range(wanted)):
            raise ProviderReplyError(f"the encoder's server gave {len(data)} vectors for {wanted} texts.")
        rows = np.asarray([by_index[i] for i in range(wanted)], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise ProviderReplyError(f"the encoder's server gave something that is no list of vectors ({exc}).") from exc
    norms = np.linalg.norm(rows, axis=1, keepdims=True) if rows.ndim == 2 else np.zeros(1)
    if not np.isfinite(norms).all() or not norms.all():
        raise ProviderReplyError("the encoder's server gave vectors that are empty, zero or not finite.")
    return np.asarray(rows / norms, np.float32)
