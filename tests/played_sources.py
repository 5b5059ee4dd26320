"""OpenAlex, Europe PMC, Semantic Scholar, Wikipedia, GDELT, Hacker News and Stack Exchange, played on loopback.

    played = await play("openalex", {"results": [work(title="One")]})
    assert played.results[0].title == "One"          # or: played.error, if the search raised a ProviderError
    assert played.asked[0].body["search"] == "schools ban smartphones"

Each reply is JSON, the body's text, or a `Reply` (status, headers, raw, delay, cut, hang). They are given in order, and
the last one again and again. `work`, `article`, … make an item of a source's list, as its documentation shows it;
keyword arguments change fields, and None removes one.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from model_server import ModelServer, Reply, Request

from tools.budget import Budget, StageLog, budget_scope
from tools.errors import ProviderError
from tools.web import keyword_source
from tools.web.discussion import HackerNews, StackExchange
from tools.web.encyclopedia import Wikipedia
from tools.web.keyword_source import KeywordSource
from tools.web.news import Gdelt
from tools.web.source import SourceResult
from tools.web.studies import EuropePmc, OpenAlex, SemanticScholar

SOURCES: dict[str, type[KeywordSource]] = {
    source.name: source
    for source in (OpenAlex, EuropePmc, SemanticScholar, Wikipedia, Gdelt, HackerNews, StackExchange)
}
KEY = "key-that-is-secret"
QUESTION = "Should schools ban smartphones? arguments for"
AT_ONCE = {"Retry-After": "0"}
"""Headers of a refusal, so that a test does not wait for the transport's retries."""

Answer = Reply | str | bytes | dict[str, Any] | list[Any]


@dataclass
class Played:
    """results: of the search, if it raised no error. asked: the requests, with the query's parameters as the body.
    notes: kind and text of each note."""

    results: list[SourceResult] = field(default_factory=list)
    error: ProviderError | None = None
    asked: list[Request] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def only(self) -> SourceResult:
        """The one result."""
        assert self.error is None, self.error
        (result,) = self.results
        return result


def reply_of(answer: Answer) -> Reply:
    """The reply as it is sent: its content is JSON, or text that is sent as it is."""
    reply = answer if isinstance(answer, Reply) else Reply(raw=answer) if isinstance(answer, bytes) else Reply(answer)
    if reply.raw is not None:
        return reply
    content = reply.content
    return replace(reply, raw=(content if isinstance(content, str) else json.dumps(content)).encode())


async def play(
    name: str,
    *answers: Answer,
    query: str = QUESTION,
    limit: int = 10,
    domains: Sequence[str] = (),
    seconds: float = 5.0,
    contact: str = "who@example.org",
    key: str = KEY,
    budget: Budget | None = None,
    change: Callable[[KeywordSource], object] = lambda source: None,
) -> Played:
    """One search in the source of this name. change: sets attributes of the source. Stack Exchange has one site."""
    keyword_source._turns.clear()
    played, log = Played(), StageLog()
    with ModelServer(strict=False) as server, budget_scope(budget or Budget(), log):
        server.on(lambda body: True, *map(reply_of, answers), path="")
        source = SOURCES[name](server.root, seconds, contact, key)
        source.pause = 0.0
        if isinstance(source, StackExchange):
            source.sites = ("politics",)
        change(source)
        try:
            played.results = await source.search(query, limit, domains)
        except ProviderError as exc:
            played.error = exc
        played.asked = list(server.requests)
    played.notes = [(str(kind), text) for kind, text in log.notes]
    return played


def changed(item: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (item | changes).items() if value is not None}


def listed(name: str, *items: Any) -> dict[str, Any]:
    """The reply of a source's search with these items."""
    if name == "europepmc":
        return {"version": "6.9", "hitCount": len(items), "resultList": {"result": list(items)}}
    if name == "wikipedia":
        pages = [item.pop("page") for item in items if "page" in item]
        found = {"searchinfo": {"totalhits": len(items)}, "search": list(items), "pages": pages}
        return {"batchcomplete": True, "query": found}
    if name == "stackexchange":
        return {"items": list(items), "has_more": False, "quota_max": 300, "quota_remaining": 280}
    path = {"openalex": "results", "semanticscholar": "data", "gdelt": "articles", "hackernews": "hits"}[name]
    more: dict[str, dict[str, Any]] = {
        "openalex": {"meta": {"count": len(items)}},
        "semanticscholar": {"total": len(items), "offset": 0},
    }
    return {**more.get(name, {}), path: list(items)}


def work(**changes: Any) -> dict[str, Any]:
    """OpenAlex."""
    source = {"display_name": "Labour Economics", "host_organization_name": "Elsevier BV", "type": "journal"}
    item = {
        "id": "https://openalex.org/W2151",
        "doi": "https://doi.org/10.1016/J.labeco.2016.04.004",
        "display_name": "Ill communication: Technology, distraction &amp; student performance",
        "publication_date": "2016-08-09",
        "publication_year": 2016,
        "is_retracted": False,
        "authorships": [{"author": {"display_name": n}} for n in ("Louis-Philippe Beland", "Richard Murphy")],
        "primary_location": {"landing_page_url": "https://doi.org/10.1016/j.labeco.2016.04.004", "source": source},
        "best_oa_location": {
            "landing_page_url": "https://eprints.example/1",
            "pdf_url": "https://eprints.example/1.pdf",
        },
        "abstract_inverted_index": {"Bans": [0, 4], "raise": [1], "test": [2], "scores.": [3], "help.": [5]},
    }
    return changed(item, changes)


def article(**changes: Any) -> dict[str, Any]:
    """Europe PMC."""
    copies = [
        {
            "availability": "Open access",
            "availabilityCode": "OA",
            "documentStyle": "pdf",
            "url": "https://pmc.example/1.pdf",
        },
        {
            "availability": "Open access",
            "availabilityCode": "OA",
            "documentStyle": "html",
            "url": "https://pmc.example/1",
        },
        {
            "availability": "Subscription",
            "availabilityCode": "S",
            "documentStyle": "doi",
            "url": "https://doi.org/10.1/x",
        },
    ]
    item = {
        "id": "38123456",
        "source": "MED",
        "pmid": "38123456",
        "doi": "10.1016/j.lanepe.2025.101211",
        "title": "Smartphone policies and <i>mental</i> wellbeing.",
        "authorString": "Goodyear VA, Randhawa A, Adab P, Fenton S.",
        "authorList": {"author": [{"fullName": f"Author {n}"} for n in "ABCD"]},
        "journalInfo": {"journal": {"title": "The Lancet regional health"}, "yearOfPublication": 2025},
        "pubYear": "2025",
        "firstPublicationDate": "2025-02-04",
        "abstractText": "<h4>Background</h4>Poor mental health is linked to phones.<h4>Findings</h4>"
        "No difference (p &lt; 0.05).",
        "pubTypeList": {"pubType": ["research-article", "Journal Article"]},
        "isOpenAccess": "Y",
        "fullTextUrlList": {"fullTextUrl": copies},
    }
    return changed(item, changes)


def paper(**changes: Any) -> dict[str, Any]:
    """Semantic Scholar."""
    item = {
        "paperId": "5c5751d45e298cea054f32b392c12c61027d2fe7",
        "externalIds": {"DOI": "10.18653/V1/2020.ACL-MAIN.447", "CorpusId": 215416146},
        "url": "https://www.semanticscholar.org/paper/5c5751d45e298cea054f32b392c12c61027d2fe7",
        "title": "S2ORC: The Semantic Scholar Open Research Corpus",
        "abstract": "We introduce S2ORC, a large corpus.",
        "venue": "Annual Meeting of the Association for Computational Linguistics",
        "journal": {"name": "ACL", "volume": "1"},
        "year": 2020,
        "publicationDate": "2020-07-01",
        "authors": [{"authorId": "1", "name": "Kyle Lo"}],
        "openAccessPdf": {"url": "https://www.aclweb.org/anthology/2020.acl-main.447.pdf", "status": "HYBRID"},
    }
    return changed(item, changes)


def hit(**changes: Any) -> dict[str, Any]:
    """Wikipedia: an item of its search; `page` holds the article's data."""
    page = {
        "pageid": 71,
        "ns": 0,
        "title": "Mobile phones in schools",
        "index": 1,
        "extract": "Phones in schools are debated.\nSome countries ban them.",
        "fullurl": "https://en.wikipedia.org/wiki/Mobile_phones_in_schools",
    }
    item = {
        "ns": 0,
        "title": "Mobile phones in schools",
        "pageid": 71,
        "snippet": 'a <span class="searchmatch">ban</span> of phones &amp; tablets',
        "timestamp": "2025-02-03T04:05:06Z",
        "page": changed(page, changes.pop("page", {})),
    }
    return changed(item, changes)


def news(**changes: Any) -> dict[str, Any]:
    """GDELT."""
    item = {
        "url": "https://www.news.example/2025/phones",
        "url_mobile": "",
        "title": "Schools ban phones , parents say : why ?",
        "seendate": "20251112T101500Z",
        "socialimage": "",
        "domain": "news.example",
        "language": "English",
        "sourcecountry": "United Kingdom",
    }
    return changed(item, changes)


def story(**changes: Any) -> dict[str, Any]:
    """Hacker News: a post."""
    item = {
        "objectID": "40944505",
        "title": "Ask HN: Should schools ban phones?",
        "url": None,
        "author": "asker",
        "story_text": "I teach. <p>Pupils &#x27;multitask&#x27;.",
        "created_at": "2024-07-12T11:00:00Z",
        "created_at_i": 1720782000,
        "num_comments": 2,
        "points": 51,
    }
    return changed(item, changes)


def comment(**changes: Any) -> dict[str, Any]:
    """Hacker News: a comment."""
    item = {
        "objectID": "40944600",
        "story_id": 40944505,
        "parent_id": 40944505,
        "author": "teacher1",
        "comment_text": 'We banned them.<p>It helps, see <a href="https:&#x2F;&#x2F;x.example">here</a>.',
        "created_at": "2024-07-12T12:00:00Z",
    }
    return changed(item, changes)


def question(**changes: Any) -> dict[str, Any]:
    """Stack Exchange: a question."""
    item = {
        "question_id": 123,
        "title": "Why do states &quot;ban&quot; phones in schools?",
        "body": "<p>Several states ban phones.</p>\n<p>Why?</p>",
        "link": "https://politics.stackexchange.com/questions/123/why-do-states-ban-phones",
        "creation_date": 1577836800,
        "owner": {"display_name": "Ann &amp; Bob", "user_type": "registered"},
        "answer_count": 1,
        "score": 4,
    }
    return changed(item, changes)


def answer(**changes: Any) -> dict[str, Any]:
    """Stack Exchange: an answer."""
    item = {
        "answer_id": 9,
        "question_id": 123,
        "body": "<p>Because of attention.</p>",
        "owner": {"display_name": "Cy"},
        "score": 12,
        "is_accepted": True,
    }
    return changed(item, changes)


ITEMS: dict[str, Callable[..., dict[str, Any]]] = {
    "openalex": work,
    "europepmc": article,
    "semanticscholar": paper,
    "wikipedia": hit,
    "gdelt": news,
    "hackernews": story,
    "stackexchange": question,
}
