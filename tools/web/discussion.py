"""Public discussions: Hacker News, and sites of Stack Exchange.

A result is a post with its best replies. A line before each reply says whose it is; a result has an author only if the
whole text is by one person.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, zip_longest
from typing import Any, ClassVar

from tools.budget import current_budget, current_log
from tools.dates import date_of_cell
from tools.errors import ProviderError
from tools.translation import tr
from tools.web.keyword_source import KeywordSource, Wanted, value_at
from tools.web.source import LONGEST_TITLE, REPLY_BY, SourceResult, plain_lines, plain_text

Row = dict[str, Any]
_MOST_REPLIES = 8
_MOST_READ = 100


class _Posts(KeywordSource):
    """post: paths of a post's id, author and text. reply: the same of a reply, with the id of its post."""

    kind, extent = "discussion", "post"
    post: tuple[str, str, str]
    reply: tuple[str, str, str]

    async def _threads(self, posts: Sequence[Row], ask: Callable[[], Awaitable[Row]]) -> list[SourceResult]:
        """The posts as results. ask: requests their replies; if this fails, a note says so, because the posts remain
        useful."""
        (number, poster, own), (of, author, text) = self.post, self.reply
        replies: dict[str, list[str]] = defaultdict(list)
        try:
            if posts:
                current_budget().begin_call()
                for reply in self._list(await ask()):
                    name = plain_text(value_at(reply, author), LONGEST_TITLE) or "an unnamed user"
                    if said := _said(reply, text):
                        replies[value_at(reply, of)].append(f"Reply by {name}:\n{said}")
        except ProviderError as exc:
            text = tr("{name} gave posts without replies: {error}", name=self.title, error=exc)
            current_log().note("skipped", text)
        threads: list[Row] = []
        for post in posts:
            begin, more = _said(post, own), replies[value_at(post, number)][:_MOST_REPLIES]
            by = value_at(post, poster) if begin and not more else ""
            threads.append(post | {"by": by, "thread": "\n".join([begin, *more]).strip()})
        return self._results({self.items: threads})


def _said(row: Row, path: str) -> str:
    """The text of a post or a reply, without lines that would pass what follows them off as another person's."""
    lines = plain_lines(value_at(row, path)).splitlines()
    return "\n".join(line for line in lines if not REPLY_BY.fullmatch(line))


class HackerNews(_Posts):
    """Hacker News, by Algolia's search. All words must occur unless they are optional, so all are: then posts with more
    of them come first. A second request finds the comments of all found posts that hold words of the query."""

    name, title = "hackernews", "Hacker News"
    home, endpoint, items = "https://hn.algolia.com/api/v1", "/search", "hits"
    most_results = 20
    most_words = fewest_words = 8
    post, reply = ("objectID", "author", "story_text"), ("story_id", "author", "comment_text")
    fields: ClassVar = {
        "url": lambda hit: f"https://news.ycombinator.com/item?id={n}" if (n := value_at(hit, "objectID")) else "",
        "date": "created_at",
        "publisher": lambda _: "Hacker News",
        "author": "by",
        "text": "thread",
    }

    async def _page(self, client: Any, query: Wanted, page: int) -> list[SourceResult]:
        # Similar words count only if the words themselves do not occur.
        asked = {"query": query.text, "optionalWords": query.text, "typoTolerance": "min"}
        stories = {"tags": "story", "numericFilters": "num_comments>0", "hitsPerPage": query.limit}
        posts = self._list(await self._get(client, self.endpoint, asked | stories))
        tags = ",".join(f"story_{value_at(post, 'objectID')}" for post in posts)
        comments = asked | {"tags": f"comment,({tags})", "hitsPerPage": _MOST_READ}
        return await self._threads(posts, lambda: self._get(client, self.endpoint, comments))


class StackExchange(_Posts):
    """Sites of Stack Exchange. How they match words is not documented, so few are sent. A second request for each site
    reads the answers to all found questions. After a reply with `backoff` no request follows for that many seconds."""

    name, title = "stackexchange", "Stack Exchange"
    home, endpoint, items = "https://api.stackexchange.com/2.3", "/search/advanced", "items"
    most_results, most_words = 30, 5
    sites: tuple[str, ...] = ("politics", "skeptics", "economics")  # they argue questions of public interest
    post, reply = ("question_id", "owner.display_name", "body"), ("question_id", "owner.display_name", "body")
    fields: ClassVar = {
        "url": "link",
        "date": lambda question: date_of_cell(value_at(question, "creation_date")),
        "publisher": "site",
        "author": "by",
        "text": "thread",
    }

    async def _page(self, client: Any, query: Wanted, page: int) -> list[SourceResult]:
        found = await asyncio.gather(*(self._site(client, query, site) for site in self.sites), return_exceptions=True)
        lists = [f for f in found if not isinstance(f, BaseException)]
        for failure in [f for f in found if isinstance(f, BaseException)]:
            if not isinstance(failure, ProviderError) or not lists:
                raise failure
            text = tr("not all sites of Stack Exchange were searched: {error}", error=failure)
            current_log().note("skipped", text)
        return [result for result in chain.from_iterable(zip_longest(*lists)) if result]

    async def _site(self, client: Any, query: Wanted, site: str) -> list[SourceResult]:
        common = {"site": site, "order": "desc", "filter": "withbody", "key": self._key}
        asked = {"q": query.text, "sort": "relevance", "answers": 1}
        questions = self._list(await self._get(client, self.endpoint, {**asked, "pagesize": query.limit, **common}))
        posts = [question | {"site": f"{site.capitalize()} Stack Exchange"} for question in questions]
        answers = f"/questions/{';'.join(value_at(post, 'question_id') for post in posts)}/answers"
        best = {"sort": "votes", "pagesize": _MOST_READ, **common}
        return await self._threads(posts, lambda: self._get(client, answers, best))
