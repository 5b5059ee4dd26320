"""A cross-encoder on a vLLM server as the judge: batches of pairs to its /score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ProviderReplyError
from tools.inference.judges.judge import Pair, strongest, windowed
from tools.inference.judges.server import ServerJudge, UnfitModelError

if TYPE_CHECKING:
    from openai import AsyncOpenAI


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
