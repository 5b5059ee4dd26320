"""Encoders behind an OpenAI-compatible address (`POST /embeddings`): vLLM, TEI, Ollama, OpenAI and others."""

import asyncio
import hashlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches, current_budget, current_log
from tools.errors import DeadlineError, ProviderDownError, ProviderReplyError
from tools.limits import ENDPOINT_SECONDS
from tools.models.chat.refusals import is_about_length
from tools.models.servers import ModelEndpoint

if TYPE_CHECKING:
    import httpx

_LOG = logging.getLogger(__name__)
_CONCURRENT = 4  # requests
_SIZE_STATUSES = (400, 413, 422)  # statuses of refusals that may be about the size

Rows = NDArray[np.float32]
_Post = Callable[[Sequence[str]], Awaitable[Rows]]


class EndpointEncoder(ModelEndpoint):
    """Unit vectors from an embeddings server.

    url: without `/embeddings`, as in http://127.0.0.1:8000/v1. key: a bearer token. query_prompt, document_prompt:
    prefixes that the model was trained with. batch: texts of one request at most; reduced if the server refuses.
    seconds: longest silence of the server.

    The server's name of the model identifies its weights: another model under the same name is not detected.

    Call the methods from threads, not from an event loop. They raise ProviderDownError, ProviderReplyError (unusable
    vectors), DeadlineError and BudgetError.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        query_prompt: str = "",
        document_prompt: str = "",
        batch: int = 64,
        seconds: float = ENDPOINT_SECONDS,
    ) -> None:
        super().__init__(url.rstrip("/").removesuffix("/embeddings"), model, key, seconds)
        self.server = f"the encoder {model}"
        self._query_prompt = query_prompt
        self._document_prompt = document_prompt
        self._dimensions: int | None = None
        self._batch = batch
        self._size_known = False  # a request of full size was accepted
        self._noted_shortening = False
        self._asking = threading.Lock()
        settings = "\x1f".join((model, query_prompt, document_prompt))
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
                f"the encoder {self.model} gave vectors of {vectors.shape[1]} dimensions instead of {known}. "
                "Set the number that it gives, then encode again with `python -m agent rebuild`.",
                hint=", then encode again with `python -m agent rebuild`",
            )
        return vectors

    def _ask(self, texts: Sequence[str]) -> Rows:
        rows = asyncio.run(self._all_rows(texts))
        if len({part.shape[1] for part in rows}) > 1:
            raise ProviderReplyError(f"{self.server} gave vectors of different lengths.")
        return np.concatenate(rows)

    async def _all_rows(self, texts: Sequence[str]) -> list[Rows]:
        """The vectors of all texts, by concurrent requests. The first request is alone until the batch size is
        known."""
        left = current_budget().seconds_left()
        async with self.open_client() as client:
            post = partial(self._send, client, asyncio.Semaphore(_CONCURRENT))
            try:
                async with asyncio.timeout(None if left == float("inf") else max(0.0, left)):
                    alone = 0 if self._size_known else self._batch
                    made = [await self._split_if_refused(post, texts[:alone])] if alone else []
                    self._size_known = self._size_known or len(texts) > alone
                    made += await asyncio.gather(
                        *(self._split_if_refused(post, p) for p in batches(texts[alone:], self._batch))
                    )
            except TimeoutError as exc:
                raise DeadlineError(f"{self.server} did not answer before the deadline.") from exc
        return [rows for part, _ in made for rows in part]

    async def _split_if_refused(self, post: _Post, texts: Sequence[str]) -> tuple[list[Rows], bool]:
        """The vectors, and whether one request was enough. If the server refuses the size, both halves are sent, and
        the accepted size becomes the limit, unless the server refused a single text."""
        if len(texts) <= self._batch:
            try:
                return [await post(texts)], True
            except ProviderDownError as exc:
                of_length = exc.status > 0 and is_about_length(str(exc))
                if not of_length and (exc.status not in _SIZE_STATUSES or len(texts) == 1):
                    raise
        if len(texts) == 1:
            return [await self._send_first_half(post, texts[0])], False
        half = (len(texts) + 1) // 2
        made = [await self._split_if_refused(post, part) for part in batches(texts, half)]
        if all(whole for _, whole in made):
            self._batch = min(self._batch, half)
        return [rows for part, _ in made for rows in part], False

    async def _send_first_half(self, post: _Post, text: str) -> Rows:
        """The vector of the first half of a text that the server refuses as too long; most models truncate such texts.
        The answer notes it."""
        rows = await post([text[: max(1, len(text) // 2)]])
        message = f"The encoder {self.model} refused some texts as too long, so only their first half was encoded."
        if not self._noted_shortening:
            _LOG.warning("%s", message)
        self._noted_shortening = True
        current_log().note("scope", message)
        return rows

    async def _send(self, client: "httpx.AsyncClient", free: asyncio.Semaphore, texts: Sequence[str]) -> Rows:
        """The vectors of one request."""
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        async with free:
            reply = await self.post(client, f"{self.address}/embeddings", body)
        return _rows(reply, len(texts))


def _rows(reply: Any, wanted: int) -> NDArray[np.float32]:
    """Unit vectors, shape (wanted, dimensions), in the order of the request."""
    try:
        data = reply["data"]
        by_index = {int(item["index"]): item["embedding"] for item in data}
        if len(data) != wanted or set(by_index) != set(range(wanted)):
            raise ProviderReplyError(f"the encoder's server gave {len(data)} vectors for {wanted} texts.")
        rows = np.asarray([by_index[i] for i in range(wanted)], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise ProviderReplyError(f"the encoder's server gave no list of vectors ({exc}).") from exc
    norms = np.linalg.norm(rows, axis=1, keepdims=True) if rows.ndim == 2 else np.zeros(1)
    if not np.isfinite(norms).all() or not norms.all():
        raise ProviderReplyError("the encoder's server gave vectors that are empty, zero or not finite.")
    return np.asarray(rows / norms, np.float32)
