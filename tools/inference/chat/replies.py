"""What a chat model's reply says: the JSON object in it, wherever it stands, without what the model thought aloud."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tools.errors import ProviderReplyError

_MOST_TRIED = 2000  # places in a reply at which its JSON object may begin
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)

S = TypeVar("S", bound=BaseModel)


def read_reply(text: str, shape: type[S]) -> S:
    """The reply's JSON object, wherever in the text it stands. Raises ProviderReplyError."""
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")):  # what is JSON from end to end may well quote such a mark
        bare = without_thoughts(bare).strip()
    if not bare:
        raise ProviderReplyError("the reply is empty")
    wrong: ValidationError | None = None
    for candidate in _objects(bare):
        try:
            return shape.model_validate(candidate)
        except ValidationError as exc:
            wrong = wrong or exc
    if wrong is None:
        raise ProviderReplyError("there is no whole JSON object in the reply")
    first = wrong.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    raise ProviderReplyError(f"'{where}' is not as required ({first['msg'].lower()})") from wrong


def without_thoughts(text: str) -> str:
    """The text without what a model thought aloud, closed or not, and whether or not the beginning was marked."""
    return _UNOPENED.sub("", _THOUGHT.sub("", text)).lstrip()


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects that stand in the text, one after the other; what stands inside one is no object of its own."""
    decoder, begin = json.JSONDecoder(), text.find("{")
    for _ in range(_MOST_TRIED):
        if begin < 0:
            return
        try:
            found, end = decoder.raw_decode(text, begin)
            yield found
        except (ValueError, RecursionError):
            end = begin + 1
        begin = text.find("{", end)
