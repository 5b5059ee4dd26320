"""Parses a chat model's reply. Finds the JSON object anywhere in the reply, and ignores the model's reasoning. If there
is no object, finds the reason."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tools.errors import ProviderReplyError
from tools.limits import LONGEST_CHAT_REPLY

_BLANKS = 1000  # characters; in JSON mode some models write blank lines without end
_MOST_TRIED = 2000  # possible starts of a JSON object in a reply
_NAMES = r"(?:[\w.]+:)?(?:think|thinking|thought|thoughts|reason|reasoning|reflection|analysis|scratchpad)"
_OPENED = rf"(?:<\|?(?:begin_of_|start_)?{_NAMES}\|?>|\[{_NAMES}\]|◁{_NAMES}▷)"
_CLOSED = rf"(?:<\|?(?:/|end_of_|end_){_NAMES}\|?>|\[/{_NAMES}\]|◁/{_NAMES}▷)"
_THOUGHT = re.compile(
    rf"{_OPENED}.*?(?:{_CLOSED}|\Z)|<\|channel>thought.*?(?:<channel\|>|\Z)", re.DOTALL | re.IGNORECASE
)
_UNOPENED = re.compile(rf"\A.*{_CLOSED}", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>", re.IGNORECASE)
_BEGUN = re.compile(r'\{\s*"')  # the start of an object
_CHANNEL_END = re.compile(r"<\|(?:end|return|start|call|channel)\|>")
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")  # the vendors' names of the stop reason
_FILTERED = frozenset(
    "content_filter sensitive safety recitation blocklist prohibited_content spii refusal blocked".split()
)
_CUT = frozenset("length max_tokens max_output_tokens model_length model_context_window_exceeded".split())

S = TypeVar("S", bound=BaseModel)


@dataclass
class ChatReply:
    """A reply as received. thought: reasoning that the server returns separately. ending: the vendor's stop reason.
    refused: words of the model that the server marks as a refusal."""

    text: str = ""
    thought: str = ""
    ending: str = ""
    refused: str = ""

    def take(self, part: Any) -> None:
        """Adds a part of the reply (LangChain's BaseMessage)."""
        self.text += part.content if isinstance(part.content, str) else str(part.text)
        self.thought += str(part.additional_kwargs.get("reasoning_content") or "")
        self.refused += str(part.additional_kwargs.get("refusal") or "")
        about = part.response_metadata
        blocked = (about.get("prompt_feedback") or {}).get("block_reason")  # Gemini, for a refused prompt
        ending = "blocked" if blocked else next((v for k in _ENDINGS if (v := about.get(k))), "")
        self.ending = str(ending) or self.ending

    def check_length(self) -> None:
        """Raises ProviderReplyError for a reply that is too long or continues with blanks."""
        if len(self.text) > LONGEST_CHAT_REPLY:
            raise ProviderReplyError(f"the reply is longer than {LONGEST_CHAT_REPLY:,} characters.")
        if len(self.text) > _BLANKS and not self.text[-_BLANKS:].strip():
            raise ProviderReplyError("the reply continues with blanks without end.")

    def read(self, shape: type[S]) -> S:
        """The reply's JSON object. Some servers return this object as reasoning. Raises ProviderReplyError."""
        whole = self.ending.lower() not in _CUT and self.thought.rstrip().endswith(("}", "```"))
        return read_reply(self.text if self.text.strip() or not whole else self.thought, shape)

    def stop_reason(self) -> str:
        """The reason why there is no answer, if a retry would not help; else empty."""
        ending = self.ending.lower().rpartition(".")[2]
        if self.refused:
            return f"refused to answer: '{' '.join(self.refused.split())[:200]}'"
        if ending in _FILTERED:
            return f"gave no answer, since its server's content filter stopped it ({ending})"
        if ending in _CUT:
            where = "while it was still thinking" if self.thought and not self.text.strip() else "in the middle"
            return (
                f"was cut off {where}, after {len(self.text) + len(self.thought):,} characters ({ending}): let its "
                "server write more (its limit of tokens, or its context length)"
            )
        return ""


def read_reply(text: str, shape: type[S]) -> S:
    """The last JSON object that fits the shape. Earlier objects are drafts. Raises ProviderReplyError."""
    bare = text.strip()
    if not isinstance(read_json(bare), dict):  # pure JSON may contain a reasoning mark inside a string
        bare = without_thoughts(bare).strip()
    if not bare:
        raise ProviderReplyError("the reply is empty")
    wrong: ValidationError | None = None
    candidate: dict[str, Any] | None
    for candidate in reversed(list(_candidates(bare, shape))):
        while candidate is not None:
            try:
                return shape.model_validate(candidate)
            except ValidationError as exc:
                wrong = wrong or exc
                candidate = _without_misfits(candidate, exc)
    if wrong is None:
        raise ProviderReplyError("there is no whole JSON object in the reply")
    first = wrong.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    raise ProviderReplyError(f"'{where}' is not as required ({first['msg'].lower()})") from wrong


def _candidates(text: str, shape: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """The objects that may be the answer. If the last object is incomplete, there is no answer, because the earlier
    objects are drafts. Small models omit the object around a list, or put the shape's name around the object."""
    fields, found = shape.model_fields.keys(), list(_objects(text))
    if text.startswith("[") and len(fields) == 1 and found:
        yield {next(iter(fields)): [one for one, _ in found]}
    if _BEGUN.search(text, found[-1][1] if found else 0):
        return
    for one, _ in found:
        inner = next(iter(one.values())) if len(one) == 1 else None
        candidate = inner if isinstance(inner, dict) and not one.keys() & fields else one
        if candidate.keys() & fields or not fields:
            yield candidate


def _without_misfits(found: dict[str, Any], wrong: ValidationError) -> dict[str, Any] | None:
    """The object without the list entries that violate the shape or exceed the list's length. None if a list would
    become empty or another field is wrong."""
    made = {key: list(value) if isinstance(value, list) else value for key, value in found.items()}
    unfit: dict[str, set[int]] = {}
    for error in wrong.errors():
        field, at = str(error["loc"][0]), error["loc"][1:2]
        if not isinstance(made.get(field), list) or not (at or error["type"] == "too_long"):
            return None
        beyond = range(error.get("ctx", {}).get("max_length", 0), len(made[field]))
        unfit.setdefault(field, set()).update(at if at else beyond)  # type: ignore[arg-type]  # a list's indices
    for field, places in unfit.items():
        made[field] = [entry for at, entry in enumerate(made[field]) if at not in places]
        if not made[field]:
            return None
    return made


def without_thoughts(text: str) -> str:
    """The text without reasoning, even if the reasoning lacks its start mark or end mark. A reply in channels (harmony)
    keeps only its final channel."""
    if channels := list(_CHANNEL.finditer(text)):
        last = channels[-1]
        final = text[last.end() :] if last[1].lower() != "analysis" else ""
        return _CHANNEL_END.split(final, maxsplit=1)[0]
    return _UNOPENED.sub("", _THOUGHT.sub("", text)).lstrip()


def read_json(text: str | bytes) -> Any:
    """The parsed text; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> Iterator[tuple[dict[str, Any], int]]:
    """The outermost JSON objects in the text, each with its end. Line ends inside strings are accepted."""
    decoder, begin = json.JSONDecoder(strict=False), text.find("{")
    for _ in range(_MOST_TRIED):
        if begin < 0:
            return
        try:
            found, end = decoder.raw_decode(text, begin)
            yield found, end
        except (ValueError, RecursionError):
            end = begin + 1
        begin = text.find("{", end)
