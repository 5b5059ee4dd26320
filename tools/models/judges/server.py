"""What judges behind an address share: many requests at a time, within the time there is, and what is made of failures.

How a server wants to be asked is learned with the first request: a judge has a list of forms, best first, and goes down
it as long as the server refuses.

A cross-encoder on a vLLM server is such a judge (`ScoreJudge`): batches of pairs go to its /score.
"""

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from prompts import Prompt, PromptError, as_data, load_prompt, read_prompt
from tools.budget import NOT_ALL_JUDGED, batches, current_budget, current_log, run_within
from tools.errors import BudgetError, ProviderDownError, ProviderReplyError, SettingsError
from tools.models.chat.replies import without_thoughts
from tools.models.judges.judge import Judge, Pair, best_window_scores, split_into_windows
from tools.models.servers import ModelEndpoint, Price
from tools.net.retries import is_cut_short

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_NO_SUCH_PLACE = (404, 405)
_LEARNED_FROM = 3  # requests; where none of them gets an answer of use, no further one will

Form = TypeVar("Form")


class OtherFormError(ProviderReplyError):
    """The server does not take the request in this form, or makes nothing of it."""


class UnfitModelError(ProviderReplyError):
    """The model's answers cannot be probabilities of support, whatever it is asked."""


@dataclass
class _Round:
    """The scores of one call so far, NaN where there is none, and how many of the answers were of use."""

    pairs: Sequence[Pair]
    scores: NDArray[np.float32]
    answered: int = 0
    unusable: int = 0
    tried: int = 0
    problem: ProviderReplyError | None = None
    stopped: BudgetError | None = None

    def take(self, part: Sequence[int], scores: Sequence[float]) -> None:
        self.scores[list(part)] = scores
        self.tried += 1
        self.answered += len(part)
        self.unusable += sum(map(math.isnan, scores))


class ServerJudge(ModelEndpoint, Judge, Generic[Form]):
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
        """together: pairs in one request. concurrency: requests at a time. The others are those of `ModelEndpoint`."""
        super().__init__(url, model, key, seconds, price)
        self.name = f"{name}-{sha256(self.address.encode()).hexdigest()[:6]}"
        self.threshold = threshold
        self._together = together
        self._concurrency = concurrency
        self._form: Form | None = None

    async def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities, shape (n,); NaN for a pair that was not answered before the deadline or the end of
        the budget, or not with a verdict.

        Raises ProviderDownError when the server fails, ProviderReplyError when more than half of its answers are of no
        use, BudgetError when there was nothing left for a single answer.
        """
        asked = _Round(pairs, np.full(len(pairs), np.nan, np.float32))
        if not pairs or current_budget().seconds_left() <= 0:
            return asked.scores
        async with self.opened() as client:
            await run_within([partial(self._ask_all, client, asked)], 1)
        if asked.stopped is not None:
            if asked.answered == 0:
                raise asked.stopped
            current_log().note("unjudged", f"Not every passage was read: {asked.stopped}", NOT_ALL_JUDGED)
        if asked.unusable * 2 > asked.answered:
            self._form = None  # it may have become another server
            why = asked.problem or "it says neither Yes nor No."
            raise ProviderReplyError(
                f"{asked.unusable} of {asked.answered} answers of {self.server} cannot be used: {why}"
            ) from asked.problem
        return asked.scores

    async def _ask_all(self, client: "AsyncOpenAI", asked: _Round) -> None:
        """Asks for one part after the other until it is known how the server wants to be asked, then for several."""
        waiting = iter(batches(range(len(asked.pairs)), self._together))
        while self._form is None and (part := next(waiting, None)):
            await self._ask_part(client, asked, part)
            if self._form is None and asked.tried == _LEARNED_FROM and asked.problem:
                raise asked.problem
        await run_within([partial(self._ask_part, client, asked, part) for part in waiting], self._concurrency)

    async def _ask_part(self, client: "AsyncOpenAI", asked: _Round, part: Sequence[int]) -> None:
        if asked.stopped:
            return
        try:
            asked.take(part, await self._scores(client, [asked.pairs[i] for i in part]))
        except BudgetError as exc:
            asked.stopped = exc
        except ProviderReplyError as exc:
            asked.take(part, [math.nan] * len(part))
            asked.problem = asked.problem or exc
            if isinstance(exc, UnfitModelError):
                raise

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
        refusal = refused.__cause__
        raise refusal if isinstance(refusal, ProviderDownError) and refusal.status in _NO_SUCH_PLACE else refused

    @abstractmethod
    async def _ask(self, client: "AsyncOpenAI", pairs: Sequence[Pair], form: Form) -> Sequence[float]:
        """One request: a probability for each pair, NaN for one without a verdict.

        Raises OtherFormError, UnfitModelError, ProviderReplyError, ProviderDownError, BudgetError.
        """

    async def post(self, client: "AsyncOpenAI", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """As `ModelEndpoint`; a refusal that may be about the form is an OtherFormError."""
        try:
            return await super().post(client, url, body)
        except ProviderDownError as exc:
            if exc.status in self.refusals:
                told = f"{self.server} refused the request (status {exc.status}: {exc.said})."
                raise OtherFormError(told) from exc
            if is_cut_short(exc):
                raise ProviderReplyError(f"{self.server} cut the connection in the middle of a reply.") from exc
            raise


class ScoreJudge(ServerJudge[tuple[str, bool]]):
    """A sequence classifier with one label, whose score is the probability that the text supports the statement.

    `url` is the server's address with or without /v1. The statement is the first of the two texts.
    """

    refusals = ServerJudge.refusals | {404, 405}
    forms = tuple((path, cuts) for cuts in (True, False) for path in ("/score", "/v1/score"))
    """Where scores are asked for, and whether the server is told to cut what is longer than the model."""

    def __init__(self, *, model: str, batch: int = 32, **options: Any) -> None:
        """batch: pairs in one request. The options are those of every judge behind an address."""
        super().__init__(name=f"score-judge-{model}", model=model, together=batch, **options)

    async def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """As of every judge behind an address; a long text counts by its best window."""
        windows, places = split_into_windows(pairs)
        return best_window_scores(await super().support(windows), places, len(pairs))

    async def _ask(self, client: "AsyncOpenAI", pairs: Sequence[Pair], form: tuple[str, bool]) -> Sequence[float]:
        body: dict[str, Any] = {
            "model": self.model,
            "text_1": [pair.statement for pair in pairs],
            "text_2": [pair.text for pair in pairs],
        }
        path, cuts = form
        if cuts:
            body["truncate_prompt_tokens"] = -1  # to the model's own length; without it one long text fails the batch
        reply = await self.post(client, self.address.removesuffix("/v1") + path, body)
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


_VARIABLES = ("passage", "statement")
_AROUND = " \n\t\r▁ĠĊ*_\"'`.,:;!"  # what may stand around the word, tokenizers' own marks of a space among it
_VERDICT = re.compile(r"(yes|no)\b", re.IGNORECASE)
_THOUGHTS = 2048  # tokens for a model that cannot be kept from thinking
_LEAST_MASS = 0.05  # probability of Yes and No together, below which the model was about to say something else


RequestForm = dict[str, Any]
"""What a request says of the answer."""
_SHORT = {"temperature": 0, "max_tokens": 4}
_LONG = {"temperature": 0, "max_tokens": _THOUGHTS}
_MANY, _FEW = ({"logprobs": True, "top_logprobs": alternatives} for alternatives in (20, 5))


class ChatJudge(ServerJudge[RequestForm]):
    """Any OpenAI-compatible chat model. `url` is the address up to and including /v1."""

    forms = (
        _SHORT | _MANY,
        _SHORT | _MANY | {"chat_template_kwargs": {"enable_thinking": False}},
        _SHORT | _FEW,
        _LONG | _FEW,
        _SHORT,
        _LONG,
        {"max_completion_tokens": _THOUGHTS},  # for models that know neither temperature nor max_tokens
    )

    def __init__(self, *, model: str, prompt: Prompt | None = None, concurrency: int = 64, **options: Any) -> None:
        """prompt: the project's own when None. Passage and statement go into the project's own as data that can end no
        element, and into any other as they are, so that a published one is asked word for word. The options are those
        of every judge behind an address. Raises SettingsError for a prompt that lacks a variable."""
        self._prompt = _checked(prompt or load_prompt("judge"))
        name = f"chat-judge-{model}-{self._prompt.digest}"
        super().__init__(name=name, model=model, together=1, concurrency=concurrency, **options)

    async def _ask(self, client: "AsyncOpenAI", pairs: Sequence[Pair], form: RequestForm) -> Sequence[float]:
        body = {"model": self.model, "messages": messages(self._prompt, pairs[0]), **form}
        reply = await self.post(client, f"{self.address}/chat/completions", body)
        choice = _choice(reply, self.server)
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            raise ProviderReplyError(f"{self.server} answered with something that is no text.")
        if not without_thoughts(text).strip(_AROUND):
            raise OtherFormError(f"{self.server} came to no answer within the tokens that it was given.")
        probability = from_logprobs(choice.get("logprobs"))
        if probability is not None:
            return [probability]
        verdict = from_text(text)
        if not math.isnan(verdict):
            current_log().note("scope", f"{self.server} gives no probabilities: a Yes counts as 1 and a No as 0.")
        return [verdict]


def messages(prompt: Prompt, pair: Pair) -> list[dict[str, str]]:
    """What is asked about a pair, in the form of a chat."""
    values = {"passage": pair.text, "statement": pair.statement}
    if prompt.digest == load_prompt("judge").digest:
        values = {name: as_data(name, text) for name, text in values.items()}
    system, user = prompt.render(**values)
    system_message = [{"role": "system", "content": system}] if system else []
    return [*system_message, {"role": "user", "content": user}]


def read_judge_prompt(path: Path) -> Prompt:
    """A judge's prompt: a file with `{{passage}}` and `{{statement}}`. Raises SettingsError."""
    try:
        return _checked(read_prompt(path))
    except PromptError as exc:
        raise SettingsError(f"the judge cannot be asked by this prompt: {exc}") from exc


def _checked(prompt: Prompt) -> Prompt:
    for name in _VARIABLES:
        if name not in prompt.variables:
            raise SettingsError(
                f"the judge's prompt '{prompt.name}' has no place for the {name}. Write {{{{{name}}}}} where it goes."
            )
    if unknown := sorted(prompt.variables.difference(_VARIABLES)):
        raise SettingsError(f"the judge's prompt '{prompt.name}' asks for '{unknown[0]}', which a judge does not know.")
    return prompt


def from_logprobs(logprobs: Any) -> float | None:
    """P(Yes) / (P(Yes) + P(No)) at the answer's first token; None where it is not known."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    rows = [t for t in tokens if isinstance(t, dict)] if isinstance(tokens, list) else []
    row = _answer_token(rows)
    if row is None:
        return None
    mass = {"yes": 0.0, "no": 0.0}
    for token, logprob in dict(_alternatives(row)).items():
        word = token.strip(_AROUND).casefold()
        if word in mass:
            mass[word] += math.exp(logprob)
    both = mass["yes"] + mass["no"]
    return mass["yes"] / both if both >= _LEAST_MASS else None


def from_text(text: str) -> float:
    """1 for an answer that begins with Yes, 0 for one that begins with No, NaN for any other."""
    found = _VERDICT.match(without_thoughts(text).lstrip(_AROUND))
    return math.nan if found is None else float(found[1].casefold() == "yes")


def _answer_token(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The token in which the answer begins, past thoughts, blanks and quotation marks."""
    text = "".join(str(row.get("token", "")) for row in rows)
    begin = text.rfind(without_thoughts(text).lstrip(_AROUND))
    end = 0
    for row in rows:
        end += len(str(row.get("token", "")))
        if begin < end:
            return row
    return None


def _alternatives(row: dict[str, Any]) -> Iterator[tuple[str, float]]:
    offered = row.get("top_logprobs")
    for entry in [row, *(offered if isinstance(offered, list) else [])]:
        logprob = entry.get("logprob") if isinstance(entry, dict) else None
        if isinstance(logprob, int | float) and logprob <= 0.01:  # rounding may lift it a little over 0
            yield str(entry.get("token", "")), float(max(logprob, -1e4))


def _choice(reply: dict[str, Any], server: str) -> dict[str, Any]:
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise ProviderReplyError(f"{server} answered with something that is no chat reply.")
    return choice
