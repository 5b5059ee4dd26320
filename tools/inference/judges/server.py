"""What judges behind an address share: many requests at a time, within the time there is, and what is made of failures.

How a server wants to be asked is learned with the first request: a judge has a list of forms, best first, and goes down
it as long as the server refuses.

A cross-encoder on a vLLM server is such a judge (`ScoreJudge`): batches of pairs go to its /score.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tools.budget import NOT_ALL_JUDGED, current_budget, current_log
from tools.errors import BudgetError, DeadlineError, ProviderDownError, ProviderReplyError
from tools.inference.chat.servers import Price, cost_of
from tools.inference.judges.judge import Pair, strongest, windowed
from tools.inference.served import RefusedError, open_served, post
from tools.net.http import cut_short, is_local, status_error

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_NO_SUCH_PLACE = (404, 405)
_LEARNED_FROM = 3  # requests; where none of them gets an answer of use, no further one will

Form = TypeVar("Form")


class OtherFormError(ProviderReplyError):
    """The server does not take the request in this form, or makes nothing of it. `said` is what it answered."""

    def __init__(self, message: str, status: int = 0, said: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.said = said


class UnfitModelError(ProviderReplyError):
    """The model's answers cannot be probabilities of support, whatever it is asked."""


@dataclass
class _Round:
    """The scores of one call so far, NaN where there is none, and how many of the answers were of use."""

    pairs: Sequence[Pair]
    scores: NDArray[np.float32]
    parts: Iterator[range]
    answered: int = 0
    unusable: int = 0
    tried: int = 0
    problem: ProviderReplyError | None = None
    stopped: BudgetError | None = None

    def take(self, part: range, scores: Sequence[float]) -> None:
        self.scores[part.start : part.stop] = scores
        self.tried += 1
        self.answered += len(part)
        self.unusable += sum(map(math.isnan, scores))


class ServerJudge(ABC, Generic[Form]):
    """Probabilities of support from a server. `contrary` is ignored: these judges are asked one question a pair.

    `name` says which model, at which address and asked how, so that no score is taken for another's.
    """

    forms: Sequence[Form]
    refusals: frozenset[int] = frozenset({400, 413, 422})
    """Statuses that are about the request's form."""

    def __init__(
        self,
        *,
        name: str,
        url: str,
        model: str,
        together: int,
        key: str = "",
        concurrency: int = 8,
        threshold: float = 0.5,
        seconds: float = 30.0,
        price: Price | None = None,
    ) -> None:
        """together: pairs in one request. concurrency: requests at a time. seconds: the longest silence of the server.
        price: of the model's tokens; one on this machine costs nothing."""
        url = url.rstrip("/")
        self.name = f"{name}-{sha256(url.encode()).hexdigest()[:6]}"
        self.address = url
        self.model = model
        self.threshold = self.sentence_threshold = threshold
        self.server = f"{model} at {urlsplit(url).netloc.rpartition('@')[2] or url}"
        self._key = key
        self._together = together
        self._concurrency = concurrency
        self._seconds = seconds
        self._price: Price | None = (0.0, 0.0) if is_local(url) else price
        self._form: Form | None = None

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """`support` for callers without an event loop."""
        return asyncio.run(self.support(pairs))

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities, shape (n,); NaN for a pair that was not answered within the seconds (or before the stage's
        deadline, or the end of its budget), or not with a verdict.

        Raises ProviderDownError when the server fails, ProviderReplyError when more than half of its answers are of no
        use, BudgetError when there was nothing left for a single answer.
        """
        parts = [range(i, min(i + self._together, len(pairs))) for i in range(0, len(pairs), self._together)]
        asked = _Round(pairs, np.full(len(pairs), np.nan, np.float32), iter(parts))
        limit = min(seconds, current_budget().seconds_left())
        if not pairs or limit <= 0:
            return asked.scores
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(f"{self.server} is not asked: nothing may leave this machine in this run.")
        async with open_served(self.address, self._key, self._seconds) as client:
            try:
                async with asyncio.timeout(None if math.isinf(limit) else limit) as clock:
                    await self._ask_all(client, asked)
            except DeadlineError:
                pass  # what arrived before it is kept
            except TimeoutError:
                if not clock.expired():
                    raise
        if asked.stopped is not None:
            if asked.answered == 0:
                raise asked.stopped
            current_log().note("unjudged", f"Not every passage was judged: {asked.stopped}", NOT_ALL_JUDGED)
        if asked.unusable * 2 > asked.answered:
            self._form = None  # it may have become another server
            why = asked.problem or "it says neither Yes nor No."
            raise ProviderReplyError(
                f"{asked.unusable} of {asked.answered} answers of {self.server} cannot be used: {why}"
            ) from asked.problem
        return asked.scores

    async def _ask_all(self, client: "AsyncOpenAI", asked: _Round) -> None:
        if self._form is None:
            await self._work(client, asked, alone=True)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._work(client, asked))
        except ExceptionGroup as failed:
            first = failed.exceptions[0]
            raise first from first.__cause__  # the others are the same failure, seen by other requests

    async def _work(self, client: "AsyncOpenAI", asked: _Round, *, alone: bool = False) -> None:
        """Asks for one part after the other; alone: until it is known how the server wants to be asked."""
        for part in () if asked.stopped else asked.parts:
            try:
                asked.take(part, await self._scores(client, [asked.pairs[i] for i in part]))
            except BudgetError as exc:
                asked.stopped = exc
                return
            except ProviderReplyError as exc:
                asked.take(part, [math.nan] * len(part))
                asked.problem = asked.problem or exc
                if isinstance(exc, UnfitModelError) or (alone and asked.tried == _LEARNED_FROM):
                    raise
            if alone and self._form is not None:
                return

    async def _scores(self, client: "AsyncOpenAI", pairs: Sequence[Pair]) -> Sequence[float]:
        """Asks in the form that the server is known to take, else in one after the other until it takes one."""
        refused: OtherFormError | None = None
        for form in self.forms if self._form is None else (self._form,):
            try:
                scores = await self._ask(client, pairs, form)
            except OtherFormError as exc:
                refused = refused or exc
            else:
                self._form = form
                return scores
        assert refused is not None, "a judge has a form"
        if refused.status in _NO_SUCH_PLACE:
            raise status_error(self.server, refused.status, refused.said) from refused
        raise refused

    @abstractmethod
    async def _ask(self, client: "AsyncOpenAI", pairs: Sequence[Pair], form: Form) -> Sequence[float]:
        """One request: a probability for each pair, NaN for one without a verdict.

        Raises OtherFormError, UnfitModelError, ProviderReplyError, ProviderDownError, DeadlineError, BudgetError.
        """

    async def _post(self, client: "AsyncOpenAI", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to one counted call."""
        budget = current_budget()
        budget.begin_call()
        try:
            reply = await post(client, url, body, self.server)
        except RefusedError as exc:
            if exc.status not in self.refusals:
                raise
            told = f"{self.server} refused the request (status {exc.status}: {exc.said})."
            raise OtherFormError(told, exc.status, exc.said) from exc
        except ProviderDownError as exc:
            if cut_short(exc):
                raise ProviderReplyError(f"{self.server} cut the connection in the middle of a reply.") from exc
            raise
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.server} answered with JSON of another kind than was asked for.")
        given, made = _tokens(reply, len(str(body)) // 4)
        budget.add_tokens(given, made, cost_of(self._price, given, made))
        return reply


def _tokens(reply: dict[str, Any], estimate: int) -> tuple[int, int]:
    """Tokens given and made; a server that does not count leaves an estimate of about four characters a token."""
    usage = reply.get("usage")
    counts = [usage.get(k) if isinstance(usage, dict) else None for k in ("prompt_tokens", "completion_tokens")]
    given, made = (c if isinstance(c, int) and 0 <= c < 10**9 else 0 for c in counts)
    return given or estimate, made


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how the scores are asked for. cuts: whether the server knows to cut what is longer than the model."""

    path: str
    cuts: bool = True


class ScoreJudge(ServerJudge[Place]):
    """A sequence classifier with one label, whose score is the probability that the text supports the statement.

    `url` is the server's address with or without /v1. The statement is the first of the two texts.
    """

    refusals = ServerJudge.refusals | {404, 405}
    forms = (Place("/score"), Place("/v1/score"), Place("/score", cuts=False), Place("/v1/score", cuts=False))

    def __init__(self, *, model: str, batch: int = 32, **options: Any) -> None:
        """batch: pairs in one request. The options are those of every judge behind an address."""
        super().__init__(name=f"score-judge-{model}", model=model, together=batch, **options)

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """As of every judge behind an address; a long text counts by its best window."""
        parts, places = windowed(pairs)
        return strongest(await super().support(parts, seconds), places, len(pairs))

    async def _ask(self, client: "AsyncOpenAI", pairs: Sequence[Pair], form: Place) -> Sequence[float]:
        body: dict[str, Any] = {
            "model": self.model,
            "text_1": [pair.statement for pair in pairs],
            "text_2": [pair.text for pair in pairs],
        }
        if form.cuts:
            body["truncate_prompt_tokens"] = -1  # to the model's own length; without it one long text fails the batch
        reply = await self._post(client, self.address.removesuffix("/v1") + form.path, body)
        scores = _in_order(reply.get("data"), len(pairs), self.server)
        if outside := [s for s in scores if not 0 <= s <= 1]:
            raise UnfitModelError(
                f"{self.server} gives scores like {outside[0]:.2f}, which are no probabilities. The judge has to be a "
                "classifier with one label and a sigmoid over its score."
            )
        return scores


def _in_order(rows: Any, count: int, server: str) -> list[float]:
    """The scores by their index. Raises ProviderReplyError unless there is exactly one number for each pair."""
    found: dict[int, float] = {}
    for row in rows if isinstance(rows, list) else []:
        index, score = (row.get("index"), row.get("score")) if isinstance(row, dict) else (None, None)
        if isinstance(index, int) and isinstance(score, int | float) and -1e9 < score < 1e9:
            found[index] = float(score)
    if not isinstance(rows, list) or len(rows) != count or found.keys() != set(range(count)):
        raise ProviderReplyError(f"{server} gave scores for {len(found)} pairs of {count}.")
    return [found[i] for i in range(count)]
