"""Reads mail (.eml, .mbox, or saved as text): each message, and each that it quotes, is a document of its writer."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from email import message_from_bytes
from email.headerregistry import HeaderRegistry
from email.policy import EmailPolicy
from itertools import chain, groupby
from mailbox import mbox
from pathlib import Path
from typing import Any

from tools.dates import date_of_cell
from tools.documents.document import Note, ReaderOutput, add_fields, document_of_blocks, read_decoded, title_of
from tools.documents.encodings import decode_text
from tools.documents.html import whole_page
from tools.documents.markup import parse
from tools.documents.plain import text_blocks
from tools.errors import SourceError
from tools.passages import PROBABLY, Block, SourceDocument

_DECODED = HeaderRegistry(use_default_map=False)  # headers as text: names stay as they are written
_POLICY = EmailPolicy(header_factory=lambda name, value: _DECODED(name, value[:10_000]))
_ABOVE = r"(?:(?:[\w-]+:|[ \t]).*\n){0,60}?"
MAIL = re.compile(
    rf"(?:From .*\n)?(?={_ABOVE}From:)(?={_ABOVE}Subject:){_ABOVE}(?:Date|Sent|Message-ID|MIME-Version):", re.I
)
"""How a text begins that is a message; a letter may begin with some of these lines."""
_FIELD = r"\*?\b(From|Sent|Date|To|Cc|Subject)\*?:\*?"
# What stands above a quoted message: its header, or a line that says who wrote it.
_QUOTES = re.compile(
    r"^(?:[-_ ]{5,60}(?:[\w ]{3,30}[-_ ]{5,60})?\n\s*|Begin forwarded message:\s*|[ \t]{1,9})?(?:"
    rf"{_FIELD}(?>(?:[^\n]|\n(?!\s*\n)){{0,400}}?\s{_FIELD}){{2,6}}+.*"
    r"|(?:On|Am|Le) (?=.*\d).{0,200}(?:\n.{1,120}){0,2}?\b(?:wrote|schrieb|a écrit)\b[^\n:]{0,100}:\s*?$)"
    r"|^[^\n:]{2,100} (?:wrote|writes):\s*\Z",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"\s*(?:<[^<>]*>|\[mailto:[^\[\]]*\])|\s+via\s.*")
_NO_NAME = re.compile(
    r"\b(?:On|Am|Le|wrote|writes|schrieb|a écrit)\b|:$"
    r"|.*\d(?:[:.]\d\d|\d{3}|/\d\d)\b(?:\s?[aApP]\.?[mM]\.?\b|\s(?:Uhr|[A-Z]{3,4})\b(?:[+-]\d\d?)?|\s?[+-]\d{4}\b|\s?\([A-Z]+\))*[\s,]*"
)
_DAY = re.compile(
    r"(?:(\d\d?)[\s/.-]{1,2}|\b)([A-Z][a-z]{2})[a-z.]*[\s/,-]{1,2}(?:(\d\d?)(?:st|nd|rd|th)?,? )?(\d{4})"
    r"|\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4}"
)
_FOOTER = re.compile(
    r"^(?:--|[_-]{20,}$(?=(?s:.{0,600}?)(?:unsubscri|mailing list|to leave|://|\S@\S))) *$(?s:.{0,600})\Z"
    r"|^(?:Sent (?:from|with) [\w ]{1,40}\.?|Get Outlook for .{1,60})$",
    re.MULTILINE | re.IGNORECASE,
)
_BLOCKQUOTE = re.compile(r"<blockquote\b[^<>]{0,2000}>|(?=</blockquote\b)", re.IGNORECASE)
_OPEN, _CLOSE, _SOMEBODY, _LONGEST = "\ue010", "\ue011", "somebody quoted by ", 1000  # characters that name a writer

_Who = tuple[str, str]
"""Who wrote a message, and on which day (ISO)."""


def read_mail(path: Path, name: str) -> Iterator[ReaderOutput]:
    """The messages of a file; what a message quotes of an earlier one of its box is not said again."""
    with path.open("rb") as file:
        boxed = file.read(5) == b"From "
    seen, silent = set[int](), 0
    for number, data in enumerate(
        _messages(path)
        if boxed
        else [read_decoded(path, name).text.encode() if path.suffix.lower() == ".txt" else path.read_bytes()],
        start=1,
    ):
        shown, key = (f"{name}, message {number}", f"{name}#{number}") if boxed else (name, name)
        try:
            yield from (found := _documents(data, shown, key, seen))
            silent += not found
        except SourceError as exc:
            yield exc
    if silent:
        yield Note(f"{name}: messages without text: {silent:,}.") if boxed else SourceError(f"{name}: holds no text.")


def _messages(path: Path) -> Iterator[bytes]:
    """The messages of a mailbox. What begins without a header is none, but text below a line such as 'From now on'."""
    message = b""
    with closing(mbox(path, create=False)) as box:
        for data in chain((box.get_bytes(key, from_=True) for key in box.iterkeys()), [b""]):
            if message and (not data or re.match(rb"From .*\n[\w-]+:", data)):
                yield re.sub(rb"^>(>*From )", rb"\1", message, flags=re.MULTILINE)
                message = b""
            message += b"\n" * bool(message) + data


def _documents(data: bytes, shown: str, key: str, seen: set[int]) -> list[SourceDocument]:
    """A document for each writer in a message. `seen` has the sentences that were read before."""
    counts, found = Counter[str](), list[SourceDocument]()
    try:
        message = message_from_bytes(data.lstrip(b"\xef\xbb\xbf \t\r\n"), policy=_POLICY)
        own = _who(message)
        texts = list(_texts(message, own, counts))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as exc:  # of the library
        raise SourceError(f"{shown}: this message is damaged ({exc}).") from exc
    if not (message["From"] or message["Date"] or message["Subject"]):
        raise SourceError(f"{shown}: is no mail, since it has no header.")
    letters: dict[_Who, list[Block]] = {own: []}
    for text, sender in texts:
        for who, part in _parts(text, sender):
            said, footers = _FOOTER.subn("", part)
            counts["signatures and list footers"] += footers
            letters.setdefault(who, []).extend(text_blocks(said, counts))
    for who in sorted(letters, key=lambda who: (who != own, who[0].startswith(_SOMEBODY))):
        sentences = [{hash(s) for s in re.split(r"(?<=[.!?])\s+", block.text)} for block in letters[who]]
        new = [b for b, said in zip(letters[who], sentences, strict=True) if who == own or not said <= seen]
        seen.update(*sentences)
        counts["quotations of what is read too"] += len(sentences) - len(new)
        fields = {"title": str(message["Subject"] or "")}
        add_fields(fields, "header" if who == own else "quotation", author=who[0], date=who[1])
        if new:
            named, own_key = (shown, key) if who == own else (f"{shown}, {who[0]}", f"{key}#{len(found)}")
            made = document_of_blocks(named, new, fields, {} if found else counts, title_of(shown))
            found.append(replace(made, key=own_key))
    return found


def _texts(part: Any, who: _Who, counts: Counter[str]) -> Iterator[tuple[str, _Who]]:
    """The texts of a message and of those that are forwarded with it, each with its writer."""
    kind, inner = part.get_content_type(), part.get_payload()
    if kind == "multipart/alternative" and part.is_multipart():
        inner = [leaf for leaf in part.walk() if not leaf.is_multipart()]
        plain = any(p.get_content_type() == "text/plain" and p.get_payload(decode=True).strip() for p in inner)
        inner = [p for p in inner if p.get_content_type() != ("text/html" if plain else "text/plain")]
    if part.is_multipart():
        for each in inner:
            yield from _texts(each, _who(each) if kind == "message/rfc822" else who, counts)
    elif kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
        text = decode_text(part.get_payload(decode=True), part.get_content_charset() or "", markup=kind == "text/html")
        counts.update(text.left_out)
        yield (_marked(text.text, counts) if kind == "text/html" else text.text.replace("\r\n", "\n")), who
    else:
        counts["attachments"] += 1


def _marked(html: str, counts: Counter[str]) -> str:
    """The text of a page, with the marks of plain text before what is quoted."""
    marked = _BLOCKQUOTE.sub(lambda tag: f"{tag[0]}<p>{_OPEN if tag[0] else _CLOSE}</p>", html)
    if (tree := parse(marked)) is None:
        return ""
    page, depth, lines = whole_page(tree), 0, list[str]()
    counts.update(page.counts)
    for block in page.blocks:
        depth += (block.text == _OPEN) - (block.text == _CLOSE)
        if block.text not in (_OPEN, _CLOSE):
            said = f"{'- ' if block.form == 'item' else ''}{block.text}\n"
            lines += [">" * min(depth, 99) + line for line in said.split("\n")]
    return "\n".join(lines)


def _parts(text: str, own: _Who) -> Iterator[tuple[_Who, str]]:
    """The parts of a text with their writers. What is quoted is marked, or stands below the header of its message."""
    writers, unknown = {0: own}, (_SOMEBODY + (own[0] or "the sender"), "")
    level, lines = 0, list[tuple[int, str]]()
    for line in text.split("\n"):
        bare = re.sub(r"^(?: {0,2}>)* ?", "", line)
        level = line[: len(line) - len(bare)].count(">") if line.strip() else level
        lines.append((level, bare))
    for level, group in groupby(lines, key=lambda line: line[0]):
        chunk, begun = "\n".join(line for _, line in group), 0
        for quote in _QUOTES.finditer(chunk):
            yield writers.get(level, unknown), chunk[begun : quote.start()]
            begun, told = quote.end(), " ".join(quote[0][:_LONGEST].split())
            below = level if chunk[begun:].strip() else level + 1
            fields = re.split(_FIELD, told)
            who = _who(dict(zip(fields[1::2], fields[2::2], strict=True)), told)
            writers = {depth: writer for depth, writer in writers.items() if depth < below}
            sure = "" if below > level or len(fields) > 1 or "@" in told else PROBABLY  # it may be a sentence
            writers[below] = (sure + who[0] if who[0] else unknown[0]), who[1]
        yield writers.get(level, unknown), chunk[begun:]


def _who(header: Any, line: str = "") -> _Who:
    """The writer's name, else the address, and the day, by a header or by the line above a quotation."""
    told, sent = (str(header.get("From") or line)[:_LONGEST], header.get("Date") or header.get("Sent") or line)
    name = _NO_NAME.sub("", _ADDRESS.sub("", told)).strip(" \"',")
    comment, address = re.fullmatch(r"\S+@\S+ \((.+)\)", name), re.search(r"<([^<>]+)>", told)
    name = comment[1] if comment else name or (address[1] if address else "")
    day = _DAY.search(str(sent))
    return name, date_of_cell(f"{day[1] or day[3]} {day[2]} {day[4]}" if day[2] else day[0]) if day else ""
