"""Whether a server read all of a prompt. Some cut what is longer than their context and say nothing: Ollama does, whose
context has 4,096 tokens where nobody set another one.

What such a server counts as read tells it, in one of two ways, neither of which needs the model's own tokens:

- far fewer tokens than so many characters take: prose has four to five a token, and for no tokenizer more than six;
- the same number for prompts of different lengths, which is where it cuts.

Either is believed sooner where the number is a context's: a multiple of 512, of which Ollama fills all or half and two.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tools.budget import current_log
from tools.errors import PromptTooLongError

_LEAST = 500  # tokens; a smaller count is no full context, but one that leaves out what was cached, or a made-up one
_SURE = 8.0, 1.1  # characters of a token, and times that one prompt is as long as another, from which it is plain
_ROUND = 5.0, 1.01  # the same where the number is a context's
_WHOLE_CONTEXTS = frozenset(1024 * 2**n for n in range(8))
_FILLED = 3.5  # of a prompt that fills such a context to the last token hardly one in a thousand was not cut
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
        self._seen: dict[int, tuple[int, int]] = {}  # characters of the prompts of so many tokens: fewest and most

    def check(self, characters: int, tokens: int) -> None:
        """Has the answer say, once, that a prompt was cut. Raises PromptTooLongError inside of `read_whole`."""
        if tokens < _LEAST:
            return
        fewest, most = self._seen.get(tokens, (characters, characters))
        a_token, times = _ROUND if tokens % 512 in (0, 1, 2, 511) else _SURE
        if tokens in _WHOLE_CONTEXTS:
            a_token = _FILLED
        fewest, most = min(characters, fewest), max(characters, most)
        cut = characters > a_token * tokens or most > times * fewest
        self._seen[tokens] = (0 if cut else fewest), most  # where it cut once it always does
        if not cut:
            return
        told = (
            f"The server of {self._name} read only the first or last part of what it was sent, and did not say so: its "
            "context is too short. Give it a longer one (Ollama: OLLAMA_CONTEXT_LENGTH=16384 or the model's num_ctx; "
            "LM Studio: the model's context length)."
        )
        current_log().note("scope", told)
        if _WHOLE.get():
            raise PromptTooLongError(told)
