"""MCP servers as sources: the search tool of a server is asked like an engine, and its fetch tool gives the texts.

https://modelcontextprotocol.io/specification/2025-11-25/server/tools describes tools and results. Servers name tools
and fields as they like; many follow `search` and `fetch` of https://platform.openai.com/docs/mcp. A tool's reply is
data: its addresses pass the guard, its texts are cleaned and cut, and nothing in it is an instruction.
"""

import asyncio
import logging
import os
import re
import shlex
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from anyio import CancelScope
from anyio.streams.text import TextReceiveStream
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client import stdio
from mcp_types import CallToolResult, Tool

from tools.budget import current_budget
from tools.errors import AddressError, ProviderDownError, ProviderReplyError, SteelmanError
from tools.limits import FEWEST_PAGE_WORDS, LARGEST_PAGE, PAGE_SECONDS, SEARCH_SECONDS
from tools.models.chat.reply import read_json
from tools.net.http import without_login
from tools.web import source
from tools.web.addresses import check_url, is_public

SEARCHES = "search query find lookup".split()
FETCHES = "fetch read get open retrieve".split()
_FETCHED = {*FETCHES, *"document doc page article content text full note paper record item by id url web".split()}
_CHANGES = set(
    "add archive cancel clear create delete drop edit execute insert move pay post purge put remove rename replace "
    "save send set update upload write".split()
)
_QUERY = "query q search_query search question text term keywords queries".split()
_LIMITS = "limit max_results maxresults num_results numresults count top_k n".split()
_KEYS = {"id": "id", "key": "id", "slug": "id", "url": "url", "uri": "url", "link": "url", "title": "title"}
"""Words in the name of a fetch tool's argument, and the field of a result that it takes."""
_FIELDS = {
    "url": "url link uri href source_url web_url html_url",
    "title": "title name heading",
    "snippet": "snippet description summary excerpt abstract highlight",
    "text": "text content body full_text markdown page_content raw_content",
    "date": "date published published_date published_at publishedAt created_at updated_at year",
    "author": "author authors creator",
    "publisher": "publisher site_name site",
    "venue": "venue journal",
    "id": "id document_id doc_id key slug uri",
}
_URL = re.compile(r"https?://[^\s<>\"'()\[\]]+")
_PARTS = re.compile(r"\n\s*\n|\n(?=\s*(?:\d+[.)]|[-*•])\s)")  # of a list of results in plain text
_LABEL = re.compile(r"^[\s\d.)#*•-]*(?:(?:title|url|link|name|summary|description|snippet)\s*:)?[\s*\[]*", re.I)
_MOST_TEXTS, _AT_ONCE, _DEEPEST = 5, 2, 4
_ENDS_WITHIN = 6.0  # seconds; the library waits 2 and 2 before it kills a process


class _LimitedOutput(TextReceiveStream):
    """A server's standard output. A line is a reply; one that is larger than a page may be ends the server."""

    _size = 0

    async def receive(self) -> str:
        text = await super().receive()
        _, newline, rest = text.rpartition("\n")
        self._size = len(rest) if newline else self._size + len(text)
        if self._size > LARGEST_PAGE:
            await self.transport_stream.aclose()
            raise OSError(f"a reply has more than {LARGEST_PAGE // 1_000_000} MB")
        return text


stdio.TextReceiveStream = _LimitedOutput  # type: ignore[attr-defined]  # the library reads lines of any length


class McpSource(source.Source):
    """An MCP server. server: its address (streamable HTTP), or the command that starts it (standard input and output).
    A command starts for each search; it gets no key from this process's environment."""

    longest_query = 400
    most_results = 20

    def __init__(self, name: str, server: str, seconds: float = SEARCH_SECONDS) -> None:
        super().__init__(server if source.is_page(server) else "a command", seconds)
        self.name, self.title, self._server = f"mcp:{name}", f"MCP server '{name}'", server
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._begun: set[asyncio.Task[list[source.SourceResult]]] = set()

    async def _found(self, query: str, limit: int, domains: Sequence[str]) -> list[source.SourceResult]:
        async with self._turns:
            return await self._ask(None, (source.cut_query(query, self.longest_query), limit))

    async def aclose(self) -> None:
        """Waits until the processes of searches that were given up have ended; the event loop may end then."""
        if self._begun:
            await asyncio.wait(self._begun, timeout=_ENDS_WITHIN)

    async def _page(self, client: Any, query: Any, page: int) -> list[source.SourceResult]:
        """query: the text, and the most results."""
        scope = CancelScope()
        asking = asyncio.create_task(self._asked(scope, *query))
        self._begun.add(asking)
        asking.add_done_callback(self._begun.discard)
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it
        try:
            return await asyncio.shield(asking)
        finally:
            scope.cancel()  # lets the task end the server's process, which a cancelled task may leave

    async def _asked(self, scope: CancelScope, text: str, limit: int) -> list[source.SourceResult]:
        try:
            with scope:
                async with self._connected() as server:
                    return await self._results(server, text, limit)
        except Exception as exc:  # the transports raise groups of errors of any kind
            raise self._failure(exc) from exc
        raise ProviderDownError(f"{self.title} did not answer in time.")

    async def _results(self, server: Client, text: str, limit: int) -> list[source.SourceResult]:
        tools = (await server.list_tools()).tools
        search, fetch = best_call(tools, SEARCHES), best_call(tools, FETCHES)
        if search is None:
            named = source.plain_text(", ".join(t.name for t in tools), 200) or "none"
            raise ProviderDownError(f"{self.title} has no tool that searches for one text. Its tools: {named}.")
        reply = await server.call_tool(search.tool, search.arguments(text, limit))
        if reply.is_error:
            raise ProviderReplyError(f"{self.title} refused: {source.plain_text(' '.join(_texts(reply)), 200)}.")
        rows = list(_rows(reply))[:limit]
        asked = [self._full_text(server, fetch, row) for row in rows[:_MOST_TEXTS] if fetch]
        full = [*await asyncio.gather(*asked), *[""] * len(rows)]
        return [r for row, own in zip(rows, full, strict=False) if (r := self._result(row, own))]

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # it logs traces of what a server gets wrong
        with Path(os.devnull).open("w") as nowhere:
            server: Any = self._server
            if not source.is_page(server):
                command, *arguments = shlex.split(server)
                server = stdio_client(StdioServerParameters(command=command, args=arguments), errlog=nowhere)
            async with Client(server, read_timeout_seconds=self._seconds) as client:
                yield client

    async def _full_text(self, server: Client, fetch: "ToolCall", row: Mapping[str, Any]) -> str:
        key = _field(row, fetch.takes)
        if not key:
            return ""
        with suppress(MCPError, TimeoutError):
            async with asyncio.timeout(min(PAGE_SECONDS, current_budget().seconds_left() / 2)):
                reply = await server.call_tool(fetch.tool, fetch.arguments(key))
            if not reply.is_error:
                objects = _objects(reply.structured_content) or [
                    o for text in _texts(reply) for o in _objects(read_json(text))
                ]
                return source.plain_lines(_field(objects[0], "text") if objects else "\n".join(_texts(reply)))
        return ""

    def _result(self, row: Mapping[str, Any], full_text: str) -> source.SourceResult | None:
        given = {name: _field(row, name) for name in _FIELDS}
        text, url = (
            full_text or source.plain_lines(given["text"]),
            given["url"] if _is_public_page(given["url"]) else "",
        )
        if url and not full_text and len(text.split()) < FEWEST_PAGE_WORDS:  # rather a snippet: the page is fetched
            given["snippet"], text = given["snippet"] or text, ""
        if not url and not text:
            return None
        key = given["id"] or without_login(given["url"]) or given["title"] or sha256(text.encode()).hexdigest()
        own = {name: given[name] for name in ("title", "snippet", "date", "publisher", "author", "venue")}
        extent: source.Extent = "full text" if full_text else "extract"
        place = url or f"{self.name.replace(':', '://')}/{quote(key[:200], safe='')}"
        return source.clean_result(source.SourceResult(place, **own, text=text, extent=extent))

    def _failure(self, exc: Exception) -> SteelmanError:
        while isinstance(exc, ExceptionGroup):
            exc = exc.exceptions[0]
        if isinstance(exc, SteelmanError):
            return exc
        # Other errors may hold the address, and with it a password.
        why = source.plain_text(str(exc), 200) if isinstance(exc, MCPError | OSError) else type(exc).__name__
        return ProviderDownError(f"{self.title} failed ({why}).")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """How to call a tool with one text. argument: takes the text; in a list if `many`. takes: the field of a result
    that a fetch tool wants. limit: the argument for the number of results, with its maximum; or empty."""

    tool: str
    argument: str
    many: bool
    takes: str
    limit: str
    most: int

    def arguments(self, text: str, limit: int = 0) -> dict[str, Any]:
        more = {self.limit: max(1, min(limit, self.most))} if limit and self.limit else {}
        return {self.argument: [text] if self.many else text, **more}


def best_call(tools: Sequence[Tool], verbs: Sequence[str]) -> ToolCall | None:
    """The call of the tool that searches (SEARCHES), or that gives a result's text for its id, address or title
    (FETCHES): the plainest name that says so. Passes over tools that change something or need more than one text."""
    named = [(v, t) for t in tools for v in verbs if v in _words(t.name)]
    if verbs is SEARCHES:
        named += [(v, t) for t in tools for v in verbs if _words(t.description)[:1] == [v]]
    else:
        named = [(v, t) for v, t in named if _FETCHED.issuperset(_words(t.name))]
    for verb, tool in sorted(named, key=lambda each: (verbs.index(each[0]), len(_words(each[1].name)))):
        hints, told = tool.annotations, _words(tool.name)
        told += [] if verb in told else _words(tool.description)
        changes = hints and (hints.destructive_hint or hints.read_only_hint is False)
        if not (changes or _CHANGES.intersection(told)) and (call := _call(tool, verbs is SEARCHES)):
            return call
    return None


def _call(tool: Tool, searching: bool) -> ToolCall | None:
    given = tool.input_schema.get("properties")
    properties = {k: v for k, v in given.items() if isinstance(v, dict)} if isinstance(given, dict) else {}
    required = {n for n in tool.input_schema.get("required") or () if "default" not in properties.get(n, {})}
    texts = [name for name, schema in properties.items() if _types(schema) & {"string", "array"}]
    if searching:
        takes = dict.fromkeys([*(n for n in _QUERY if n in texts), *(n for n in texts if n in required)], "")
    else:
        takes = {n: _KEYS[word] for n in texts for word in reversed(_words(n)) if word in _KEYS}
    limit = next((n for n in properties if n.lower() in _LIMITS and "integer" in _types(properties[n])), "")
    most = properties[limit].get("maximum") if limit else None
    for argument, field in takes.items():
        if required <= {argument, limit}:
            many = "string" not in _types(properties[argument])
            return ToolCall(tool.name, argument, many, field, limit, most if isinstance(most, int) else 100)
    return None


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types that a schema allows."""
    given = [schema.get("type"), *(each.get("type") for each in schema.get("anyOf") or () if isinstance(each, dict))]
    return {str(name) for each in given for name in (each if isinstance(each, list) else [each])}


def _words(name: str | None) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", (name or "")[:500]).lower())


def _texts(reply: CallToolResult) -> list[str]:
    blocks = [getattr(block, "resource", block) for block in reply.content]
    return [text for block in blocks if isinstance(text := getattr(block, "text", None), str)]


def _rows(reply: CallToolResult) -> Iterator[Mapping[str, Any]]:
    """The results in a reply, as objects with any names of fields: structured, JSON, resources, or a list in plain
    text."""
    if found := _objects(reply.structured_content):
        yield from found
        return
    for block in reply.content:
        resource, text = getattr(block, "resource", block), getattr(block, "text", None)
        if hasattr(resource, "uri"):
            yield {key: getattr(resource, key, None) for key in ("uri", "title", "name", "description", "text")}
        elif isinstance(text, str):
            yield from _objects(read_json(text)) or _listed(text)


def _objects(value: Any, depth: int = _DEEPEST) -> list[Mapping[str, Any]]:
    """The first list of objects in JSON, or the object itself if it looks like a result."""
    if isinstance(value, list):
        return [v for v in value if isinstance(v, dict)]
    if not isinstance(value, dict) or not depth:
        return []
    if _field(value, "url") or (_field(value, "title") and _field(value, "text")):
        return [value]
    return next((found for v in value.values() if (found := _objects(v, depth - 1))), [])


def _listed(text: str) -> Iterator[Mapping[str, Any]]:
    """The results in plain text: its parts with an address, or the whole text if no part has one."""
    if not _URL.search(text) and len(text.split()) >= FEWEST_PAGE_WORDS:  # shorter: such as 'nothing found'
        yield {"text": text}
    for part in _PARTS.split(text):
        if match := _URL.search(part):
            lines = [_LABEL.sub("", line).strip(" ]*()") for line in _URL.sub("", part).splitlines()]
            title, *rest = [line for line in lines if line] or [""]
            yield {"url": match[0].rstrip(".,;"), "title": title, "snippet": " ".join(rest)}


def _field(row: Mapping[str, Any], name: str) -> str:
    """The first text under one of the field's names, in the object or its metadata."""
    nested = row.get("metadata")
    for place in (row, nested if isinstance(nested, dict) else {}):
        for key in _FIELDS[name].split():
            values = place.get(key)
            listed = values if isinstance(values, list) else [values]
            texts = [v.get("name") or v.get("text") if isinstance(v, dict) else v for v in listed[:20]]
            if found := ", ".join(str(t) for t in texts if isinstance(t, str | int) and not isinstance(t, bool) and t):
                return found
    return ""


def _is_public_page(url: str) -> bool:
    """Whether the address may be cited and fetched. The guard of the fetcher checks again when it connects."""
    try:
        host = urlsplit(check_url(url)).hostname or ""
    except AddressError:
        return False
    return source.is_page(url) and (not re.fullmatch(r"[\d.]+|.*:.*", host) or is_public(host))
