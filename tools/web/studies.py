"""Studies: OpenAlex and Europe PMC without a key, Semantic Scholar with one.

A study's address is its DOI, so that a study that several sources give counts once. Its publisher is its journal,
because one company's journals are edited apart. A retracted study is left out.
"""

import re
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from tools.web.keyword_source import KeywordSource, Wanted, dig, objects, plain_html, value_at

_RETRACTED = re.compile(
    r"\W*(?:(?:retracted|withdrawn|retraction)(?: article| paper| note)?\W*[:\]]|retraction not(?:e|ice) (?:to|of)\b)",
    re.IGNORECASE,
)
_RETRACTED_KIND = re.compile(r"'retract(?:ed(?! and republished from)|ion)\b", re.IGNORECASE)
_KINDS = ("pubTypeList.pubType", "commentCorrectionList.commentCorrection.type")
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?\s*(10\.\S+)", re.IGNORECASE)
_IN_DOI = "/:;(),=+&!$*@'"  # characters that an address may hold


class _Studies(KeywordSource):
    """doi: the path of a study's DOI."""

    kind, extent = "studies", "abstract"
    doi = "doi"

    def _row(self, item: dict[str, Any]) -> dict[str, str] | None:
        row = super()._row(item)
        marked = item.get("is_retracted") is True or _RETRACTED_KIND.search(str([dig(item, path) for path in _KINDS]))
        if row is None or marked or _RETRACTED.match(row["title"]):
            return None
        if known := _DOI.fullmatch(value_at(item, self.doi)):  # old ones hold <, > and #
            row["url"] = f"https://doi.org/{quote(unquote(known[1].lower()), safe=_IN_DOI)}"
        return row | {"publisher": row["venue"]}


def abstract_of_index(work: dict[str, Any]) -> str:
    """The abstract in OpenAlex's form: an object of words, each with a list of its positions in the text."""
    index = work.get("abstract_inverted_index")
    words = [(word, ps) for word, ps in index.items() if isinstance(ps, list)] if isinstance(index, dict) else []
    return plain_html(" ".join(w for _, w in sorted((p, w) for w, ps in words for p in ps if isinstance(p, int))))


def _day_of_work(work: dict[str, Any]) -> str:
    """The date; the year alone for 1 January, which OpenAlex writes if it knows only the year."""
    return value_at(work, ("publication_date", "publication_year")).removesuffix("-01-01")


class OpenAlex(_Studies):
    """OpenAlex, all fields of study. It drops stop words, compares stems, and all other words must occur in title,
    abstract or full text. Each search costs some of a daily allowance, which a free key makes ten times as large."""

    name, title = "openalex", "OpenAlex"
    home, endpoint, items = "https://api.openalex.org", "/works", "results"
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
        return {
            "search": query.text,
            "filter": "is_retracted:false,has_abstract:true",
            "per_page": query.limit,
            "select": "id,doi,display_name,publication_date,publication_year,is_retracted,authorships,"
            "primary_location,best_oa_location,abstract_inverted_index",
            "mailto": self._contact,
            "api_key": self._key,
        }


def _own_page(article: dict[str, Any]) -> str:
    database, number = value_at(article, "source"), value_at(article, "id")
    return f"https://europepmc.org/article/{database}/{number}" if database and number else ""


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
    fields: ClassVar = {
        "url": _own_page,
        "date": ("firstPublicationDate", "pubYear"),
        "author": ("authorList.author.fullName", "authorString"),
        "venue": ("journalInfo.journal.title", "journalTitle", "bookOrReportDetails.publisher"),
        "text": "abstractText",
        "open_url": _open_copy,
    }

    def _parameters(self, query: Wanted) -> dict[str, object]:
        asked = " AND ".join([*(f"TITLE_ABS:{word}" for word in query.text.split()), "HAS_ABSTRACT:Y"])
        return {"query": asked, "resultType": "core", "format": "json", "pageSize": query.limit}


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
        fields = "title,abstract,year,publicationDate,venue,journal,authors,externalIds,openAccessPdf,url"
        return {"query": query.text, "limit": query.limit, "fields": fields}
