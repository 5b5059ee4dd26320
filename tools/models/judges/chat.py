"""A chat model as the judge: asked Yes or No for each pair, its probability taken from the answer's log-probabilities.

P = P(Yes) / (P(Yes) + P(No)) over the first token of the answer, all spellings of the words taken together. Where a
server gives no log-probabilities, its verdict counts as 1 or 0, and a note says so.

How a server wants to be asked is learned with the first request: there is a list of forms, best first, and the judge
goes down it as long as the server refuses.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prompts import Prompt, PromptError, as_data, load_prompt, read_prompt
from tools.budget import NOT_ALL_JUDGED, current_budget, current_log
from tools.errors import BudgetError, ProviderDownError, ProviderReplyError, SettingsError
from tools.models.batching import run_within
from tools.models.chat.replies import without_thoughts
from tools.models.chat.servers import Price
from tools.models.judges.judge import Judge, Pair
from tools.models.served import ModelEndpoint
from tools.net.retries import is_cut_short

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_VARIABLES = ("passage", "statement")
_AROUND = " \n\t\r▁ĠĊ*_\"'`.,:;!"  # what may stand around the word, tokenizers' own marks of a space among it
_VERDICT = re.compile(r"(yes|no)\b", re.IGNORECASE)
_THOUGHTS = 2048  # tokens for a model that cannot be kept from thinking
_LEAST_MASS = 0.05  # probability of Yes and No together, below which the model was about to say something else
_LEARNED_FROM = 3  # requests; where none of them gets an answer of use, no further one will
_OF_FORM = frozenset({400, 413, 422})  # statuses that may be about the request's form

RequestForm = dict[str, Any]
"""What a request says of the answer."""
_SHORT = {"temperature": 0, "max_tokens": 4}
_LONG = {"temperature": 0, "max_tokens": _THOUGHTS}
_MANY, _FEW = ({"logprobs": True, "top_logprobs": alternatives} for alternatives in (20, 5))
_FORMS: tuple[RequestForm, ...] = (
    _SHORT | _MANY,
    _SHORT | _MANY | {"chat_template_kwargs": {"enable_thinking": False}},
    _SHORT | _FEW,
    _LONG | _FEW,
    _SHORT,
    _LONG,
    {"max_completion_tokens": _THOUGHTS},  # for models that know neither temperature nor max_tokens
)


class _OtherFormError(ProviderReplyError):
    """The server does not take the request in this form, or makes nothing of it."""


@dataclass
class _Round:
    """The scores of one call so far, NaN where there is none, and how many pairs were asked about."""

    pairs: Sequence[Pair]
    scores: NDArray[np.float32]
    answered: int = 0
    problem: ProviderReplyError | None = None
    stopped: BudgetError | None = None


class ChatJudge(ModelEndpoint, Judge):
    """Any OpenAI-compatible chat model. `contrary` is ignored: it is asked one question a pair.

    `name` says which model, at which address and asked how, so that no score is taken for another's.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        prompt: Prompt | None = None,
        key: str = "",
        concurrency: int = 64,
        threshold: float = 0.5,
        seconds: float = 30.0,
        price: Price | None = None,
    ) -> None:
        """url: up to and including /v1. concurrency: requests at a time. prompt: the project's own when None. Passage
        and statement go into the project's own as data that can end no element, and into any other as they are, so that
        a published one is asked word for word. The others are those of `ModelEndpoint`. Raises SettingsError for a
        prompt that lacks a variable."""
        super().__init__(url, model, key, seconds, price)
        self._prompt = _checked(prompt or load_prompt("judge"))
        self.name = f"chat-judge-{model}-{self._prompt.digest}-{sha256(self.address.encode()).hexdigest()[:6]}"
        self.threshold = self.sentence_threshold = threshold
        self._concurrency = concurrency
        self._form: RequestForm | None = None

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities, shape (n,); NaN for a pair that was not answered within the seconds (or before the stage's
        deadline, or the end of its budget), or not with a verdict.

        Raises ProviderDownError when the server fails, ProviderReplyError when more than half of its answers are of no
        use, BudgetError when there was nothing left for a single answer.
        """
        asked = _Round(pairs, np.full(len(pairs), np.nan, np.float32))
        limit = min(seconds, current_budget().seconds_left())
        if not pairs or limit <= 0:
            return asked.scores
        async with self.opened() as client:
            await run_within(limit, [partial(self._ask_all, client, asked)], 1)
        if asked.stopped is not None:
            if asked.answered == 0:
                raise asked.stopped
            current_log().note("unjudged", f"Not every passage was judged: {asked.stopped}", NOT_ALL_JUDGED)
        unusable = asked.answered - np.count_nonzero(np.isfinite(asked.scores))
        if unusable * 2 > asked.answered:
            self._form = None  # it may have become another server
            why = asked.problem or "it says neither Yes nor No."
            raise ProviderReplyError(
                f"{unusable} of {asked.answered} answers of {self.server} cannot be used: {why}"
            ) from asked.problem
        return asked.scores

    async def _ask_all(self, client: "AsyncOpenAI", asked: _Round) -> None:
        """Asks about one pair at a time until it is known how the server wants to be asked, then about several."""
        waiting = iter(range(len(asked.pairs)))
        while self._form is None and (at := next(waiting, None)) is not None:
            await self._ask_about(client, asked, at)
            if self._form is None and asked.answered == _LEARNED_FROM and asked.problem:
                raise asked.problem
        await run_within(math.inf, [partial(self._ask_about, client, asked, at) for at in waiting], self._concurrency)

    async def _ask_about(self, client: "AsyncOpenAI", asked: _Round, at: int) -> None:
        if asked.stopped:
            return
        try:
            asked.scores[at] = await self._score(client, asked.pairs[at])
        except BudgetError as exc:
            asked.stopped = exc
            return
        except ProviderReplyError as exc:
            asked.problem = asked.problem or exc
        asked.answered += 1

    async def _score(self, client: "AsyncOpenAI", pair: Pair) -> float:
        """Asks in the form that the server is known to take, else in one after the other until it takes one."""
        refused: _OtherFormError | None = None
        for form in _FORMS if self._form is None else (self._form,):
            try:
                score = await self._ask(client, pair, form)
            except _OtherFormError as exc:
                refused = refused or exc
            else:
                self._form = form
                return score
        assert refused is not None, "there is a form"
        raise refused

    async def _ask(self, client: "AsyncOpenAI", pair: Pair, form: RequestForm) -> float:
        """One request: the probability, NaN for an answer without a verdict."""
        body = {"model": self.model, "messages": messages(self._prompt, pair), **form}
        choice = _choice(await self._sent(client, body), self.server)
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            raise ProviderReplyError(f"{self.server} answered with something that is no text.")
        if not without_thoughts(text).strip(_AROUND):
            raise _OtherFormError(f"{self.server} came to no answer within the tokens that it was given.")
        probability = from_logprobs(choice.get("logprobs"))
        if probability is not None:
            return probability
        verdict = from_text(text)
        if not math.isnan(verdict):
            current_log().note("scope", f"{self.server} gives no probabilities: a Yes counts as 1 and a No as 0.")
        return verdict

    async def _sent(self, client: "AsyncOpenAI", body: dict[str, Any]) -> dict[str, Any]:
        """What `post` gives; a refusal that may be about the form is an _OtherFormError."""
        try:
            return await self.post(client, f"{self.address}/chat/completions", body)
        except ProviderDownError as exc:
            if exc.status in _OF_FORM:
                told = f"{self.server} refused the request (status {exc.status}: {exc.said})."
                raise _OtherFormError(told) from exc
            if is_cut_short(exc):
                raise ProviderReplyError(f"{self.server} cut the connection in the middle of a reply.") from exc
            raise


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
