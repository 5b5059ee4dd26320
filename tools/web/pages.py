"""Converts fetched pages to documents: main text, title, publisher and date. Refuses login, payment and error pages.

`tools.web.domains` starts `python -m tools.web.pages`, a process that does this.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tools.documents.document import ReaderOutput, decode_text, file_title, truncate_document
from tools.documents.html import html_document
from tools.documents.html_blocks import limit_tree, parse_html
from tools.documents.markdown import markdown_document
from tools.documents.pdf import pdf_document
from tools.documents.plain_text import text_document
from tools.documents.reader_process import serve
from tools.errors import SourceError
from tools.limits import FEWEST_PAGE_WORDS, LONGEST_PAGE, MOST_PDF_PAGES
from tools.passages import SourceDocument
from tools.web.addresses import host_of, without_tracking
from tools.web.fetch import FetchedPage

_SHORT_PAGE = 250  # words; keeps a longer text, even if it is only an article's free part

# Patterns of pages that ask for something or refuse access, by the reason shown to the user.
_WALLS = {
    "asks whether the reader is human": r"captcha|an? (?:ro)?bot\b|are (?:a )?human|your (?:browser|connection)"
    r"|unusual \w+|automated|security (?:check|service|solution)",
    "a login is asked for": r"(?:log|sign)(?:ged|ing)?[ -]?in(?:to)?\b|forgot\w*|(?:create|have) an account",
    "a subscription is asked for": r"subscri\w+|free (?:articles|stor\w+)|(?:continue|keep|go on) reading|\bplans\b"
    r"|unlock|cancel (?:at )?any|members(?:hip)?\b|full (?:access|text)|get access|to read (?:on|this)|preview",
    "consent to cookies is asked for": r"cookies|our (?:\d+ )?partners|legitimate interest|personali[sz]ed"
    r"|(?:accept|reject|refuse) (?:all|everything)|your (?:choices?|consent|device|agreement|privacy)",
    "shows nothing without JavaScript": r"java ?script|supported browser|ad ?-?blocker|allow scripts|in our app\b",
    "is not shown in this region": r"your (?:country|region|location)|where you are|legal (?:reasons|demand)|\bvpn\b"
    r"|european (?:economic|union|readers|visitors)|\bgdpr\b",
    "the site refuses access": r"(?:access|page|been) (?:\w+ ){0,4}(?:denied|restricted|blocked)"
    r"|unable to (?:access|serve)|permission|\bip address|\b403\b|(?:your|many) requests?\b",
    "the page is not there": r"not found|\b404\b|(?:can'?t|couldn'?t|could not|cannot) find|looking for|search box"
    r"|been (?:moved|renamed|removed|deleted|archived|withdrawn)|home ?page|the (?:web )?address|the link",
    "the site is closed": r"maintenance|back (?:soon|online)|try again|temporarily|inconvenience|offline|suspended"
    r"|for sale|(?:is|been) (?:upgraded|switched off)|\b50\d\b",
    "the reader's age is asked for": r"(?:your|how) (?:age|old are you)|date of birth|over 18|drinking age|adults only",
    "speaks of the site to its visitors": r"(?:this|our) (?:site|website|page|service|journalism)s?\b|reload|sorry"
    r"|please (?:enable|wait|click|contact|install|switch)",
}
_QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"|‘[^’\n]{8,}’|(?<!\w)'[^'\n]{8,}'(?!\w)")  # quotations
_LONGEST_WALL = 400  # words
_WORDS_A_SIGN = 35  # most words per match of a pattern; an article about such pages has more words
_ASKED = re.compile(
    r"(?:subscribe|register|(?:log|sign) in|join)\b[^.!?\n]{0,40}\bto (?:continue|keep|read|view|see|unlock)\b"
    r"|\bto (?:continue|keep|go on) reading\b|\balready an? (?:subscriber|member)\b|\bfor subscribers only\b"
    r"|\bmonthly limit of\b|\bunlock this (?:article|story)\b",
    re.IGNORECASE,
)


def read_page(page: FetchedPage) -> SourceDocument:
    """The document of a page. The document's id and address are the page's address without tracking parameters.

    The publisher is the site's name, else its host. The child process limits time and memory. Raises SourceError for a
    page with fewer than FEWEST_PAGE_WORDS words, for an encrypted or damaged PDF, and for a page that asks for a login,
    payment, consent, a captcha or JavaScript instead of showing its text.
    """
    url = without_tracking(page.url)
    if page.content_type == "application/pdf":
        found = pdf_document(page.data, url, most_pages=MOST_PDF_PAGES)
    elif page.content_type == "text/plain":
        found = text_document(decode_page(page)[:LONGEST_PAGE], url)
    elif page.content_type in ("text/markdown", "text/x-markdown"):
        found, _ = markdown_document(decode_page(page)[:LONGEST_PAGE], url)
    else:
        found = _read_html(page, url)
    if len(found.text.split(maxsplit=FEWEST_PAGE_WORDS)) < FEWEST_PAGE_WORDS:
        raise SourceError(f"{url}: too little text (under {FEWEST_PAGE_WORDS} words).")
    address = urlsplit(url)
    return replace(
        truncate_document(found, LONGEST_PAGE),
        external_id=url,
        url=url,
        title=" ".join(found.title.split())[:300] or file_title(address.path) or address.netloc,
        publisher=" ".join(found.publisher.split())[:100] or host_of(url),
    )


def _read_html(page: FetchedPage, url: str) -> SourceDocument:
    tree = parse_html(decode_page(page))
    if tree is None:
        raise SourceError(f"{url}: no text was found in this page.")
    items = limit_tree(tree)
    title = " ".join((tree.findtext(".//title") or "").split())
    shown = "\n".join(" ".join(t.split()) for t in tree.xpath("//body//text()[not(parent::script)]"))
    try:
        found = html_document(tree, url, page.url)
    except SourceError as exc:
        raise SourceError(f"{url}: {_wall(shown, title) or 'no text was found in this page'}.") from exc
    words = len(found.text.split())
    asked = _wall(found.text if words >= FEWEST_PAGE_WORDS else shown, title)
    closed = any(str(item.get("isAccessibleForFree", "")).lower() == "false" for item in items)
    if not asked and closed and FEWEST_PAGE_WORDS <= words < _SHORT_PAGE:
        asked = "a subscription is asked for"
    if asked:
        raise SourceError(f"{url}: {asked}.")
    return found


def _wall(text: str, title: str) -> str:
    """What a short page asks for, or why it refuses access ('a login is asked for'), if this is most of the text or
    ends a teaser; else ''."""
    said = _QUOTED.sub(" ", f"{title}\n{text}".replace("’", "'"))
    words = len(said.split())
    if words > _LONGEST_WALL:
        return ""
    end = said.rstrip()[-150:]
    teaser = words < _SHORT_PAGE and bool(_ASKED.search(end))
    if teaser:
        said, words = end, 1
    signs = {what: len(re.findall(pattern, said, re.IGNORECASE)) for what, pattern in _WALLS.items()}
    enough = sum(signs.values()) >= (2 if words >= FEWEST_PAGE_WORDS else 1)
    if enough and sum(signs.values()) * _WORDS_A_SIGN >= words:
        return max(signs, key=signs.__getitem__)
    return "a subscription is asked for" if teaser else ""


def decode_page(page: FetchedPage) -> str:
    """The page's text. Undecodable bytes become U+FFFD."""
    return decode_text(page.data, page.charset, markup="html" in page.content_type or "xml" in page.content_type).text


def _read(request: dict[str, Any]) -> Iterator[ReaderOutput]:
    data = Path(request["path"]).read_bytes()
    yield read_page(FetchedPage(request["name"], request["content_type"], data, request["charset"]))


if __name__ == "__main__":
    import trafilatura  # noqa: F401  # slowest import, needed by most pages

    serve(_read)
