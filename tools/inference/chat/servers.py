"""What servers of chat models are like: which models they offer, whose turn it is to ask one, and whether it read all
of a prompt.

Some cut what is longer than their context and say nothing: Ollama does, whose context has 4,096 tokens where nobody set
another one. What such a server counts as read tells it: far fewer tokens than so many characters take. Prose has four
to five characters a token, and for no tokenizer more than six. It is believed sooner where the number is a context's: a
multiple of 512, of which Ollama fills all or half and two.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from tools.budget import current_log
from tools.errors import PromptTooLongError, ProviderDownError, ProviderReplyError
from tools.inference.chat.vendors import COMPATIBLE, Vendor
from tools.net.http import fetch_json, open_client, without_login


async def models_at(url: str, key: str = "", vendor: Vendor = COMPATIBLE) -> list[str]:
    """The names of the models that a server offers. Raises ProviderDownError, ProviderReplyError."""
    asked, here = vendor.listing, without_login(url)
    address, headers = f"{url.rstrip('/')}{asked.path}", asked.headers(key.strip())
    async with open_client(seconds=10.0) as client:
        try:
            async with asyncio.timeout(15.0):
                listed = await fetch_json(client, "GET", address, name=here, headers=headers, key=vendor.key)
        except TimeoutError as exc:
            raise ProviderDownError(f"{here} did not answer in time.") from exc
    rows = listed.get(asked.rows) if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        kind = f"{vendor.prefix} does" if vendor.prefix else "an OpenAI-compatible server does"
        raise ProviderReplyError(f"{here} does not list its models as {kind}.")
    names = [str(row[asked.name]) for row in rows if isinstance(row, dict) and row.get(asked.name)]
    return [name.removeprefix("models/") if vendor.prefix == "google_genai" else name for name in names]


class Turns:
    """The calls to one server, of all models that this process asks there.

    alone: it was found to break replies off, and is asked one thing at a time for as long as the process lives.
    """

    def __init__(self) -> None:
        self.alone = False
        self._begun = self._ended = 0  # calls
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Callable[[], bool]]:
        """A turn; yields what tells whether the server was asked for something else meanwhile."""
        if self.alone:
            async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                yield lambda: False
            return
        self._begun += 1
        others, begun = self._begun - self._ended > 1, self._begun
        try:
            yield lambda: others or self._begun > begun
        finally:
            self._ended += 1


_TURNS: dict[str, Turns] = {}


def turns_at(address: str) -> Turns:
    """Those of the server at the address."""
    return _TURNS.setdefault(address, Turns())


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
