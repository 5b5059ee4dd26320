"""What the sources that search for words share: a query's keywords, turns between requests, fields of a reply.

These services have no search for whole questions. Where all words must occur, 'Should schools ban smartphones?
arguments for' finds nothing, because few texts hold 'should', 'arguments' and 'for'. So a query is cut to its keywords
(`schools ban smartphones`). If many keywords find nothing, the first ones are asked for.
"""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderError, ProviderReplyError
from tools.language import lexicon
from tools.limits import LONGEST_TURN, SEARCH_SECONDS
from tools.net.http import open_client
from tools.web.source import Extent, Source, SourceResult, read_results

Field = str | tuple[str, ...] | Callable[[dict[str, Any]], str]
"""A field of an item: a path such as `journal.title`, several paths (the first with a value counts), or a function."""

_SOUGHT = "argument arguments con cons debate doubts evidence opinion opinions pro pros reason reasons".split()
_LEFT_OUT = lexicon.QUERY_FILLERS.union(
    *(lexicon.KEYWORD_STOP_WORDS, lexicon.LIGHT_WORDS, lexicon.PREPOSITIONS, lexicon.NEGATORS),
    *(lexicon.FOREIGN_OPENERS, _SOUGHT),
)
_CONTRACTION = re.compile(r"\b\w+n['’]t\b|['’](?:s|re|ve|ll|d|m)\b")
_END = r"(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?>"  # of a tag, which a<b and c>d is not
_BLOCK = re.compile(rf"</?(?:p|div|li|[uod]l|d[dt]|h[1-6r]|blockquote|pre|section|t[rdh]|title|br){_END}", re.I)
_TAG = re.compile(rf"</?(?:[abipqsu]|[a-z][a-z\d:-]+){_END}|<![^<>]*>", re.I)
_ESCAPED = re.compile(r"<(i|b|em|strong|su[bp]|p)>([^<]*)</\1>", re.I)  # some publishers escape twice
_BUSY = re.compile(r"throttle_violation|temporarily_unavailable|internal_error|maxlag|ratelimited|readonly")
_FIELDS = "url title snippet date publisher author venue text open_url".split()
_EMPTY = {"total", "offset", "batchcomplete"}  # a reply with nothing else found nothing

_turns: dict[str, float] = {}  # address -> time of its next request (time.monotonic)
_lock = threading.Lock()


class Wanted(NamedTuple):
    """A request. text: keywords with blanks between them."""

    text: str
    limit: int
    domains: Sequence[str]


class KeywordSource(Source):
    """A source that is asked with keywords and answers with one page of JSON.

    home: usual address. endpoint: path of the request. items: path of the list in the reply. fields: of SourceResult,
    in an item of the list, if not there by the same name. most_words, fewest_words: keywords of the first request, and
    of the second one, which follows only if the first finds nothing. shortest_word: letters. pause: least seconds
    between two requests of this process, and before a request is repeated. key_header: of the key.
    """

    home: str
    endpoint: str
    items: str
    fields: ClassVar[Mapping[str, Field]]
    extent: Extent = ""
    most_words, fewest_words, shortest_word = 6, 3, 1
    pause, key_header = 0.0, ""

    def __init__(self, address: str = "", seconds: float = SEARCH_SECONDS, contact: str = "", key: str = "") -> None:
        """contact: e-mail address of this program's user, which the service gets with each request ('': none)."""
        headers = {"User-Agent": f"Steelman/0.1{f' (mailto:{contact})' if contact else ''}"}
        headers |= {self.key_header: key} if self.key_header else {}
        super().__init__(address or self.home, seconds, headers)
        self._contact, self._key = contact, key

    async def _found(self, query: str, limit: int, domains: Sequence[str]) -> list[SourceResult]:
        words = keywords(query, self.longest_query, self.shortest_word)
        numbers = dict.fromkeys(min(len(words), n) for n in (self.most_words, self.fewest_words))
        found: list[SourceResult] = []
        async with open_client(self._headers, self._seconds, least_pause=self.pause) as client:
            for number in numbers:
                if number and not found:
                    found = await self._ask(client, Wanted(" ".join(words[:number]), limit, domains))
        return found

    async def _page(self, client: Any, query: Wanted, page: int) -> list[SourceResult]:
        return self._results(await self._get(client, self.endpoint, self._parameters(query)))

    def _parameters(self, query: Wanted) -> dict[str, object]:
        """The request's parameters. Those that are '' or None are not sent. A source with its own `_page` needs
        none."""
        raise NotImplementedError

    async def _get(self, client: Any, path: str, parameters: Mapping[str, object]) -> dict[str, Any]:
        """The reply's JSON object. Raises ProviderReplyError for a refused query, because the next query may succeed,
        and ProviderDownError for other refusals."""
        asked = urlencode({name: value for name, value in parameters.items() if value not in ("", None)})
        await self._turn()
        try:
            reply = await self._fetch(client, "GET", f"{path}?{asked}")
        except ProviderDownError as exc:
            raise self._refusal(exc) from exc
        # Stack Exchange asks for so many seconds without a request.
        if isinstance(backoff := reply.get("backoff"), int | float) and 0 < backoff < 1e6:
            with _lock:
                _turns[self.address] = max(_turns[self.address], time.monotonic() + backoff)
        return reply

    def _refusal(self, exc: ProviderDownError) -> ProviderError:
        said = str(exc).replace(self._key, "…") if self._key else str(exc).replace("refused the key", "refused this")
        if exc.status in (400, 414) and not _BUSY.search(exc.said):
            return ProviderReplyError(said)
        failure = ProviderDownError(said if self._key else said.removesuffix(" Check it in .env."))
        failure.status, failure.said = exc.status, exc.said
        return failure

    async def _turn(self) -> None:
        """Waits until the service takes another request. Raises ProviderReplyError if that is too long."""
        with _lock:
            now = time.monotonic()
            at = max(now, _turns.get(self.address, now))
            if at - now > min(LONGEST_TURN, current_budget().seconds_left()):
                raise ProviderReplyError(f"{self.title} takes no more requests at the moment. Ask again in a minute.")
            _turns[self.address] = at + self.pause
        await asyncio.sleep(at - now)

    def _list(self, reply: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The objects of the reply's list. Raises ProviderReplyError, or ProviderDownError if the service is busy."""
        found = dig(reply, self.items)
        if found is None and not reply.keys() - _EMPTY and not reply.get("total"):
            return []
        if (rows := objects(found)) or found == []:
            return rows
        said = value_at(reply, ("error.info", "error", "errMsg", "error_message", "message"))
        busy = _BUSY.search(value_at(reply, ("error.code", "error_name")))
        failure = ProviderDownError if busy else ProviderReplyError
        raise failure(f"{self.title} {f'refused: {said[:200]}' if said else 'answered without a list of results.'}")

    def _results(self, reply: Mapping[str, Any]) -> list[SourceResult]:
        """The results in a reply. Raises ProviderReplyError if none has an address."""
        rows = [row for item in self._list(reply) if (row := self._row(item)) is not None]
        found = read_results(self.title, rows, extent=self.extent, **{name: name for name in _FIELDS})
        if rows and not found:
            raise ProviderReplyError(f"{self.title} answered with results that have no addresses.")
        return found

    def _row(self, item: dict[str, Any]) -> dict[str, str] | None:
        """The fields of a result; None for an item that is left out."""
        return {name: value_at(item, self.fields.get(name, name), name.endswith("url")) for name in _FIELDS}


def keywords(query: str, longest: int = 500, shortest_word: int = 1) -> list[str]:
    """The query's content words in lower case, each once, in order, with at most `longest` characters together; all its
    words if it has no content words. Operators and marks of search languages do not remain."""
    found = dict.fromkeys(re.findall(r"[^\W_]+", _CONTRACTION.sub(" ", query.lower())))
    words = [w for w in found if len(w) >= shortest_word and (w[1:] or w.isdigit())]
    text = " ".join([w for w in words if w not in _LEFT_OUT] or words)
    return (text if len(text) <= longest else text[: longest + 1].rpartition(" ")[0]).split()


def value_at(item: Any, field: Field, as_written: bool = False) -> str:
    """A field as plain text. as_written: it is no HTML, such as an address. A list of names is cut after the third."""
    if callable(field):
        return field(item)
    for path in (field,) if isinstance(field, str) else field:
        value = dig(item, path)
        if isinstance(value, list):
            names = [name for name in map(plain_html, value) if name]
            value = ", ".join(names) if len(names) < 4 else f"{names[0]} et al."
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if found := (text if as_written and isinstance(text, str) else plain_html(text)):
            return found.encode("utf-8", "ignore").decode()  # without halves of characters
    return ""


def dig(data: Any, path: str) -> Any:
    """The value at the end of a path, None if there is none. Through a list, the values of all its objects."""
    for name in path.split("."):
        if isinstance(data, list):
            data = [item.get(name) for item in data if isinstance(item, dict)]
        else:
            data = data.get(name) if isinstance(data, dict) else None
    return data


def objects(found: Any) -> list[dict[str, Any]]:
    """The objects of a list; none if this is no list."""
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def plain_html(value: object) -> str:
    """The text of a piece of HTML, with a line for each paragraph; '' if it is no text."""
    text = unescape(_TAG.sub("", _BLOCK.sub("\n", value))) if isinstance(value, str) else ""
    return _ESCAPED.sub(r"\2", _ESCAPED.sub(r"\2", text)).strip()  # twice: also the tags around tags
