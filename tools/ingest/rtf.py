"""Reads rich text (.rtf), the format that every word processor can write."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tools.errors import SourceError
from tools.ingest.documents import document_of_file
from tools.ingest.packed import own_title
from tools.ingest.raised import LOWERED, RAISED, written
from tools.ingest.styles import HYPHENS, form_of_name, is_contents
from tools.passages import Block, BlockForm, SourceDocument

_USUAL = "cp1252"
_MOST = 200_000_000  # bytes, most of them pictures
# Signs for what striprtf does not tell, put into the text before it is read and taken out of what it gives back.
_FORMS: dict[BlockForm, str] = {"note": "\ue010", "item": "\ue011", "caption": "\ue012"}
_CONTENTS, _BAR, _HEADING = "\ue013", "\ue014", "\ue020"  # a heading of level 1 is the sign after the last of these
_ASIDE = re.compile(r"\{(?:\\\*)?[ \r\n]*\\(footnote|shptxt|dptxbxtext)(?![a-z])", re.IGNORECASE)
_BRACE = re.compile(r"\\[\\{}]|[{}]")
_STYLE = re.compile(r"\{\\s(\d{1,5})(?![a-z\d])((?:[ \r\n]*\\[a-z]+-?\d*)*)[ \r\n]*([^{}\\;]*);\}")
_STYLED = re.compile(r"\\(?:s|(outlinelevel))(\d{1,5}) ?(?![a-z\d])")
_UNSEEN = re.compile(r"(\{(?:\\[a-z]+-?\d* ?)*)\\(?:v|deleted)(?![a-z\d])(?![^{}]*\\v0)")
_RAISED = re.compile(r"\\super ?([^{}\\]{1,12})(?=\\nosupersub|\\super0|\})")
_WHEN = re.compile(r"\\(?:revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_COUNTED = {"header[lrf]?": "running headers", "footer[lrf]?": "running footers", "annotation": "comments"}


def read_rtf(path: Path, name: str) -> Iterator[SourceDocument]:
    if path.stat().st_size > _MOST:
        raise SourceError(f"{name}: this RTF document is longer than {_MOST:,} bytes. Split it.")
    data = path.read_bytes()
    if not data.startswith(b"{\\rtf"):
        raise SourceError(f"{name}: this is not an RTF document, whatever its name says. Give it its right ending.")
    text = data.decode(_codepage(data), "replace")
    braces = Counter(_BRACE.findall(text))
    if braces["{"] > braces["}"] and "\\bin" not in text:
        raise SourceError(
            f"{name}: this RTF document is damaged: its braces do not match. Save it anew and ingest that."
        )
    left_out = Counter({what: len(re.findall(rf"\\{word}(?![a-z])", text)) for word, what in _COUNTED.items()})
    title = re.search(r"\{\\title ([^{}]*)\}", text)
    when = max(_WHEN.findall(text), key=lambda found: tuple(map(int, found)), default=())
    try:
        blocks = list(_blocks(_plain(_signed(text)), left_out))
        own = own_title(_plain(f"{{\\rtf1 {title[1]}}}")) if title else ""
    except (ValueError, LookupError, TypeError, OverflowError) as exc:  # striprtf meets damage in many ways
        raise SourceError(f"{name}: this RTF document is damaged ({exc}). Save it anew and ingest that.") from exc
    yield document_of_file(name, blocks, own, "-".join(part.zfill(2) for part in when), left_out)


def _codepage(data: bytes) -> str:
    """The encoding that the document names for its bytes beyond ASCII."""
    named = re.search(rb"\\ansicpg(\d{1,5})", data)
    with suppress(LookupError):
        return codecs.lookup(f"cp{named[1].decode()}").name if named else _USUAL
    return _USUAL


def _plain(text: str) -> str:
    from striprtf.striprtf import rtf_to_text

    found = str(rtf_to_text(text, errors="replace"))  # type: ignore[no-untyped-call]
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # halves of signs that come as two


def _signed(text: str) -> str:
    """The document with signs for its headings, items, notes and raised texts, and without hidden and deleted text."""
    signs: dict[str, str] = {}
    for number, words, name in _STYLE.findall(text):
        base = re.search(r"\\sbasedon(\d+)", words)
        signs[number] = _sign(name, words) or signs.get(base[1] if base else "", "")

    def styled(match: re.Match[str]) -> str:
        sign = (chr(ord(_HEADING) + min(int(match[2]), 8) + 1)) if match[1] else signs.get(match[2])
        return f"{match[0].rstrip()} {sign}" if sign else match[0]

    text = _STYLED.sub(styled, text.replace("|", _BAR))
    # The link's address, which striprtf would put behind its words, is taken for a place that is not read.
    text = re.sub(r"\\field(?![a-z])", "", text)
    text = re.sub(r"\\(?:line|lbr|page|column)(?![a-z])", r"\\tab", text)  # the paragraph goes on
    text = re.sub(r"\{(?:\\\*)?\\(?:listtext|pntext)(?![a-z])", rf"{{{_FORMS['item']}\\comment ", text)
    return _asides_last(_RAISED.sub(rf"{RAISED}\1{LOWERED}", _UNSEEN.sub(r"\1\\comment ", text)))


def _sign(style: str, words: str) -> str:
    outline = re.search(r"\\outlinelevel([0-8])", words)
    form, level = form_of_name(style) or ("paragraph", 0)
    level = int(outline[1]) + 1 if outline else level
    return _CONTENTS if is_contents(style) else chr(ord(_HEADING) + level) if level else _FORMS.get(form, "")


def _asides_last(text: str) -> str:
    """Notes and text boxes, which striprtf leaves out, as paragraphs at the end."""
    pieces, asides, place = [], [], 0
    while (start := _ASIDE.search(text, place)) is not None:
        depth = 0
        for brace in _BRACE.finditer(text, start.start()):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if depth == 0:
                break
        else:
            break
        pieces.append(text[place : start.start()])
        inside = re.sub(r"\\par(?![a-z])", " ", text[start.end() : brace.start()]) if start[1] == "footnote" else ""
        asides.append(
            f"\\par\\pard {{{_FORMS['note']}{inside}}}" if inside else f"\\par {{{text[start.end() : brace.end()]}"
        )
        place = brace.end()
    whole = "".join(pieces) + text[place:]
    end = whole.rfind("}")
    return whole[:end] + "".join(asides) + whole[end:]


def _blocks(text: str, left_out: Counter[str]) -> Iterator[Block]:
    rows: list[str] = []
    for line in (*text.split("\n"), ""):
        said, marks = written(line)
        left_out["note marks"] += marks
        if said.rstrip().endswith("|"):
            cells = [" ".join(cell.split()) for cell in said.rstrip().removesuffix("|").split("|")]
            rows += [_unsigned(" | ".join(cells).strip(" |"))] if any(cells) else []
            continue
        if rows:
            yield Block("\n".join(rows), "table")
            rows = []
        if _CONTENTS in said:
            left_out["lines of contents"] += 1
        elif shown := " ".join(_unsigned(said).split()):
            level = max((ord(c) - ord(_HEADING) for c in said if _HEADING < c <= "\ue029"), default=0)
            told: BlockForm = next((form for form, sign in _FORMS.items() if sign in said), "paragraph")
            form: BlockForm = "heading" if level else "item" if shown.startswith("• ") else told
            yield Block(shown.removeprefix("• "), form, level)


def _unsigned(text: str) -> str:
    return re.sub("[\ue010-\ue013\ue020-\ue029]", "", text.replace(_BAR, "|")).translate(HYPHENS)
