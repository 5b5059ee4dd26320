"""A chat model as the judge: asked Yes or No for each pair, its probability taken from the answer's log-probabilities.

P = P(Yes) / (P(Yes) + P(No)) over the first token of the answer, all spellings of the words taken together. Where a
server gives no log-probabilities, its verdict counts as 1 or 0, and a note says so.
"""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompts import Prompt, PromptError, as_data, load_prompt, read_prompt
from tools.budget import current_log
from tools.errors import ProviderReplyError, SettingsError
from tools.models.chat.replies import without_thoughts
from tools.models.judges.judge import Pair
from tools.models.judges.server import OtherFormError, ServerJudge

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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
