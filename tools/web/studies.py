"""Studies: OpenAlex and Europe PMC without a key, Semantic Scholar with one.

A study's address is its DOI, so that a study that several sources give counts once. Its publisher is its journal,
because one company's journals are edited apart. A retracted study is left out.
"""

import re
from typing import Any, ClassVar

from tools.web.keyword_source import KeywordSource, Wanted, dig, first_day, objects, plain_html, value_at

_RETRACTED = re.compile(r"\W*(?:retracted|withdrawn|retraction)(?: (?:article|paper|note))?\W*[:\]]", re.IGNORECASE)
_RETRACTED_KINDS = re.compile(r"retracted|^retraction", re.IGNORECASE)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?\s*(10\.\S+)", re.IGNORECASE)
_MOST_POSITIONS = 20_000


class _Studies(KeywordSource):
    kind = "studies"
    extent = "abstract"
    doi: str

    def _row(self, item: dict[str, Any]) -> dict[str, str] | None:
        row = super()._row(item)
        if row is None or _RETRACTED.match(row["title"]):
            return None
        known = _DOI.fullmatch(value_at(item, self.doi).strip())
        return row | {"publisher": row["venue"]} | ({"url": f"https://doi.org/{known[1].lower()}"} if known else {})


def abstract_of_index(work: dict[str, Any]) -> str:
    """The abstract in OpenAlex's form: an object of words, each with a list of its positions in the text."""
    index = work.get("abstract_inverted_index")
    places = [
        (p, word)
        for word, ps in (index if isinstance(index, dict) else {}).items()
        if isinstance(ps, list)
        for p in ps
        if isinstance(p, int) and 0 <= p < _MOST_POSITIONS
    ]
    return plain_html(" ".join(word for _, word in sorted(places)))


def _day_of_work(work: dict[str, Any]) -> str:
    """The date; the year alone for 1 January, which OpenAlex writes if it knows only the year."""
    return value_at(work, ("publication_date", "publication_year")).removesuffix("-01-01")


class OpenAlex(_Studies):
    """OpenAlex, all fields of study. It drops stop words, compares stems, and all other words must occur in title,
    abstract or full text. Each search costs some of a daily allowance, which a free key makes ten times as large."""

    name, title = "openalex", "OpenAlex"
    home, endpoint, items = "https://api.openalex.org", "/works", "results"
    doi = "doi"
    fields: ClassVar = {
        "url": ("primary_location.landing_page_url", "id"),
        "title": "display_name",
        "date": _day_of_work,
        "author": "authorships.author.display_name",
        "venue": "primary_location.source.display_name",
        "text": abstract_of_index,
        "open_url": ("best_oa_location.landing_page_url", "best_oa_location.pdf_url"),
    }

    def _parameters(self, query: Wanted) -> dict[str, object]:
        after = f",from_publication_date:{first_day(query.since)}" if query.since else ""
        return {
            "search": query.text,
            "filter": f"is_retracted:false,has_abstract:true{after}",
            "per_page": query.limit,
            "select": "id,doi,display_name,publication_date,publication_year,is_retracted,authorships,"
            "primary_location,best_oa_location,abstract_inverted_index",
            "mailto": self._contact,
            "api_key": self._key,
        }

    def _row(self, item: dict[str, Any]) -> dict[str, str] | None:
        return None if item.get("is_retracted") is True else super()._row(item)


def _open_copy(article: dict[str, Any]) -> str:
    """The address of a copy that everybody may read, as a page if there is one."""
    copies = objects(dig(article, "fullTextUrlList.fullTextUrl"))
    free = [c for c in copies if c.get("availabilityCode") in ("OA", "F")]
    return value_at(min(free, key=lambda c: c.get("documentStyle") != "html", default={}), "url", as_written=True)


class EuropePmc(_Studies):
    """Europe PMC, medicine and the life sciences. All terms must occur. In full texts they occur far apart, so only
    titles and abstracts are searched."""

    name, title = "europepmc", "Europe PMC"
    home, endpoint, items = "https://www.ebi.ac.uk/europepmc/webservices/rest", "/search", "resultList.result"
    most_words = 5
    doi = "doi"
    fields: ClassVar = {
        "url": lambda a: (
            f"https://europepmc.org/article/{a['source']}/{a['id']}" if {"source", "id"} <= a.keys() else ""
        ),
        "date": ("firstPublicationDate", "pubYear"),
        "author": ("authorList.author.fullName", "authorString"),
        "venue": ("journalInfo.journal.title", "journalTitle"),
        "text": "abstractText",
        "open_url": _open_copy,
    }

    def _parameters(self, query: Wanted) -> dict[str, object]:
        terms = [f"TITLE_ABS:{word}" for word in query.text.split()]
        after = [f"FIRST_PDATE:[{first_day(query.since)} TO 3000-12-31]"] if query.since else []
        asked = " AND ".join([*terms, *after, "HAS_ABSTRACT:Y"])
        return {"query": asked, "resultType": "core", "format": "json", "pageSize": query.limit}

    def _row(self, item: dict[str, Any]) -> dict[str, str] | None:
        kinds = dig(item, "pubTypeList.pubType")
        listed = kinds if isinstance(kinds, list) else [kinds]
        return None if any(_RETRACTED_KINDS.search(str(k)) for k in listed) else super()._row(item)


class SemanticScholar(_Studies):
    """Semantic Scholar, all fields of study. A model ranks the papers, so not all words must occur. A word with a
    hyphen matches nothing. A key allows one request a second."""

    name, title = "semanticscholar", "Semantic Scholar"
    home, endpoint, items = "https://api.semanticscholar.org/graph/v1", "/paper/search", "data"
    most_words = fewest_words = 12
    pause, key_header = 1.0, "x-api-key"
    doi = "externalIds.DOI"
    fields: ClassVar = {
        "date": ("publicationDate", "year"),
        "author": "authors.name",
        "venue": ("journal.name", "venue"),
        "text": "abstract",
        "open_url": "openAccessPdf.url",
    }

    def _parameters(self, query: Wanted) -> dict[str, object]:
        after = f"{first_day(query.since)}:" if query.since else ""
        fields = "title,abstract,year,publicationDate,venue,journal,authors,externalIds,openAccessPdf,url"
        return {"query": query.text, "limit": query.limit, "fields": fields, "publicationDateOrYear": after}
