"""Whether a server read all of a prompt. Some cut what is longer than their context and say nothing: Ollama does, whose
context has 4,096 tokens where nobody set another one.

What such a server counts as read tells it: far fewer tokens than so many characters take. Prose has four to five
characters a token, and for no tokenizer more than six. It is believed sooner where the number is a context's: a
multiple of 512, of which Ollama fills all or half and two.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tools.budget import current_log
from tools.errors import PromptTooLongError

_LEAST = 500  # tokens; a smaller count is no full context, but one that leaves out what was cached, or a made-up one
_SURE = 8.0  # characters of a token, from which it is plain
_ROUND = 5.0  # the same where the number is near a context's
_FILLED = 3.5  # and where it is a usual context's to the last token, as hardly one whole prompt in a thousand is
_CONTEXTS = frozenset(1024 * 2**n for n in range(8))
_WHOLE: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def read_whole(needed: bool = True) -> Iterator[None]:
    """Inside, a prompt that a server has cut is a PromptTooLongError: for whoever can ask about less at a time."""
    token = _WHOLE.set(needed)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def check_read(name: str, characters: int, tokens: int) -> None:
    """Has the answer say, once, that the server of this model cut a prompt. Raises PromptTooLongError inside of
    `read_whole`."""
    a_token = _FILLED if tokens in _CONTEXTS else _ROUND if tokens % 512 in (0, 1, 2, 511) else _SURE
    if tokens < _LEAST or characters <= a_token * tokens:
        return
    told = (
        f"The server of {name} read only the first or last part of what it was sent, and did not say so: its context "
        "is too short. Give it a longer one (Ollama: OLLAMA_CONTEXT_LENGTH=16384 or the model's num_ctx; LM Studio: "
        "the model's context length)."
    )
    current_log().note("scope", told)
    if _WHOLE.get():
        raise PromptTooLongError(told)
