"""Reads rich text (.rtf), the format that every word processor can write."""

import re
from collections.abc import Iterator
from pathlib import Path

from tools.errors import SourceError
from tools.ingest.documents import document_of_file
from tools.ingest.packed import own_title
from tools.ingest.rtf_text import RtfText
from tools.passages import SourceDocument

_MOST, _DEEPEST = 200_000_000, 500  # bytes, most of them pictures; braces within braces
_TOKEN = re.compile(
    rb"\\(?:([a-zA-Z]{1,32})(-?[0-9]{1,10})?[ ]?|'([0-9a-fA-F]{2})|([^a-zA-Z]))|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\"
)


def read_rtf(path: Path, name: str) -> Iterator[SourceDocument]:
    if path.stat().st_size > _MOST:
        raise SourceError(f"{name}: this RTF document is longer than {_MOST:,} bytes. Split it.")
    data = path.read_bytes()
    if not data.startswith(b"{\\rtf"):
        raise SourceError(f"{name}: this is not an RTF document, whatever its name says. Give it its right ending.")
    text = RtfText()
    if not _read(data, text):
        raise SourceError(
            f"{name}: this RTF document is damaged: its braces do not match. Save it anew and ingest that."
        )
    yield document_of_file(name, text.blocks(), own_title(text.title), text.date, text.left_out)


def _read(data: bytes, text: RtfText) -> bool:
    """Feeds the tokens up to the end of the outermost group; whether there is one."""
    place = 0
    while (token := _TOKEN.match(data, place)) is not None:
        place = token.end()
        word, value, sign, symbol, brace, plain = token.groups()
        if plain is not None:
            text.bytes(plain)
        elif word == b"bin":  # so many bytes of anything follow
            place += max(int(value or 0), 0)
        elif word is not None:
            text.word(word.decode(), int(value) if value else None)
        elif sign is not None:
            text.bytes(bytes.fromhex(sign.decode()))
        elif symbol is not None:
            text.symbol(symbol.decode("latin-1"))
        elif brace == b"{":
            text.open()
        elif brace == b"}":
            text.close()
            if text.depth == 0:
                return True
        if text.depth > _DEEPEST:
            return False
    return False
