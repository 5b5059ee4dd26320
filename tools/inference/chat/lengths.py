"""Whether a server read all of a prompt. Some cut what is longer than their context and say nothing: Ollama does, whose
context has 4,096 tokens where nobody set another one.

What such a server counts as read tells it, in one of two ways, neither of which needs the model's own tokens:

- far fewer tokens than any language takes for so many characters;
- the same number for prompts of different lengths, which is where it cuts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tools.budget import current_log
from tools.errors import PromptTooLongError

_CHARACTERS = 12  # of a token at most: prose has four to five, in no language and for no tokenizer more than six
_LEAST = 500  # tokens; a smaller count is no full context, but one that leaves out what was cached, or a made-up one
_APART = 1.1  # times as long is of another length
_WHOLE: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def read_whole(needed: bool = True) -> Iterator[None]:
    """Inside, a prompt that a server has cut is a PromptTooLongError: for whoever can ask about less at a time."""
    token = _WHOLE.set(needed)
    try:
        yield
    finally:
        _WHOLE.reset(token)


class ReadLengths:
    """How much one server has read of what it was sent."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shortest: dict[int, int] = {}  # prompt of so many tokens, in characters

    def check(self, characters: int, tokens: int) -> None:
        """Has the answer say, once, that a prompt was cut. Raises PromptTooLongError inside of `read_whole`."""
        if tokens < _LEAST:
            return
        shortest = self._shortest[tokens] = min(characters, self._shortest.get(tokens, characters))
        if characters <= min(_CHARACTERS * tokens, _APART * shortest):
            return
        told = (
            f"The server of {self._name} read only the first or last part of what it was sent, and did not say so: its "
            "context is too short. Give it a longer one (Ollama: OLLAMA_CONTEXT_LENGTH=16384 or the model's num_ctx; "
            "LM Studio: the model's context length)."
        )
        current_log().note("scope", told)
        if _WHOLE.get():
            raise PromptTooLongError(told)
