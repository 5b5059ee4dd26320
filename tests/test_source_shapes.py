"""Twenty shapes of reply for each source, after the vendors' documentation and real replies; the content is our own.

A shape is the replies in order, and what a search must return: the fields of each result in order, or words of the
error. An expected field is a text, a regular expression to be found, or a test of the value. `place` is the publisher
or the venue.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest
from model_server import Reply
from played_sources import Answer, Played, play

from tools.errors import ProviderDownError, ProviderError, ProviderReplyError
from tools.web.source import SourceResult

Json = dict[str, Any]
Wanted = str | re.Pattern[str] | Callable[[str], bool]
Expected = dict[str, Wanted]


@dataclass(frozen=True)
class Shape:
    """found: of each result. error: words of the error. note: words of a note. seconds: the longest silence."""

    name: str
    replies: Sequence[Answer]
    found: Sequence[Expected] = ()
    error: str = ""
    kind: type[ProviderError] = ProviderError
    note: str = ""
    seconds: float = 5.0


def says(words: str) -> re.Pattern[str]:
    """A text that contains the words, whatever their case."""
    return re.compile(words, re.IGNORECASE)


def starts(words: str) -> re.Pattern[str]:
    return re.compile(re.escape(words))


def at_most(longest: int, beginning: str) -> Callable[[str], bool]:
    """A text of at most this length, cut at a word's end, with this beginning."""
    return lambda value: 0 < len(value) <= longest and value.startswith(beginning) and value[-1] != " "


def doi(name: str) -> Callable[[str], bool]:
    """The address of this DOI. A DOI's case does not count."""
    return lambda url: unquote(url).lower() == f"https://doi.org/{name}".lower() and "#" not in url and "<" not in url


def without(*unwanted: str) -> Callable[[str], bool]:
    return lambda value: bool(value) and not any(word in value for word in unwanted)


def paired(
    name: str, listed: Callable[..., Json], *pairs: tuple[Any, Expected | None], then: Sequence[Answer] = ()
) -> Shape:
    """A list of items, each with the result that it must become (None: none). then: the replies after the list."""
    return Shape(name, [listed(*(item for item, _ in pairs)), *then], [want for _, want in pairs if want is not None])


MAINTENANCE = "<!DOCTYPE html><html><head><title>503</title></head><body><h1>Down for maintenance</h1></body></html>"
OTHERS = [f"Author Number{n}" for n in range(300)]
LONG_TITLE = "How rules on telephones change lessons " * 30
LONG_TEXT = "The ban raised the marks of weak pupils. " * 20_000


def spoilt(good: Answer, found: Sequence[Expected], before: Sequence[Answer] = ()) -> Iterator[Shape]:
    """The shapes of a service in trouble. before: the replies before the one that is spoilt."""
    again = {"Retry-After": "0"}
    body = json.dumps(good).encode() if isinstance(good, dict) else b""
    yield Shape("429 with Retry-After", [*before, Reply("slow down", 429, again), good], found)
    yield Shape("429 for good", [Reply("slow down", 429)], error="no more requests|429", kind=ProviderDownError)
    yield Shape("500 once", [*before, Reply("oops", 500, again), good], found)
    yield Shape("503 for good", [Reply("oops", 503, again)], error="failed.*503", kind=ProviderDownError)
    yield Shape("slow", [Reply(raw=body, delay=1.0)], error="in time", kind=ProviderDownError, seconds=0.2)
    if before:
        yield Shape("cut", [*before, Reply(raw=body, cut=True)], [{"title": found[0]["title"]}], note="without replies")
    else:
        yield Shape("cut", [Reply(raw=body, cut=True)], error="no JSON|cannot be reached")
    yield Shape("a page of maintenance", [MAINTENANCE], error="no JSON", kind=ProviderReplyError)


# OpenAlex: https://developers.openalex.org/api-reference/works, docs.openalex.org/api-entities/works/work-object


def index(text: str) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for at, word in enumerate(text.split()):
        places.setdefault(word, []).append(at)
    return places


def work(number: int = 1, **changes: Any) -> Json:
    journal = {"id": "https://openalex.org/S9", "display_name": "Journal of Schooling", "type": "journal"}
    place = {"is_oa": False, "landing_page_url": f"https://doi.org/10.1000/w.{number}", "pdf_url": None}
    return {
        "id": f"https://openalex.org/W{number}",
        "doi": f"https://doi.org/10.1000/w.{number}",
        "display_name": f"Work {number}",
        "publication_year": 2023,
        "publication_date": "2023-05-17",
        "is_retracted": False,
        "authorships": [{"author_position": "first", "author": {"display_name": "Ada Example", "orcid": None}}],
        "primary_location": {**place, "source": journal},
        "best_oa_location": None,
        "abstract_inverted_index": index("Marks rose after the ban ."),
    } | changes


def works(*items: Any, **more: Any) -> Json:
    return {"meta": {"count": len(items), "page": 1, "per_page": 10}, "results": list(items), "group_by": []} | more


def people(*names: str | None) -> list[Json]:
    return [{"author_position": "middle", "author": {"id": None, "display_name": name}} for name in names]


OPEN = {"is_oa": True, "landing_page_url": "https://repo.example/1", "pdf_url": "https://repo.example/1.pdf"}
WORK: Expected = {
    "title": "Work 1",
    "url": "https://doi.org/10.1000/w.1",
    "date": "2023-05-17",
    "place": "Journal of Schooling",
    "author": "Ada Example",
    "text": says(r"^Marks rose after the ban ?\.$"),
    "extent": "abstract",
    "open_url": "",
}
OPENALEX = [
    Shape("empty", [works()]),
    Shape(
        "one, open, with fields that are not asked for",
        [works(work(best_oa_location=OPEN, fwci=3.1, mesh=[{}], new={"a": [1]}), warnings=["x"])],
        [WORK | {"open_url": says(r"^https://repo\.example/1(\.pdf)?$")}],
    ),
    Shape("more than asked", [works(*(work(n) for n in range(1, 31)))], [{"title": f"Work {n}"} for n in range(1, 11)]),
    Shape(
        "no abstract",
        [works(work(1, abstract_inverted_index=None), work(2, abstract_inverted_index={}))],
        [{"title": f"Work {n}", "text": "", "extent": ""} for n in (1, 2)],
    ),
    paired(
        "dates",
        works,
        (work(1, publication_date=None, publication_year=None), {"date": ""}),
        (work(2, publication_date="2019-01-01", publication_year=2019), {"date": "2019"}),
        (work(3, publication_date=None, publication_year=2018), {"date": "2018"}),
    ),
    paired(
        "titles",
        works,
        (
            work(1, display_name="Effects of <i>smartphone</i> bans &amp; rules on CO<sub>2</sub>"),
            {"title": "Effects of smartphone bans & rules on CO2"},
        ),
        (
            work(2, display_name="Marks &lt;i&gt;rise&lt;/i&gt; (p < 0.05) in n > 30 schools"),
            {"title": "Marks rise (p < 0.05) in n > 30 schools"},
        ),
        (
            work(3, display_name="学校におけるスマートフォン禁止の効果"),
            {"title": "学校におけるスマートフォン禁止の効果"},
        ),
        (work(4, display_name="أثر حظر الهواتف"), {"title": "أثر حظر الهواتف"}),
    ),
    Shape(
        "very long",
        [works(work(display_name=LONG_TITLE, abstract_inverted_index=index(LONG_TEXT)))],
        [
            {
                "title": at_most(300, "How rules"),
                "text": at_most(300_000, "The ban raised the marks of weak pupils. The"),
            }
        ],
    ),
    paired(
        "authors",
        works,
        (work(1, authorships=[]), {"author": ""}),
        (work(2, authorships=None), {"author": ""}),
        (work(3, authorships=people(None, "Bo Second")), {"author": starts("Bo Second")}),
        (work(4, authorships=people(*OTHERS)), {"author": at_most(300, "Author Number0")}),
    ),
    paired(
        "retracted",
        works,
        (work(1, is_retracted=True), None),
        (work(2, display_name="RETRACTED ARTICLE: Work 2"), None),
        (work(3, display_name="Retracted: Work 3"), None),
        (
            work(4, display_name="Why retracted studies are still cited"),
            {"title": "Why retracted studies are still cited"},
        ),
    ),
    paired("the same twice", works, (work(1), {"title": "Work 1"}), (work(2), {"title": "Work 2"}), (work(1), None)),
    paired(
        "addresses",
        works,
        (work(1, doi=None), {"title": "Work 1", "url": says(r"^https://(doi\.org/10\.1000/w\.1|openalex\.org/W1)$")}),
        (work(2, doi=None, primary_location=None), {"title": "Work 2", "url": "https://openalex.org/W2"}),
        (work(3, doi=None, id=None, primary_location=None), None),
        (
            work(4, doi="https://doi.org/10.1002/(SICI)1(1996)52:1<1::AID>3.0.CO;2-#"),
            {"title": "Work 4", "url": doi("10.1002/(SICI)1(1996)52:1<1::AID>3.0.CO;2-#")},
        ),
        (
            work(5, best_oa_location={**OPEN, "pdf_url": "not an address", "landing_page_url": None}),
            {"title": "Work 5", "open_url": ""},
        ),
    ),
    Shape(
        "wrong types",
        [
            works(
                work(1, abstract_inverted_index={"far": [10**12], "neg": [-5], "odd": ["x"], "none": None}),
                work(2, authorships="Ada Example", primary_location=[], best_oa_location="x"),
                work(3, publication_date=20230517, publication_year="2023"),
                "no object",
                work(4),
            )
        ],
        [{"title": f"Work {n}"} for n in (1, 2, 3, 4)],
    ),
    Shape(
        "the documented error, also with status 200",
        [{"error": "Invalid query parameters error.", "message": "Wildcards (* or ?) require exact search."}],
        error="Wildcards|Invalid query|unexpected|list of results",
    ),
    *spoilt(works(work()), [WORK]),
]

# Europe PMC: https://europepmc.org/RestfulWebService, resultType=core


def article(number: int = 1, **changes: Any) -> Json:
    return {
        "id": f"3000{number}",
        "source": "MED",
        "pmid": f"3000{number}",
        "doi": f"10.1000/E.{number}",
        "title": f"Article {number}.",
        "authorString": "Example A.",
        "authorList": {"author": [{"fullName": "Example A", "firstName": "Ada", "lastName": "Example"}]},
        "journalInfo": {"yearOfPublication": 2022, "journal": {"title": "Child Health", "medlineAbbreviation": "CH"}},
        "pubYear": "2022",
        "abstractText": "Sleep improved without telephones.",
        "pubTypeList": {"pubType": ["research-article", "Journal Article"]},
        "firstPublicationDate": "2022-03-04",
        "isOpenAccess": "N",
        "fullTextUrlList": {"fullTextUrl": [copy_at("S", "doi", f"https://doi.org/10.1000/E.{number}")]},
    } | changes


def copy_at(code: str, style: str, url: str) -> Json:
    return {"availability": code, "availabilityCode": code, "documentStyle": style, "site": "x", "url": url}


def articles(*items: Any, **more: Any) -> Json:
    return {"version": "6.9", "hitCount": len(items), "nextCursorMark": "AoJ", "resultList": {"result": items}} | more


def called(text: str) -> re.Pattern[str]:
    """A title, with or without Europe PMC's full stop."""
    return re.compile(rf"^{re.escape(text)}\.?$")


ARTICLE: Expected = {
    "title": called("Article 1"),
    "url": doi("10.1000/E.1"),
    "date": "2022-03-04",
    "place": "Child Health",
    "author": says(r"^(Ada Example|Example A)\.?$"),
    "text": "Sleep improved without telephones.",
    "extent": "abstract",
    "open_url": "",
}
COPIES = [
    copy_at("OA", "html", "https://europepmc.org/articles/PMC7"),
    copy_at("OA", "pdf", "https://pmc.example/7.pdf"),
]
EUROPEPMC = [
    Shape("empty", [{"version": "6.9", "hitCount": 0, "resultList": {"result": []}}]),
    Shape(
        "a preprint, open, with fields that are not asked for",
        [
            articles(
                article(
                    source="PPR",
                    id="PPR1",
                    journalInfo=None,
                    bookOrReportDetails={"publisher": "medRxiv", "yearOfPublication": 2022},
                    isOpenAccess="Y",
                    fullTextUrlList={"fullTextUrl": [copy_at("S", "doi", "https://closed.example/"), *COPIES]},
                    meshHeadingList={},
                    new=[1],
                )
            )
        ],
        [ARTICLE | {"place": "medRxiv", "open_url": says(r"PMC7$|7\.pdf$")}],
    ),
    Shape(
        "more than asked",
        [articles(*(article(n) for n in range(1, 31)))],
        [{"title": called(f"Article {n}")} for n in range(1, 11)],
    ),
    paired(
        "no abstract",
        articles,
        ({k: v for k, v in article(1).items() if k != "abstractText"}, {"text": "", "extent": ""}),
        (article(2, abstractText=""), {"text": "", "extent": ""}),
    ),
    paired(
        "dates",
        articles,
        (article(1, firstPublicationDate=None, pubYear=None, journalInfo=None), {"date": ""}),
        (article(2, firstPublicationDate=None, pubYear="2017"), {"date": "2017"}),
    ),
    paired(
        "titles and an abstract with headings",
        articles,
        (
            article(1, title="Sleep of <i>adolescents</i> &amp; phones: H<sub>2</sub>O."),
            {"title": called("Sleep of adolescents & phones: H2O")},
        ),
        (article(2, title="Marks fall (p&lt;0.05) in schools."), {"title": called("Marks fall (p<0.05) in schools")}),
        (article(3, title="智能手机禁令的影响。"), {"title": says("^智能手机禁令的影响")}),
        (
            article(4, abstractText="<h4>Background</h4>Phones &amp; sleep.<h4>Results</h4>It fell (p&lt;0.01)."),
            {"text": says(r"^Background\W+Phones & sleep\.\s+Results\W+It fell \(p<0\.01\)\.$")},
        ),
    ),
    Shape(
        "very long",
        [articles(article(title=LONG_TITLE, abstractText=LONG_TEXT))],
        [{"title": at_most(300, "How rules"), "text": at_most(300_000, "The ban raised")}],
    ),
    paired(
        "authors",
        articles,
        (article(1, authorString=None, authorList=None), {"author": ""}),
        (
            article(2, authorString=", ".join(OTHERS) + ".", authorList={"author": [{"fullName": o} for o in OTHERS]}),
            {"author": at_most(300, "Author Number0")},
        ),
        (
            article(
                3, authorString="Phone Study Group.", authorList={"author": [{"collectiveName": "Phone Study Group"}]}
            ),
            {"author": says(r"^Phone Study Group\.?$")},
        ),
    ),
    paired(
        "retracted",
        articles,
        (article(1, pubTypeList={"pubType": ["Retracted Publication", "Journal Article"]}), None),
        (article(2, pubTypeList={"pubType": ["retracted publication"]}), None),
        (article(3, title="Retracted: Article 3."), None),
        (article(4, commentCorrectionList={"commentCorrection": [{"id": "9", "type": "Retraction in"}]}), None),
        (article(6, commentCorrectionList={"commentCorrection": {"type": "Retracted and republished in"}}), None),
        (
            article(7, commentCorrectionList={"commentCorrection": [{"type": "Retracted and republished from"}]}),
            {"title": called("Article 7")},
        ),
        (article(5, title="Rates of retracted trials."), {"title": called("Rates of retracted trials")}),
    ),
    paired(
        "the same twice, once with the DOI in capitals",
        articles,
        (article(1), {"url": doi("10.1000/E.1")}),
        (article(2), {"url": doi("10.1000/E.2")}),
        (article(1, id="PMC1", source="PMC", doi="10.1000/e.1"), None),
    ),
    paired(
        "addresses",
        articles,
        (article(1, doi=None), {"url": says(r"^https?://europepmc\.org/(article|abstract)/MED/30001$")}),
        (article(2, doi=None, id=None, source=None, pmid=None, fullTextUrlList=None), None),
        (
            article(3, doi="10.1002/(SICI)1(1996)52:1<1::AID>3.0.CO;2-#"),
            {"url": doi("10.1002/(SICI)1(1996)52:1<1::AID>3.0.CO;2-#")},
        ),
        (
            article(4, fullTextUrlList={"fullTextUrl": [copy_at("OA", "html", "ftp://x"), copy_at("OA", "html", "")]}),
            {"title": called("Article 4"), "open_url": ""},
        ),
    ),
    Shape(
        "wrong types",
        [
            articles(
                article(1, journalInfo=[], authorList=[], authorString=["A"], pubTypeList=None),
                article(2, fullTextUrlList={"fullTextUrl": {"url": 3}}, pubTypeList={"pubType": "Journal Article"}),
                article(3, pubYear=2022, firstPublicationDate=5),
                None,
                article(4),
            )
        ],
        [{"title": called(f"Article {n}")} for n in (1, 2, 3, 4)],
    ),
    Shape(
        "an error's fields instead of a list",
        [{"version": "6.9", "errCode": 400, "errMsg": "The query has a syntax error."}],
        error="syntax error|unexpected|list of results",
    ),
    *spoilt(articles(article()), [ARTICLE]),
]

# Semantic Scholar: https://api.semanticscholar.org/api-docs/graph, paper relevance search


def paper(number: int = 1, **changes: Any) -> Json:
    return {
        "paperId": f"{number:040x}",
        "externalIds": {"DOI": f"10.1000/S.{number}", "CorpusId": number},
        "url": f"https://www.semanticscholar.org/paper/{number:040x}",
        "title": f"Paper {number}",
        "abstract": "Pupils talked more.",
        "venue": "Computers and Schools",
        "year": 2021,
        "publicationDate": "2021-09-08",
        "journal": {"name": "Comput. Sch.", "pages": "1-9", "volume": "3"},
        "authors": [{"authorId": "1", "name": "Ada Example"}],
        "openAccessPdf": {"url": "", "status": None, "license": None},
    } | changes


def papers(*items: Any, **more: Any) -> Json:
    return {"total": len(items), "offset": 0, "next": 10, "data": list(items)} | more


PAPER: Expected = {
    "title": "Paper 1",
    "url": doi("10.1000/S.1"),
    "date": "2021-09-08",
    "place": says(r"^Comput(ers and|\.) Sch"),
    "author": "Ada Example",
    "text": "Pupils talked more.",
    "extent": "abstract",
    "open_url": "",
}
SEMANTICSCHOLAR = [
    Shape("empty", [{"total": 0, "offset": 0, "data": []}]),
    Shape(
        "one, open, with fields that are not asked for",
        [papers(paper(openAccessPdf={"url": "https://repo.example/s.pdf", "status": "GREEN"}, tldr=None, new={}))],
        [PAPER | {"open_url": "https://repo.example/s.pdf"}],
    ),
    Shape(
        "more than asked", [papers(*(paper(n) for n in range(1, 31)))], [{"title": f"Paper {n}"} for n in range(1, 11)]
    ),
    paired(
        "no abstract",
        papers,
        (paper(1, abstract=None), {"title": "Paper 1", "text": "", "extent": ""}),
        ({k: v for k, v in paper(2).items() if k != "abstract"}, {"title": "Paper 2", "text": "", "extent": ""}),
    ),
    paired(
        "dates",
        papers,
        (paper(1, year=None, publicationDate=None), {"date": ""}),
        (paper(2, year=2016, publicationDate=None), {"date": "2016"}),
    ),
    paired(
        "titles and an abstract of several lines",
        papers,
        (paper(1, title="Phones &amp; schools: H<sub>2</sub>O"), {"title": "Phones & schools: H2O"}),
        (paper(2, title="When a<b and c>d, <T> is <x>"), {"title": "When a<b and c>d, <T> is <x>"}),
        (paper(3, title="Влияние запрета телефонов"), {"title": "Влияние запрета телефонов"}),
        (
            paper(4, abstract="Pupils  talked.\nMarks\u00a0rose.\x00"),
            {"text": says(r"^Pupils talked\.\sMarks rose\.$")},
        ),
    ),
    Shape(
        "very long",
        [papers(paper(title=LONG_TITLE, abstract=LONG_TEXT))],
        [{"title": at_most(300, "How rules"), "text": at_most(300_000, "The ban raised")}],
    ),
    paired(
        "authors",
        papers,
        (paper(1, authors=[]), {"author": ""}),
        (paper(2, authors=None), {"author": ""}),
        (
            paper(3, authors=[{"authorId": None, "name": None}, {"authorId": "2", "name": "Bo Second"}]),
            {"author": starts("Bo Second")},
        ),
        (paper(4, authors=[{"authorId": None, "name": o} for o in OTHERS]), {"author": at_most(300, "Author Number0")}),
    ),
    paired(
        "retracted",
        papers,
        (paper(1, title="RETRACTED: Paper 1"), None),
        (paper(2, title="RETRACTED ARTICLE: Paper 2"), None),
        (paper(3, title="[Retracted] Paper 3"), None),
        (paper(5, title="Retraction Note to: Paper 5"), None),
        (paper(6, title="Retraction notice to “Paper 6” [Comput. Sch. 3 (2021) 1-9]"), None),
        (paper(7, title="Withdrawn to the margins"), {"title": "Withdrawn to the margins"}),
        (paper(4, title="A map of retracted papers"), {"title": "A map of retracted papers"}),
    ),
    paired(
        "the same twice, once with the DOI in capitals",
        papers,
        (paper(1), {"url": doi("10.1000/S.1")}),
        (paper(2), {"url": doi("10.1000/S.2")}),
        (paper(3, externalIds={"DOI": "10.1000/s.1"}), None),
    ),
    paired(
        "addresses",
        papers,
        (
            paper(1, externalIds={"ArXiv": "2101.00001", "CorpusId": 1}),
            {"url": says(r"arxiv\.org/abs/2101\.00001$|semanticscholar\.org/paper/0*1$|10\.48550/arxiv\.2101\.00001$")},
        ),
        (paper(2, externalIds=None), {"url": says(r"semanticscholar\.org/paper/0*2$")}),
        (paper(3, externalIds=None, url=None, paperId=None), None),
        (
            paper(4, externalIds={"DOI": "10.1002/(SICI)1(1996)52:1<1::AID>3.0.CO;2-#"}),
            {"url": doi("10.1002/(SICI)1(1996)52:1<1::AID>3.0.CO;2-#")},
        ),
        (paper(5, openAccessPdf=None), {"title": "Paper 5", "open_url": ""}),
        (paper(6, openAccessPdf={"url": "10.1000/x"}), {"title": "Paper 6", "open_url": ""}),
    ),
    paired(
        "wrong types",
        papers,
        (paper(1, authors={"name": "A"}, journal="x", venue=["v"]), {"title": "Paper 1"}),
        (paper(2, externalIds=["DOI"], openAccessPdf="https://repo.example/", publicationDate=3), {"title": "Paper 2"}),
        (paper(3, title=["Paper 3"], year="2021", publicationDate=None), {"date": "2021"}),
        (None, None),
        (paper(4), {"title": "Paper 4"}),
    ),
    Shape(
        "the documented error",
        [Reply({"error": "Unacceptable query params: [limit=1000]"}, 400)],
        error="Unacceptable query params",
    ),
    *spoilt(papers(paper()), [PAPER]),
]

# GDELT: https://blog.gdeltproject.org/gdelt-doc-2-0-api-debuts/, mode=artlist, format=json


def news(number: int = 1, **changes: Any) -> Json:
    return {
        "url": f"https://www.paper.example/2026/{number}",
        "url_mobile": "",
        "title": f"News {number}",
        "seendate": "20260918T031500Z",
        "socialimage": "https://www.paper.example/x.jpg",
        "domain": "paper.example",
        "language": "English",
        "sourcecountry": "Mexico",
    } | changes


def press(*items: Any, **more: Any) -> Json:
    return {"articles": list(items)} | more


NEWS: Expected = {
    "title": "News 1",
    "url": "https://www.paper.example/2026/1",
    "date": "2026-09-18",
    "publisher": "paper.example",
    "venue": "Mexico",
    "author": "",
    "text": "",
    "extent": "",
    "open_url": "",
}
GDELT = [
    Shape("empty", [{}]),
    Shape("one, with fields that are not documented", [press(news(tone=-3.1, new=None), status="ok")], [NEWS]),
    Shape("more than asked", [press(*(news(n) for n in range(1, 31)))], [{"title": f"News {n}"} for n in range(1, 11)]),
    Shape("an empty list", [press()]),
    paired(
        "dates",
        press,
        (news(1, seendate=""), {"date": ""}),
        (news(2, seendate=None), {"date": ""}),
        (news(3, seendate="20260230T000000Z"), {"date": ""}),
        (news(4, seendate="2026"), {"date": says("^(2026)?$")}),
    ),
    paired(
        "titles",
        press,
        (
            news(1, title="Phones &amp; schools : minister says &#39; no &#39;"),
            {"title": says("^Phones & schools ?: minister says ' ?no ?'$")},
        ),
        (news(2, title="Prohíben teléfonos en escuelas"), {"title": "Prohíben teléfonos en escuelas"}),
        (news(3, title="禁止手机"), {"title": "禁止手机"}),
        (news(4, title="Debt < 3 % , growth > 2 %"), {"title": says("^Debt < 3 ?% ?, growth > 2 ?%$")}),
    ),
    Shape("a very long title", [press(news(title=LONG_TITLE))], [{"title": at_most(300, "How rules")}]),
    paired(
        "no country, domain or language",
        press,
        (
            news(1, sourcecountry="", domain="", language=""),
            {"title": "News 1", "venue": ""},
        ),
        ({"url": news(2)["url"], "title": "News 2"}, {"title": "News 2"}),
    ),
    Shape(
        "one text in three papers",
        [press(*(news(1, url=f"https://{site}/1", domain=site) for site in ("a.example", "b.example", "c.example")))],
        [{"url": f"https://{site}/1"} for site in ("a.example", "b.example", "c.example")],
    ),
    paired("the same twice", press, (news(1), {"title": "News 1"}), (news(2), {"title": "News 2"}), (news(1), None)),
    paired(
        "addresses",
        press,
        (news(1, url=""), None),
        (news(2, url="ftp://x.example/1"), None),
        (news(3, url="https://[bad"), None),
        (news(4), {"title": "News 4"}),
        (news(5, url=None), None),
    ),
    paired(
        "wrong types",
        press,
        (
            news(1, title=None, domain=[], sourcecountry=7, seendate=20260918),
            {"url": "https://www.paper.example/2026/1"},
        ),
        ("no object", None),
        (news(2), {"title": "News 2"}),
    ),
    Shape(
        "a refusal as text, with status 200",
        ["Please limit requests to one every 5 seconds or contact us for larger queries.\n"],
        error="limit requests to one every 5 seconds",
    ),
    *spoilt(press(news()), [NEWS]),
]
GDELT[-1] = Shape(
    "JSON with bad escapes and control characters",
    [b'{"articles": [{"url": "https://www.paper.example/2026/1", "title": "It\\\'s a \x01 ban \\d"}]}'],
    [{"title": says(r"^It\\?'s a ban \\?d$")}],
)

# Hacker News: https://hn.algolia.com/api


def story(number: int = 1, **changes: Any) -> Json:
    return {
        "created_at": "2024-01-02T03:04:05Z",
        "created_at_i": 1704164645,
        "title": f"Story {number}",
        "url": f"https://blog.example/{number}",
        "author": "ada",
        "points": 57,
        "story_text": None,
        "num_comments": 2,
        "objectID": str(number),
        "story_id": number,
        "_tags": ["story", "author_ada", f"story_{number}"],
        "_highlightResult": {"title": {"value": f"<em>Story</em> {number}", "matchLevel": "full"}},
        "updated_at": "2026-01-01T00:00:00Z",
    } | changes


def comment(number: int, to: int = 1, **changes: Any) -> Json:
    return {
        "created_at": "2024-01-03T00:00:00Z",
        "author": f"user{number}",
        "comment_text": f"<p>Comment {number} isn&#x27;t long &amp; has <i>one</i> point.",
        "objectID": str(1000 + number),
        "story_id": to,
        "story_title": f"Story {to}",
        "parent_id": to,
        "_tags": ["comment", f"author_user{number}", f"story_{to}"],
    } | changes


def hits(*items: Any, **more: Any) -> Json:
    return {"hits": list(items), "nbHits": len(items), "page": 0, "nbPages": 1, "hitsPerPage": 10, "query": "x"} | more


STORY: Expected = {
    "title": "Story 1",
    "url": "https://news.ycombinator.com/item?id=1",
    "date": "2024-01-02",
    "place": "Hacker News",
    "author": "",
    "text": says(r"user5\W[^\n]*\n*Comment 5 isn't long & has one point\."),
    "extent": "post",
}
HACKERNEWS = [
    Shape("empty", [hits()]),
    Shape("one, with fields that are not documented", [hits(story(new={}), exhaustive={}), hits(comment(5))], [STORY]),
    Shape(
        "more than asked",
        [hits(*(story(n, story_text="words") for n in range(1, 31))), hits()],
        [{"title": f"Story {n}"} for n in range(1, 11)],
    ),
    Shape("no text and no comments", [hits(story()), hits()], [{"title": "Story 1", "text": "", "extent": ""}]),
    paired(
        "dates",
        hits,
        (story(1, created_at=None, created_at_i=None), {"date": ""}),
        (story(2, created_at=None), {"date": says("^(2024-01-02)?$")}),
        (story(3, created_at="soon"), {"date": says("^(2024-01-02)?$")}),
        then=[hits()],
    ),
    paired(
        "titles and a text with markup",
        hits,
        (story(1, title="Ask HN: Is C&amp;A &quot;open&quot;?"), {"title": 'Ask HN: Is C&A "open"?'}),
        (story(2, title="学校でスマホ禁止"), {"title": "学校でスマホ禁止"}),
        (story(3, title="Vec<T> vs. List<T> in schools"), {"title": "Vec<T> vs. List<T> in schools"}),
        (
            story(4, story_text='It&#x27;s banned.<p>See <a href="https:&#x2F;&#x2F;x.example">x.example</a>'),
            {"text": says(r"^It's banned\.\sSee x\.example$"), "author": "ada"},
        ),
        then=[hits()],
    ),
    Shape(
        "very long",
        [hits(story(title=LONG_TITLE, story_text=LONG_TEXT)), hits(comment(1, comment_text=LONG_TEXT))],
        [{"title": at_most(300, "How rules"), "text": at_most(300_000, "The ban raised")}],
    ),
    paired(
        "no author, and a hundred comments",
        hits,
        (story(1), {"text": lambda text: text.count("isn't long") == 8}),
        (story(2, author=None, story_text="words"), {"author": "", "text": "words"}),
        then=[hits(*(comment(n) for n in range(100)))],
    ),
    paired(
        "deleted stories and comments",
        hits,
        (story(1), STORY | {"text": lambda text: "user5" in text and "user2" not in text and "None" not in text}),
        (
            story(2, title=None, author=None, url=None, story_text=None),
            {"url": "https://news.ycombinator.com/item?id=2"},
        ),
        then=[hits(comment(1, comment_text=None, author=None), comment(2, comment_text=""), comment(5))],
    ),
    paired(
        "the same twice",
        hits,
        (story(1), STORY),
        (story(2), {"title": "Story 2", "text": ""}),
        (story(1), None),
        then=[hits(comment(5))],
    ),
    paired(
        "addresses, and a comment of another story",
        hits,
        (story(1, url=None), STORY | {"text": without("Comment 6")}),
        (story(2, objectID=None, story_id=None), None),
        (story(3, url="x"), {"url": "https://news.ycombinator.com/item?id=3", "text": "", "open_url": ""}),
        then=[hits(comment(5), comment(6, to=9))],
    ),
    paired(
        "wrong types",
        hits,
        (story(1, title=7, author=[], story_text={}), {"author": ""}),
        (story(2, objectID=2, created_at=1704164645), {"title": "Story 2", "date": says("^(2024-01-02)?$")}),
        ("x", None),
        (story(3), {"title": "Story 3", "text": says("Comment 5")}),
        then=[hits(comment(1, comment_text=[]), comment(5, to=3, author=4), None, comment(6, story_id="3"))],
    ),
    Shape(
        "the documented error",
        [Reply({"message": "Invalid numericFilters: created_at_i", "status": 400}, 400)],
        error="Invalid numericFilters",
    ),
    *spoilt(hits(comment(5)), [STORY], before=[hits(story())]),
]

# Stack Exchange: https://api.stackexchange.com/docs/advanced-search, /docs/wrapper, /docs/error-handling


def question(number: int = 1, **changes: Any) -> Json:
    return {
        "tags": ["schools"],
        "owner": {"account_id": 3, "reputation": 11, "user_type": "registered", "display_name": "Ada"},
        "is_answered": True,
        "answer_count": 1,
        "score": 4,
        "last_activity_date": 1735689600,
        "creation_date": 1704164645,
        "question_id": number,
        "content_license": "CC BY-SA 4.0",
        "link": f"https://politics.stackexchange.com/questions/{number}/a-slug",
        "title": f"Question {number}",
        "body": "<p>Why ban &amp; when?</p>\n",
    } | changes


def reply(number: int, to: int = 1, **changes: Any) -> Json:
    return {
        "owner": {"user_type": "registered", "display_name": f"User{number}"},
        "is_accepted": False,
        "score": 9,
        "creation_date": 1704164999,
        "answer_id": 100 + number,
        "question_id": to,
        "body": f"<p>Answer {number} isn&#39;t <em>long</em>.</p><blockquote><p>Quoted.</p></blockquote>",
    } | changes


def wrapped(*items: Any, **more: Any) -> Json:
    return {"items": list(items), "has_more": False, "quota_max": 300, "quota_remaining": 290} | more


QUESTION: Expected = {
    "title": "Question 1",
    "url": "https://politics.stackexchange.com/questions/1/a-slug",
    "date": "2024-01-02",
    "place": says("Politics"),
    "author": "",
    "text": says(r"^Why ban & when\?\s[^\n]*User5\W[^\n]*\n*Answer 5 isn't long\.\s+Quoted\.$"),
    "extent": "post",
}
STACKEXCHANGE = [
    Shape("empty", [wrapped()]),
    Shape(
        "one, with fields that are not documented", [wrapped(question(new=[]), page=1), wrapped(reply(5))], [QUESTION]
    ),
    Shape(
        "more than asked",
        [wrapped(*(question(n) for n in range(1, 31))), wrapped()],
        [{"title": f"Question {n}"} for n in range(1, 11)],
    ),
    paired(
        "no text and no answers",
        wrapped,
        (question(1, body=None), {"title": "Question 1", "text": "", "extent": ""}),
        ({k: v for k, v in question(2).items() if k != "body"}, {"title": "Question 2", "text": "", "extent": ""}),
        then=[wrapped()],
    ),
    paired(
        "dates",
        wrapped,
        (question(1, creation_date=None), {"date": ""}),
        (question(2, creation_date="x"), {"date": ""}),
        then=[wrapped()],
    ),
    paired(
        "titles and a text with code",
        wrapped,
        (
            question(1, title="Should &quot;free&quot; schools &amp; phones &#39;mix&#39;?"),
            {"title": "Should \"free\" schools & phones 'mix'?"},
        ),
        (question(2, title="What does &lt;b&gt; mean in a bill?"), {"title": "What does <b> mean in a bill?"}),
        (question(3, title="Почему запрещают телефоны?"), {"title": "Почему запрещают телефоны?"}),
        (
            question(4, body="<pre><code>if a &lt; b</code></pre><p>Is x &lt; y?</p>"),
            {"text": says(r"^if a < b\s+Is x < y\?$"), "author": "Ada"},
        ),
        then=[wrapped()],
    ),
    Shape(
        "very long",
        [wrapped(question(title=LONG_TITLE, body=LONG_TEXT)), wrapped(reply(1, body=LONG_TEXT))],
        [{"title": at_most(300, "How rules"), "text": at_most(300_000, "The ban raised")}],
    ),
    paired(
        "no owner, and many answers",
        wrapped,
        (question(1), {"text": lambda text: text.count("isn't long") == 8}),
        (question(2, owner=None), {"author": ""}),
        (question(3, owner={"user_type": "does_not_exist"}), {"author": ""}),
        then=[wrapped(*(reply(n) for n in range(40)))],
    ),
    Shape(
        "a closed question and a deleted owner",
        [
            wrapped(question(closed_date=1712345678, closed_reason="Opinion-based", locked_date=1712345679)),
            wrapped(reply(5, owner={"user_type": "does_not_exist", "display_name": "User5 &amp; Co"})),
        ],
        [QUESTION | {"text": says(r"User5 & Co\W[^\n]*\n*Answer 5")}],
    ),
    paired(
        "the same twice",
        wrapped,
        (question(1), QUESTION),
        (question(2), {"title": "Question 2"}),
        (question(1), None),
        then=[wrapped(reply(5))],
    ),
    paired(
        "addresses, and an answer to another question",
        wrapped,
        (question(1), QUESTION),
        (question(2, link=None), None),
        (question(3, link="x"), None),
        then=[wrapped(reply(5), reply(6, to=9))],
    ),
    paired(
        "wrong types",
        wrapped,
        (question(1, owner=[], title=None, body=3, question_id="1"), {"url": says("/questions/1/")}),
        (question(2, tags=None), {"title": "Question 2"}),
        (5, None),
        (question(3), {"title": "Question 3", "text": says("Answer 5")}),
        then=[wrapped(reply(1, to=2, body=[]), reply(5, to=3, owner="x"), None)],
    ),
    Shape(
        "the documented error: too many requests, with status 400",
        [
            Reply(
                {
                    "error_id": 502,
                    "error_name": "throttle_violation",
                    "error_message": "too many requests from this IP, more requests available in 33635 seconds",
                },
                400,
            )
        ],
        error="too many requests from this IP",
        kind=ProviderDownError,
    ),
    *spoilt(wrapped(reply(5)), [QUESTION], before=[wrapped(question())]),
]

# Wikipedia: https://www.mediawiki.org/wiki/API:Search, API:Errors_and_warnings, Extension:TextExtracts


def page(number: int = 1, **changes: Any) -> Json:
    return {
        "pageid": number,
        "ns": 0,
        "title": f"Page {number}",
        "index": number,
        "extract": "A ban is a rule.\nIt can be general.",
        "contentmodel": "wikitext",
        "pagelanguage": "en",
        "touched": "2026-11-29T10:00:00Z",
        "lastrevid": 5,
        "length": 1000,
        "fullurl": f"https://en.wikipedia.org/wiki/Page_{number}",
        "canonicalurl": f"https://en.wikipedia.org/wiki/Page_{number}",
    } | changes


def wiki(*pages: Any, stamps: dict[int, Any] | None = None, **more: Any) -> Json:
    known = [p for p in pages if isinstance(p, dict)]
    snippet = 'a <span class="searchmatch">ban</span> &amp; a rule'
    stamps = {p["pageid"]: "2025-06-07T08:09:10Z" for p in known} | (stamps or {})
    listed = [
        {"ns": 0, "title": p["title"], "pageid": p["pageid"], "snippet": snippet, "timestamp": stamps[p["pageid"]]}
        for p in sorted(known, key=lambda p: str(p["index"]).zfill(3))
    ]
    query = {"searchinfo": {"totalhits": len(pages)}, "search": listed, "pages": list(pages)}
    return {"batchcomplete": True, "continue": {"gsroffset": 10, "continue": "gsroffset||"}, "query": query} | more


PAGE: Expected = {
    "title": "Page 1",
    "url": "https://en.wikipedia.org/wiki/Page_1",
    "date": "2025-06-07",
    "place": says("Wikipedia"),
    "author": "",
    "text": "A ban is a rule.\nIt can be general.",
    "extent": "extract",
    "snippet": says("^a ban & a rule"),
    "open_url": "https://en.wikipedia.org/wiki/Page_1",
}
WIKIPEDIA = [
    Shape("empty", [{"batchcomplete": True, "query": {"searchinfo": {"totalhits": 0}, "search": []}}]),
    Shape(
        "one, with warnings", [wiki(page(new={}), warnings={"extracts": {"warnings": "exlimit was too large"}})], [PAGE]
    ),
    Shape(
        "more than asked, in another order than the ranks",
        [wiki(*(page(n) for n in range(30, 0, -1)))],
        [{"title": f"Page {n}"} for n in range(1, 11)],
    ),
    paired(
        "no extract",
        wiki,
        ({k: v for k, v in page(1).items() if k != "extract"}, {"title": "Page 1", "text": "", "extent": ""}),
        (page(2, extract=""), {"title": "Page 2", "text": "", "extent": ""}),
    ),
    Shape(
        "dates",
        [wiki(page(1, touched=None), page(2), stamps={1: None, 2: "2019-02-30T00:00:00Z"})],
        [{"date": ""}, {"date": ""}],
    ),
    paired(
        "titles and an extract with signs",
        wiki,
        (page(1, title="AT&T & Co. <3"), {"title": "AT&T & Co. <3"}),
        (
            page(2, title="Запрет телефонов", fullurl="https://en.wikipedia.org/wiki/%D0%97"),
            {"title": "Запрет телефонов"},
        ),
        (
            page(3, extract="If a < b and c > d, a &lt;br&gt; is a line break."),
            {"text": "If a < b and c > d, a &lt;br&gt; is a line break."},
        ),
    ),
    Shape(
        "very long",
        [wiki(page(title=LONG_TITLE, extract=LONG_TEXT))],
        [{"title": at_most(300, "How rules"), "text": at_most(300_000, "The ban raised")}],
    ),
    Shape(
        "a hit without its page",
        [wiki(page(1)) | {"query": wiki(page(1), page(2))["query"] | {"pages": [page(2)]}}],
        [{"title": "Page 2", "text": PAGE["text"]}],
    ),
    paired(
        "disambiguation",
        wiki,
        (page(1, pageprops={"disambiguation": ""}), None),
        (page(2), {"title": "Page 2"}),
        (page(3, pageprops={"wikibase_item": "Q1"}), {"title": "Page 3"}),
    ),
    paired("the same twice", wiki, (page(1), {"title": "Page 1"}), (page(2), {"title": "Page 2"}), (page(1), None)),
    paired(
        "addresses",
        wiki,
        (page(1, fullurl=None, canonicalurl=None), None),
        (page(2, fullurl="//en.wikipedia.org/x", canonicalurl=None), None),
        (page(3), {"title": "Page 3"}),
    ),
    Shape(
        "wrong types",
        [
            wiki(
                page(1, extract=["x"]), page(2, pageprops=[], index="2"), "no object", page(3, touched=5), stamps={3: 7}
            )
        ],
        [{"title": "Page 1", "text": says("^x?$")}, {"title": "Page 2"}, {"title": "Page 3"}],
    ),
    Shape(
        "the documented error, with status 200",
        [
            {
                "error": {"code": "maxlag", "info": "Waiting for a database server: 7 seconds lagged.", "lag": 7},
                "servedby": "mw",
            }
        ],
        error="Waiting for a database server",
    ),
    *spoilt(wiki(page()), [PAGE]),
]

SHAPES = {
    "openalex": OPENALEX,
    "europepmc": EUROPEPMC,
    "semanticscholar": SEMANTICSCHOLAR,
    "gdelt": GDELT,
    "hackernews": HACKERNEWS,
    "stackexchange": STACKEXCHANGE,
    "wikipedia": WIKIPEDIA,
}


def fits(value: str, want: Wanted) -> bool:
    if isinstance(want, re.Pattern):
        return want.search(value) is not None
    return value == want if isinstance(want, str) else want(value)


def disagreements(result: SourceResult, expected: Expected) -> list[str]:
    """The fields of the result that are not as expected."""
    told = []
    for name, want in expected.items():
        values = [result.publisher, result.venue] if name == "place" else [getattr(result, name)]
        if not any(fits(value, want) for value in values):
            told.append(f"{name} of {result.title[:30]!r}: {values[0][:200]!r}, not {want}")
    return told


def told_of(shape: Shape, played: Played) -> list[str]:
    """The disagreements between a search and its shape."""
    if shape.error:
        if played.error is None:
            return [f"no error, but {[r.title[:40] for r in played.results]}"]
        right = isinstance(played.error, shape.kind) and re.search(shape.error, str(played.error), re.IGNORECASE)
        return [] if right else [f"{type(played.error).__name__}: {played.error}"]
    if played.error:
        return [f"{type(played.error).__name__}: {played.error}"]
    if len(played.results) != len(shape.found):
        return [
            f"{len(played.results)} results, not {len(shape.found)}: {[(r.title[:40], r.url) for r in played.results]}"
        ]
    told = [line for pair in zip(played.results, shape.found, strict=True) for line in disagreements(*pair)]
    if shape.note and not any(re.search(shape.note, text) for _, text in played.notes):
        told.append(f"no note '{shape.note}' among {played.notes}")
    return told


CASES = [
    pytest.param(source, shape, id=f"{source}: {shape.name}") for source, shapes in SHAPES.items() for shape in shapes
]


def test_each_source_has_twenty_shapes() -> None:
    assert {source: len({s.name for s in shapes}) for source, shapes in SHAPES.items()} == dict.fromkeys(SHAPES, 20)


@pytest.mark.parametrize(("source", "shape"), CASES)
def test_shape(source: str, shape: Shape) -> None:
    played = asyncio.run(play(source, *shape.replies, seconds=shape.seconds))
    assert told_of(shape, played) == []
