"""The seam of the web search, and what all engines share: queries of bounded length, results of one shape."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urldefrag

from tools.budget import current_budget, current_log
from tools.dates import iso_date
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError, SettingsError
from tools.language.words import QUERY_FILLERS
from tools.net.http import is_address, is_local
from tools.net.pasted import fault_of_key
from tools.web.hosts import covers, host_of, normalise_url

PAGE = 10
"""Results that a page of a web search holds at most."""
_MOST_SITES = 10  # Google reads 32 words of a query; every site takes two, its OR included
_LONGEST_TITLE, _LONGEST_SNIPPET, _LONGEST_URL = 300, 4_000, 2_000


@dataclass(frozen=True, slots=True)
class WebResult:
    """One hit of a web search. `date` is ISO (`2026-03-12`, `2026-03`, `2026`) or empty."""

    url: str
    title: str
    snippet: str
    date: str = ""


class SearchEngine(Protocol):
    """Finds pages. longest_query: characters; most_results: what one search gives at most."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def longest_query(self) -> int: ...

    @property
    def most_results(self) -> int: ...

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        """At most `limit` results, best first, each address once; only from `domains` where any are given.

        Raises ProviderDownError, ProviderReplyError, BudgetError, DeadlineError.
        """
        ...


def cut_query(query: str, longest: int) -> str:
    """The query in at most `longest` characters, cut at a word's end.

    Function words go first, the last of them before the others; only then is the end cut off. Quotation marks that
    lost their partner go too. A single word longer than that is cut all the same.
    """
    words = query.split()
    for at in range(len(words) - 1, -1, -1):
        if len(" ".join(words)) <= longest:
            break
        if words[at].casefold().strip(".,;:!?()'\"") in QUERY_FILLERS:
            del words[at]
    text = " ".join(words)
    if len(text) > longest:
        text = text[: longest + 1].rpartition(" ")[0] or text[:longest]
    return text if text.count('"') % 2 == 0 else text.replace('"', "")


def askable(domains: Sequence[str]) -> Sequence[str]:
    """The domains as an engine can be asked for them: none at all where one is a pattern like `gov.*`, which no engine
    knows and which the others would shut out."""
    return () if any(d.endswith(".*") for d in domains) else domains


def with_sites(query: str, domains: Sequence[str], longest: int) -> str:
    """The query limited to the domains by `site:` operators, in at most `longest` characters.

    The operators may take half of it: of a longer list only the first that fit are asked for. They stand in front,
    since what an engine does not read of a query is its end.
    """
    clause = ""
    for domain in askable(domains)[:_MOST_SITES]:
        longer = f"{clause} OR site:{domain.removeprefix('*.')}" if clause else f"site:{domain.removeprefix('*.')}"
        if len(longer) + 3 > longest // 2:
            break
        clause = longer
    if not clause:
        return cut_query(query, longest)
    clause = f"({clause})" if " OR " in clause else clause
    return f"{clause} {cut_query(query, longest - len(clause) - 1)}"


def checked_key(name: str, key: str) -> str:
    """The key without blanks around it; raises SettingsError where it could not be sent as a header."""
    key = key.strip()
    if fault := fault_of_key(key) if key else "is empty. Copy it again into .env":
        raise SettingsError(f"the key for {name} {fault}.")
    return key


def begin_call(name: str, address: str) -> None:
    """Counts a call to an engine; raises BudgetError, DeadlineError, or ProviderDownError where the run is offline."""
    budget = current_budget()
    if budget.offline and not is_local(address):
        raise ProviderDownError(f"{name} is on the internet, and this run stays offline.")
    if budget.seconds_left() <= 0:
        raise DeadlineError(f"no time was left to ask {name}.")
    budget.begin_call()


@asynccontextmanager
async def within(name: str, seconds: float) -> AsyncIterator[None]:
    """Ends what is inside after `seconds` or at the stage's deadline: ProviderDownError or DeadlineError."""
    try:
        async with asyncio.timeout(min(seconds, current_budget().seconds_left())):
            yield
    except TimeoutError as exc:
        if current_budget().seconds_left() <= 0:
            raise DeadlineError(f"{name} did not answer before the deadline.") from exc
        raise ProviderDownError(f"{name} did not answer in time.") from exc


async def gather_pages(
    name: str, ask: Callable[[int], Awaitable[list[WebResult]]], limit: int, domains: Sequence[str]
) -> list[WebResult]:
    """Results from `ask(1)`, `ask(2)`, … until there are enough, or a page brings none that is new.

    Where a later page fails, what the earlier ones brought is kept and the log notes it.
    """
    found: list[WebResult] = []
    for page in range(1, -(-limit // PAGE) + 1):
        try:
            more = tidy([*found, *await ask(page)])
        except ProviderError as exc:
            if page == 1:
                raise
            current_log().note("skipped", f"{name} gave only the first {len(found)} results: {exc}")
            break
        if len(more) == len(found):
            break
        found = more
    return tidy(found, limit, domains)


def tidy(results: Sequence[WebResult], limit: int | None = None, domains: Sequence[str] = ()) -> list[WebResult]:
    """The first `limit` results: pages over http(s), each address once, only from `domains` where any are given."""
    kept: dict[str, WebResult] = {}
    patterns = [host_of(d) if "*" not in d else d.lower() for d in domains]
    for result in results:
        host = host_of(result.url)
        if host and (not patterns or any(covers(p, host) for p in patterns)):
            kept.setdefault(normalise_url(result.url), result)
    return list(kept.values())[:limit]


def read_results(name: str, items: Any, *, url: str, title: str, snippet: str, date: str) -> list[WebResult]:
    """Results from an engine's JSON, where they have these fields; one that has no usable address is left out.

    Raises ProviderReplyError when that is no list of objects, or none of them has an address at all.
    """
    if not isinstance(items, list):
        raise ProviderReplyError(f"{name} answered without a list of results.")
    rows = [i for i in items if isinstance(i, dict) and isinstance(i.get(url), str)]
    if items and not rows:
        raise ProviderReplyError(f"{name} answered with results that have no addresses.")
    return [
        WebResult(
            urldefrag(row[url].strip()).url,
            _plain(row.get(title), _LONGEST_TITLE),
            _plain(row.get(snippet), _LONGEST_SNIPPET),
            iso_date(row.get(date)),
        )
        for row in rows
        if _is_page(row[url].strip())
    ]


def _is_page(url: str) -> bool:
    return url.lower().startswith(("http://", "https://")) and is_address(url) and len(url) <= _LONGEST_URL


def _plain(value: object, longest: int) -> str:
    if not isinstance(value, str):
        return ""
    text = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    return text if len(text) <= longest else text[:longest].rpartition(" ")[0] or text[:longest]
