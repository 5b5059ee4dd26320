"""Reads mail (.eml, .mbox, or saved as text). Each message, sent or quoted, becomes a document of its writer."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.headerregistry import HeaderRegistry
from email.policy import EmailPolicy
from itertools import groupby, pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from tools.dates import date_of_cell
from tools.documents.document import ReaderOutput, add_fields, decode_text, document_of_blocks, file_title
from tools.documents.html import read_whole_page
from tools.documents.html_blocks import parse_html
from tools.documents.plain_text import text_blocks
from tools.errors import SourceError
from tools.passages import PROBABLY, Block
from tools.translation import mark

_DECODED = HeaderRegistry(use_default_map=False)  # headers as text: names stay as they are written
_POLICY = EmailPolicy(header_factory=lambda name, value: _DECODED(name, value[:10_000]))
_HEADER_LINES = r"(?:(?:[\w-]+:|[ \t]).*\n){0,300}?"
# The header of a message or memorandum
MAIL_START = re.compile(rf"(?:From .*\n)?(?={_HEADER_LINES}From:){_HEADER_LINES}Subject:", re.IGNORECASE)
_BEGINS = re.compile(rb"^From .*\d:\d\d|\A", re.MULTILINE)  # a line without a time is text: 'From now on'
_FIELD = r"\*?\b(From|Sent|Date|To|Cc|Subject|Von|Gesendet|Datum|An|Betreff)\*?:\*?"
_GERMAN = {"Von": "From", "Gesendet": "Sent", "Datum": "Date"}
# The line that mail programs put above a forwarded message. Below it, even a single 'From:' is a header.
_FORWARDS = (
    r"(?:[-_]{3,40}+[\w -]{0,24}(?i:message|nachricht) ?[-_]{3,}"
    r"|Begin forwarded message:|Anfang der weitergeleiteten (?:E-Mail|Nachricht):)"
)
# The line above a quoted message: its header, or a line that names the writer.
_QUOTES = re.compile(
    r"^(?:[-_]{5}.*\n\s*|Begin forwarded message:\s*|[ \t]{1,9})?(?:"
    rf"{_FIELD}(?>(?:.|\n(?!\s*\n)){{0,400}}?\s{_FIELD}){{2,6}}+.*"
    r"|On (?=.*\d).{0,200}(?:\n.{1,120}){0,2}?\bwrote:\s*?$)|^[^\n:]{2,100} wrote:\s*\Z"
    rf"|^[ \t]{{0,9}}{_FORWARDS}(?=(?s:.{{0,400}}?)\b(?:From|Von)\*?:)(?:\s*{_FIELD}.*){{1,8}}",
    re.MULTILINE,
)
_NO_NAME = re.compile(  # address, mailing list, time, and the text before the time
    r"\s*(?:<[^<>]*>|\[mailto:[^\[\]]*\])|\svia\s.*|\bwrote:$|^On\b"
    r"|[^<\[]*\d(?:[:.]\d\d|\d{3})\b(?:\s?(?:[AaPp]\.?[Mm]\b|[A-Z]{3,4}\b(?:[+-]\d+)?|[+-]\d{4}|\([A-Z]+\)))*"
)
_DAY = re.compile(r"(?:(\d\d?)[ /-])?\b([A-Z][a-z]{2})[a-z.]*[ /-](?:(\d\d?)[a-z]{0,2}, )?(\d{4})|\d{4}-\d\d-\d\d")
_FOOTER = re.compile(r"^(?:--|_{20,}(?=\n(?s:.{0,600}?)(?:unsubscri|://|\S@\S))) *$(?s:.{0,600})\Z", re.MULTILINE)
_QUOTE_TAG = re.compile(r"<(/?)blockquote\b[^<>]{0,2000}>", re.IGNORECASE)
_QUOTE_MARK = "\ue010"  # a private character; begins an HTML quotation, and with a slash ends it
_LEVELS, _SUBJECT = re.compile(r"(?m)^(?: {0,2}>)+ ?"), re.compile(r"(?m)^[ >]*(?:Subject|Betreff): *(\S.{0,200})")
_LEAST_FIELDS = 3  # of a header in a text
_UNKNOWN_WRITER, _LONGEST = "somebody quoted by ", 1000

_Writer = tuple[str, str]  # name and day (ISO)


def holds_mail(text: str) -> bool:
    """Whether a text contains the header of a forwarded message. 'From: Hill, To: Sea' may be a timetable."""
    headers = (quote[0] for quote in _QUOTES.finditer(_LEVELS.sub("", text)))
    fields = ((re.findall(_FIELD, header), header) for header in headers)
    return any(
        len(found) >= _LEAST_FIELDS and ("@" in header or {"Subject", "Betreff"} & {*found}) for found, header in fields
    )


def read_mail(path: Path, name: str, text: str = "") -> Iterator[ReaderOutput]:
    """Yields the documents of a mail file. Leaves out quotations of earlier messages in the file. text: the file's
    decoded text, if the caller has it."""
    with path.open("rb") as file:
        boxed = file.read(5) == b"From "
    if text and not MAIL_START.match(text.lstrip()):  # a text around a forwarded message
        subject = _SUBJECT.search(text)
        text = f"Subject: {subject[1] if subject else file_title(name)}\n\n{text}"
    seen, messages = set[int](), _messages(path) if boxed else [text.lstrip().encode() or path.read_bytes()]
    for number, message in enumerate(messages, start=1):
        shown = f"{name}, message {number}" if boxed else name
        try:
            yield from _documents(message, shown, seen)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as exc:  # the library's errors
            yield SourceError(f"{shown}: this message is damaged ({exc}).")


def _messages(path: Path) -> Iterator[bytes]:
    """Yields the messages of a mailbox."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as box:
        starts = [found.start() for found in _BEGINS.finditer(box)]
        for start, end in pairwise([*starts, len(box)]):
            yield re.sub(rb"(?m)^>(>*From )", rb"\1", box[start:end])


def _documents(data: bytes, shown: str, seen: set[int]) -> list[ReaderOutput]:
    """Returns a document for each writer in a message. seen: hashes of the sentences in earlier messages."""
    counts, found = Counter[str](), list[ReaderOutput]()
    message = message_from_bytes(data.lstrip(b"\xef\xbb\xbf \t\r\n"), policy=_POLICY)
    if not (message["From"] or message["Date"] or message["Subject"]):
        return [SourceError(f"{shown}: is no mail, since it has no header.")]
    own, letters = _author_and_day(message), defaultdict[_Writer, list[Block]](list)
    for text, sender in _message_texts(message, own, counts):
        for who, part in _quoted_parts(text, sender):
            said, footers = _FOOTER.subn("", part)
            counts["signatures and list footers"] += footers
            letters[who] += text_blocks(said, counts)
    for who in sorted(letters, key=lambda who: (who != own, who[0].startswith(_UNKNOWN_WRITER))):
        sentences = [{hash(s) for s in re.split(r"(?<=[.!?])\s+", block.text)} for block in letters[who]]
        new = [block for block, said in zip(letters[who], sentences, strict=True) if who == own or not said <= seen]
        seen.update(*sentences)
        fields = {"title": str(message["Subject"] or "")}
        add_fields(fields, "header" if who == own else "quotation", author=who[0], date=who[1])
        if new:
            named = shown if who == own else ", ".join(filter(None, (shown, *who)))
            made = document_of_blocks(named, new, fields, {} if found else counts, file_title(shown))
            found.append(replace(made, kind=mark("e-mail")) if made.kind in ("letter", "unknown") else made)
    return found or [f"{shown}: holds no text."]


def _message_texts(part: Any, who: _Writer, counts: Counter[str]) -> Iterator[tuple[str, _Writer]]:
    """Yields the texts of a message and of forwarded messages, each with its writer."""
    kind, inner = part.get_content_type(), part.get_payload()
    if kind == "multipart/alternative" and part.is_multipart():
        inner = [leaf for leaf in part.walk() if not leaf.is_multipart()]
        plain = any(p.get_content_type() == "text/plain" and p.get_payload(decode=True).strip() for p in inner)
        inner = [p for p in inner if p.get_content_type() != ("text/html" if plain else "text/plain")]
    if part.is_multipart():
        for each in inner:
            yield from _message_texts(each, _author_and_day(each) if kind == "message/rfc822" else who, counts)
    elif kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
        text = decode_text(part.get_payload(decode=True), part.get_content_charset() or "", markup=kind == "text/html")
        counts.update(text.left_out)
        if kind == "text/plain":
            yield text.text.replace("\r\n", "\n"), who
        elif (tree := parse_html(_QUOTE_TAG.sub(rf"<p>{_QUOTE_MARK}\1</p>", text.text))) is not None:
            page = read_whole_page(tree)
            counts.update(page.counts)
            yield "\n\n".join(block.text for block in page.blocks), who
    else:
        counts["attachments"] += 1


def _quoted_parts(text: str, own: _Writer) -> Iterator[tuple[_Writer, str]]:
    """Yields the parts of a text with their writers. Quotations have marks ('>') or follow a message's header."""
    writers, unknown = {0: own}, (_UNKNOWN_WRITER + (own[0] or "the sender"), "")
    depth, level, lines = 0, 0, list[tuple[int, str]]()
    for line in text.split("\n"):
        bare = re.sub(r"^(?: {0,2}>)* ?", "", line)
        depth = max(0, depth + (line == _QUOTE_MARK) - (line == f"{_QUOTE_MARK}/"))
        level = depth + line[: len(line) - len(bare)].count(">") if line.strip() else level
        lines.append((level, bare))
    for level, group in groupby(lines, key=lambda line: line[0]):
        chunk, begun = "\n".join(line for _, line in group), 0
        for quote in _QUOTES.finditer(chunk):
            yield writers.get(level, unknown), chunk[begun : quote.start()]
            begun, above = quote.end(), " ".join(quote[0][:_LONGEST].split())
            below = level if chunk[begun:].strip() else level + 1
            fields = re.split(_FIELD, above)
            header = {_GERMAN.get(name, name): value for name, value in zip(fields[1::2], fields[2::2], strict=True)}
            who = _author_and_day(header, above)
            writers = {depth: writer for depth, writer in writers.items() if depth < below}
            sure = "" if below > level or len(fields) > 1 or "@" in above else PROBABLY  # may be a sentence
            writers[below] = (sure + who[0] if who[0] else unknown[0]), who[1]
        yield writers.get(level, unknown), chunk[begun:]


def _author_and_day(header: Any, above: str = "") -> _Writer:
    """Returns the writer's name (else the address) and the day, from a header or from the line above a quotation."""
    sender, sent = str(header.get("From") or above)[:_LONGEST], str(header.get("Date") or header.get("Sent") or above)
    name = _NO_NAME.sub("", sender).strip(" \"',*")
    comment, address = re.fullmatch(r"\S+(?:@| at )\S+ \((.+)\)", name), re.search(r"<([^<>]+)>", sender)
    day = _DAY.search(sent)
    name = comment[1] if comment else name or (address[1] if address else "")
    return name, date_of_cell(f"{day[1] or day[3]} {day[2]} {day[4]}" if day[2] else day[0]) if day else ""
