"""Judges on a server: a cross-encoder on vLLM (`ScoreJudge`), and a chat model that answers Yes or No (`ChatJudge`).

The judge sends concurrent requests until the deadline. A form is a set of extra fields of a request. The first request
determines the form: the judge tries its forms, best first, until the server accepts a form.

`ChatJudge` scores P(Yes) / (P(Yes) + P(No)) at the first token of the reply; each P sums over all spellings of the
word. If the server returns no log-probabilities, a verdict counts as 1 or 0, and Steelman's answer has a note.
"""

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prompts import Prompt, PromptError, as_data, load_prompt, read_prompt
from tools.budget import NOT_ALL_JUDGED, batches, current_budget, current_log, run_within
from tools.errors import BudgetError, ProviderDownError, ProviderReplyError, SettingsError
from tools.models.chat.reply import without_thoughts
from tools.models.judges.judge import Judge, Pair, best_window_scores, split_into_windows
from tools.models.servers import ModelEndpoint
from tools.net.retries import is_cut_short

if TYPE_CHECKING:
    import httpx


_ABOUT_FORM = (400, 413, 422)  # HTTP statuses that refuse the form of a request
_FORM_ATTEMPTS = 3  # requests without a usable answer, after which the judge gives up

Form = dict[str, Any]


class OtherFormError(ProviderReplyError):
    """The server refuses this form of the request, or sends an unusable reply."""


class UnfitModelError(ProviderReplyError):
    """The model's outputs cannot be probabilities of support."""


@dataclass
class _Scores:
    """The scores of one call so far (NaN if missing), the indices of the answered pairs, and the failed requests."""

    pairs: Sequence[Pair]
    scores: NDArray[np.float32]
    answered: list[int] = field(default_factory=list)
    problems: list[ProviderReplyError] = field(default_factory=list)
    stopped: BudgetError | None = None


class ServerJudge(ModelEndpoint, Judge):
    """Probabilities of support from a server. The judge asks one question per pair and ignores `contrary`.

    `name` identifies model, address and prompt.
    """

    forms: Sequence[Form]
    """The forms, best first: fields to add to a request."""
    most_of_run = 100
    """Concurrent requests of a run."""

    def __init__(
        self, *, name: str, url: str, model: str, together: int, key: str = "", threshold: float = 0.5, **options: Any
    ) -> None:
        """together: pairs in one request. `ModelEndpoint` describes the other parameters."""
        super().__init__(url, model, key, **options)
        self.name = f"{name}-{sha256(self.base.encode()).hexdigest()[:6]}"
        self.threshold = threshold
        self._pairs_per_request = together
        self._form: Form | None = None

    async def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities, shape (n,); NaN for pairs without a verdict when the deadline is reached or the budget is used
        up.

        Raises ProviderDownError if the server fails, ProviderReplyError if more than half of its answers are unusable,
        BudgetError if the budget does not allow a single answer.
        """
        asked = _Scores(pairs, np.full(len(pairs), np.nan, np.float32))
        if not pairs or current_budget().seconds_left() <= 0:
            return asked.scores
        async with self.open_client() as client:
            await run_within([partial(self._ask_in_batches, client, asked)], 1)
        if asked.stopped is not None:
            if not asked.answered:
                raise asked.stopped
            current_log().note("unjudged", f"Not every passage was read: {asked.stopped}", NOT_ALL_JUDGED)
        unusable = int(np.isnan(asked.scores[asked.answered]).sum())
        if unusable * 2 > len(asked.answered):
            self._form = None  # the server may have changed
            problem = next(iter(asked.problems), None)
            why = problem or "it says neither Yes nor No."
            raise ProviderReplyError(
                f"{unusable} of {len(asked.answered)} answers of {self.server} cannot be used: {why}"
            ) from problem
        return asked.scores

    async def _ask_in_batches(self, client: "httpx.AsyncClient", asked: _Scores) -> None:
        """Sends one batch at a time until the form is known, then several."""
        waiting = iter(batches(range(len(asked.pairs)), self._pairs_per_request))
        while self._form is None and (part := next(waiting, None)):
            await self._ask_batch(client, asked, part)
            if len(asked.problems) == _FORM_ATTEMPTS:
                raise asked.problems[0]
        await run_within([partial(self._ask_batch, client, asked, part) for part in waiting], self.most_of_run)

    async def _ask_batch(self, client: "httpx.AsyncClient", asked: _Scores, part: Sequence[int]) -> None:
        if asked.stopped:
            return
        try:
            asked.scores[list(part)] = await self._scores(client, [asked.pairs[i] for i in part])
        except BudgetError as exc:
            asked.stopped = exc
            return
        except UnfitModelError:
            raise
        except ProviderReplyError as exc:
            asked.problems.append(exc)
        asked.answered += part

    async def _scores(self, client: "httpx.AsyncClient", pairs: Sequence[Pair]) -> Sequence[float]:
        """Uses the known form, else tries the forms in order."""
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
        raise refused

    @abstractmethod
    async def _ask(self, client: "httpx.AsyncClient", pairs: Sequence[Pair], form: Form) -> Sequence[float]:
        """Sends one request. Returns a probability for each pair, NaN without a verdict.

        Raises OtherFormError, UnfitModelError, ProviderReplyError, ProviderDownError, BudgetError.
        """

    async def post(self, client: "httpx.AsyncClient", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """As `ModelEndpoint.post`, but raises OtherFormError if the server refuses the form."""
        try:
            return await super().post(client, url, body)
        except ProviderDownError as exc:
            if exc.status in _ABOUT_FORM:
                message = f"{self.server} refused the request (status {exc.status}: {exc.said})."
                raise OtherFormError(message) from exc
            if is_cut_short(exc):
                raise ProviderReplyError(f"{self.server} cut the connection in the middle of a reply.") from exc
            raise


class ScoreJudge(ServerJudge):
    """A sequence classifier with one label. The label's score is the probability of support.

    `url`: the server's address, with or without /v1. The statement is the first of the two texts.
    """

    most_of_run = 8
    forms = ({"truncate_prompt_tokens": -1}, {})  # truncates to the model's context, else one long text fails the batch

    def __init__(self, *, model: str, batch: int = 32, **options: Any) -> None:
        """batch: pairs in one request. `ServerJudge` describes the other options."""
        super().__init__(name=f"score-judge-{model}", model=model, together=batch, **options)

    async def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """As in `ServerJudge`. The score of a long text is the score of its best window."""
        windows, places = split_into_windows(pairs)
        return best_window_scores(await super().support(windows), places, len(pairs))

    async def _ask(self, client: "httpx.AsyncClient", pairs: Sequence[Pair], form: Form) -> Sequence[float]:
        texts = {"text_1": [pair.statement for pair in pairs], "text_2": [pair.text for pair in pairs]}
        body = {"model": self.model, **texts, **form}
        reply = await self.post(client, f"{self.base.removesuffix('/v1')}/score", body)
        scores = _scores_by_index(reply.get("data"), len(pairs), self.server)
        if outside := [s for s in scores if not 0 <= s <= 1]:
            raise UnfitModelError(
                f"{self.server} gives scores like {outside[0]:.2f}, which are no probabilities. The judge has to be a "
                "classifier with one label and a sigmoid over its score."
            )
        return scores


def _scores_by_index(rows: Any, count: int, server: str) -> list[float]:
    """Raises ProviderReplyError unless there is a number for each pair."""
    found: dict[int, float] = {}
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        found = {row["index"]: float(row["score"]) for row in rows if math.isfinite(row["score"])}
    if found.keys() != set(range(count)):
        raise ProviderReplyError(f"{server} gave scores for {len(found)} pairs of {count}.")
    return [found[i] for i in range(count)]


_AROUND_WORD = " \n\t\r▁ĠĊ*_\"'`.,:;!"  # characters around the word, with tokenizers' marks of a space
_VERDICT = re.compile(r"(yes|no)\b", re.IGNORECASE)
_THOUGHT_TOKENS = 2048  # tokens for models that always reason
_LEAST_MASS = 0.05  # least probability of Yes and No together

_SHORT_ANSWER = {"temperature": 0, "max_tokens": 4}
_LONG_ANSWER = {"temperature": 0, "max_tokens": _THOUGHT_TOKENS}
_TOP_20, _TOP_5 = ({"logprobs": True, "top_logprobs": alternatives} for alternatives in (20, 5))


class ChatJudge(ServerJudge):
    """Any OpenAI-compatible chat model. `url`: the address up to /v1."""

    forms = (
        _SHORT_ANSWER | _TOP_20,
        _SHORT_ANSWER | _TOP_20 | {"chat_template_kwargs": {"enable_thinking": False}},
        _SHORT_ANSWER | _TOP_5,
        _LONG_ANSWER | _TOP_5,
        _SHORT_ANSWER,
        _LONG_ANSWER,
        {"max_completion_tokens": _THOUGHT_TOKENS},  # for models that refuse temperature and max_tokens
    )

    def __init__(self, *, model: str, prompt: Prompt | None = None, **options: Any) -> None:
        """prompt: of `read_judge_prompt`; by default the project's prompt. In the project's prompt, passage and
        statement are escaped data. In any other prompt they are inserted verbatim, so that a published prompt is used
        word for word. `ServerJudge` describes the other options."""
        self._prompt = prompt or load_prompt("judge")
        name = f"chat-judge-{model}-{self._prompt.digest}"
        super().__init__(name=name, model=model, together=1, **options)

    async def _ask(self, client: "httpx.AsyncClient", pairs: Sequence[Pair], form: Form) -> Sequence[float]:
        body = {"model": self.model, "messages": messages(self._prompt, pairs[0]), **form}
        reply = await self.post(client, f"{self.base}/chat/completions", body)
        try:
            [choice, *_] = reply["choices"]
            text = choice["message"].get("content") or ""
            said = without_thoughts(text).strip(_AROUND_WORD)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise ProviderReplyError(f"{self.server} answered with something other than a chat reply.") from exc
        if not said:
            raise OtherFormError(f"{self.server} came to no answer within its token limit.")
        probability = from_logprobs(choice.get("logprobs"))
        if probability is not None:
            return [probability]
        verdict = from_text(text)
        if not math.isnan(verdict):
            current_log().note("scope", f"{self.server} gives no probabilities: a Yes counts as 1 and a No as 0.")
        return [verdict]


def messages(prompt: Prompt, pair: Pair) -> list[dict[str, str]]:
    """The chat messages for a pair."""
    values = {"passage": pair.text, "statement": pair.statement}
    if prompt.digest == load_prompt("judge").digest:
        values = {name: as_data(name, text) for name, text in values.items()}
    system, user = prompt.render(**values)
    system_message = [{"role": "system", "content": system}] if system else []
    return [*system_message, {"role": "user", "content": user}]


def read_judge_prompt(path: Path) -> Prompt:
    """A judge's prompt: a file with `{{passage}}` and `{{statement}}`. Raises SettingsError."""
    try:
        prompt = read_prompt(path)
        prompt.render(passage="", statement="")
    except PromptError as exc:
        needed = "A judge's prompt has the variables {{passage}} and {{statement}}."
        raise SettingsError(f"the judge cannot be asked by this prompt: {exc} {needed}") from exc
    return prompt


def from_logprobs(logprobs: Any) -> float | None:
    """P(Yes) / (P(Yes) + P(No)) at the first word; None if unknown, such as for a reply that begins with its
    reasoning."""
    try:
        first = next(token for token in logprobs["content"] if token["token"].strip(_AROUND_WORD))
        offered = [first, *(first.get("top_logprobs") or ())]
    except (KeyError, TypeError, AttributeError, StopIteration):
        return None
    spelled: dict[str, float] = {}
    for token in offered:
        with suppress(KeyError, TypeError, OverflowError):
            spelled[str(token["token"])] = math.exp(min(token["logprob"], 0.0))  # rounding may exceed 0
    mass = {"yes": 0.0, "no": 0.0}
    for token, probability in spelled.items():
        word = token.strip(_AROUND_WORD).casefold()
        if word in mass:
            mass[word] += probability
    both = mass["yes"] + mass["no"]
    return mass["yes"] / both if both >= _LEAST_MASS else None


def from_text(text: str) -> float:
    """1 for an answer that begins with Yes, 0 for an answer that begins with No, else NaN."""
    found = _VERDICT.match(without_thoughts(text).lstrip(_AROUND_WORD))
    return math.nan if found is None else float(found[1].casefold() == "yes")
