"""Lists of blocked and trusted sites, and of sites' kinds and publishers. `read_source` adds kind, publisher and owner
to fetched pages."""

import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from tools.documents.sandbox import IsCancelled, ReaderLimits, ReaderPool
from tools.errors import SettingsError, SourceError
from tools.language.identification import language_of
from tools.limits import PAGE_READING_MEGABYTES, PAGE_READING_SECONDS
from tools.passages import SourceDocument, SourceKind
from tools.web.addresses import ascii_host, host_of
from tools.web.fetch import HTML, FetchedPage, PageFetcher

if TYPE_CHECKING:
    from tools.web.source import SourceResult

_SHIPPED = Path(__file__).parent / "domains.toml"
_PATTERN = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?")
_RANKS_UP = 3
"""The most ranks that a trusted result can gain. The limit preserves most of the engine's order, which reflects
relevance."""
_UNIVERSITY = re.compile(r"(^|\.)(uni|univ|hs|fh|tu)-[a-z-]+\.[a-z]{2}$")  # uni-mannheim.de, univ-lyon2.fr
_FORUM_HOST = re.compile(r"^(forum|forums|community|discuss|boards?)\.")
_FORUM_PATH = re.compile(r"/(forums?|threads?|viewtopic\.php|showthread\.php|discussions?|questions)(/|\?|#|$)")
_NO_NAMES = frozenset("home homepage website blog index untitled news welcome site start".split())
_LONGEST_NAME = 60


@dataclass(frozen=True)
class DomainLists:
    """The lists in force. Their entries are domain patterns for `covers`, in lower-case ASCII.

    If several patterns cover a host, the longest counts.
    """

    allow: tuple[str, ...]
    prefer: tuple[str, ...]
    block: tuple[str, ...]
    kinds: Mapping[str, SourceKind]
    publishers: Mapping[str, str]

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """The shipped lists with the changes of the file at `path`. This file has the same sections as `domains.toml`.

        The file's allow, prefer and block replace the shipped lists. The file's kinds and publishers extend the shipped
        ones and take precedence. Raises a SettingsError that names the file and the entry.
        """
        shipped, own = _read(_SHIPPED), _read(path) if path is not None else _File()
        lists = shipped.model_copy(update=own.model_dump(exclude_unset=True))
        kinds = {p: kind for file in (shipped, own) for kind, patterns in file.kinds.items() for p in patterns}
        return cls(lists.allow, lists.prefer, lists.block, kinds, shipped.publishers | own.publishers)

    def is_allowed(self, url: str) -> bool:
        host = host_of(url)
        inside = not self.allow or _best(self.allow, host) is not None
        return bool(host) and inside and _best(self.block, host) is None

    def is_preferred(self, url: str) -> bool:
        """Whether the site is trusted. A site listed as advocacy is not trusted because of a shorter pattern, such as
        `*.edu`."""
        host = host_of(url)
        trusted, listed = _best(self.prefer, host), _best(self.kinds, host)
        argues = listed is not None and self.kinds[listed] == "advocacy"
        return trusted is not None and not (argues and len(listed or "") > len(trusted))

    def kind_of(self, url: str) -> SourceKind:
        """The kind of source: from the list, else guessed from the host or path."""
        host = host_of(url)
        listed = _best(self.kinds, host)
        if listed is not None:
            return self.kinds[listed]
        if _UNIVERSITY.search(host):
            return "academic"
        if "wikipedia" in host or host.startswith("wiki."):
            return "reference"
        return "forum" if _FORUM_HOST.search(host) or _FORUM_PATH.search(url.casefold()) else "unknown"

    def publisher_of(self, url: str, site_name: str = "") -> str:
        """The publisher's name for display: from the list, else the page's site name and domain ('Daily Hill,
        example.net')."""
        owner, name = self.owner_of(url), " ".join(site_name.split())
        if self._listed(url) or not _is_sane(name) or host_of(name) == host_of(url):  # some names repeat the address
            return owner
        return f"{name}, {owner}"

    def owner_of(self, url: str) -> str:
        """The page's owner, independent of the page's site name: the listed publisher, else the registrable domain. On
        sites where anybody can have a subdomain, the owner is the whole host."""
        host = host_of(url)
        if listed := self._listed(url):
            return listed
        if self.kind_of(f"//{host}") == "personal":
            return host
        from tld import get_fld

        return get_fld(f"https://{host}", fail_silently=True, search_private=True) or host

    def _listed(self, url: str) -> str:
        pattern = _best(self.publishers, host_of(url))
        return self.publishers[pattern] if pattern is not None else ""

    def order(self, results: "Sequence[SourceResult]") -> "list[SourceResult]":
        """The results, with each trusted result moved up by at most three ranks."""
        ranks = [i - (_RANKS_UP + 0.5) * self.is_preferred(r.url) for i, r in enumerate(results)]
        return [results[i] for i in sorted(range(len(results)), key=ranks.__getitem__)]


def _is_sane(name: str) -> bool:
    readable = len(name) <= _LONGEST_NAME and name.isprintable() and any(c.isalpha() for c in name)
    return readable and "//" not in name and name.casefold() not in _NO_NAMES


def _best(patterns: Iterable[str], host: str) -> str | None:
    return max((p for p in patterns if covers(p, host)), key=len, default=None) if host else None


def _pattern(entry: str) -> str:
    head, tail = "*." * entry.startswith("*."), ".*" * entry.endswith(".*")
    pattern = head + ascii_host(entry[len(head) : len(entry) - len(tail)]).removeprefix("www.") + tail
    if "." not in pattern or not _PATTERN.fullmatch(pattern):
        raise ValueError("it is no domain; write example.org, *.gov or gov.*")
    return pattern


_Pattern = Annotated[str, AfterValidator(_pattern)]
_Patterns = tuple[_Pattern, ...]


class _File(BaseModel):
    """The format of a file of lists."""

    model_config = ConfigDict(extra="forbid")

    allow: _Patterns = ()
    prefer: _Patterns = ()
    block: _Patterns = ()
    kinds: dict[SourceKind, _Patterns] = {}
    publishers: dict[_Pattern, Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]] = {}


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(tomllib.loads(path.read_text("utf-8-sig")))
    except ValidationError as exc:
        wrong = exc.errors()[0]
        where = ".".join(str(part) for part in wrong["loc"] if part != "[key]")
        given = f" {wrong['input']!r}" if isinstance(wrong["input"], str) else ""
        raise SettingsError(f"{path}: {where}{given}: {wrong['msg'].removeprefix('Value error, ')}.") from exc
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SettingsError(f"the domain lists in {path} cannot be read: {exc}.") from exc


def covers(pattern: str, host: str) -> bool:
    """Whether a domain pattern covers a host (both as `host_of` returns them).

    `who.int` covers itself and its subdomains. `*.gov` covers only subdomains. `gov.*` covers `gov` under any
    two-letter top-level domain, such as `ons.gov.uk`.
    """
    if pattern.endswith(".*"):
        rest, _, last = host.rpartition(".")
        return len(last) == 2 and last.isalpha() and covers(pattern[:-2], rest)
    name = pattern.removeprefix("*.")
    return host.endswith(f".{name}") or (host == name and not pattern.startswith("*."))


_EMPTY = re.compile("shows nothing without JavaScript|too little text|no text was found")
_LIMITS = ReaderLimits(seconds=PAGE_READING_SECONDS, megabytes=PAGE_READING_MEGABYTES, output=16 << 20, advice="")
PAGE_READERS = ReaderPool("tools.web.pages", at_once=2)


async def read_address(
    url: str, fetcher: PageFetcher, lists: DomainLists, title: str = "", date: str = ""
) -> SourceDocument:
    """Fetches the page and returns its document. A page that shows no text is rendered, if the fetcher can do so.
    `title` and `date`: see `read_source`. Raises SourceError, AddressError."""
    page = await fetcher.fetch(url)
    try:
        return await read_source(page, lists, title, date)
    except SourceError as exc:
        rendered = await fetcher.render(page) if page.content_type in HTML and _EMPTY.search(str(exc)) else None
        if rendered is None:
            raise
    return await read_source(rendered, lists, title, date)


async def read_source(page: FetchedPage, lists: DomainLists, title: str = "", date: str = "") -> SourceDocument:
    """The page's document, parsed in a child process. Cancelling this call kills the process. `title` and `date`: from
    the search result, used if the page has none.

    Raises SourceError for a page without text, and if the parser crashes or exceeds its time or memory.
    """
    return await PAGE_READERS.run_cancellable(partial(_source, page, lists, title, date))


def _source(page: FetchedPage, lists: DomainLists, title: str, date: str, is_cancelled: IsCancelled) -> SourceDocument:
    try:
        with tempfile.NamedTemporaryFile(prefix="steelman-page-") as file:
            file.write(page.data)
            file.flush()
            request = {"path": file.name, "name": page.url, "content_type": page.content_type, "charset": page.charset}
            found = list(PAGE_READERS.read(request, page.url, _LIMITS, is_cancelled))
    except OSError as exc:
        why = exc.strerror or exc
        hint = "Free space in the folder for temporary files, or set TMPDIR to another one."
        raise SourceError(f"{page.url}: could not be written for its reader ({why}).", hint=hint) from exc
    match found:
        case [SourceDocument(url=url) as document]:
            return replace(
                document,
                title=document.title or title,
                date=document.date or date,
                publisher=lists.publisher_of(url, document.publisher),
                owner=lists.owner_of(url),
                kind=lists.kind_of(url),
                language=document.language or language_of(document.text),
            )
    raise SourceError(f"{page.url}: its reader gave no document.")
