"""From bytes to text: by the byte order mark, by what is declared, as UTF-8, or else by the look of the letters."""

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_CODEC = re.compile(
    r"ascii|utf-8(-sig)?|utf-16(-[lb]e)?|cp\d+|iso8859-\d+|koi8-[rtu]|gb2312|gbk|gb18030|big5(hkscs)?"
    r"|euc_\w+|shift_jis\w*|iso2022_\w+|mac-\w+|tis-620"
)
# What browsers read under these names.
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932"}
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:+-]{1,40})"
    rb"|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:+-]{1,40})",
    re.IGNORECASE,
)
_HEAD = 4096  # bytes that a page declares its encoding in

# The encodings that people have texts in; of the rarer ones, most would fit whatever these do not.
_LIKELY = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "iso8859_2", "koi8_r", "mac_roman"),
    *("cp850", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_LAST_RESORT = "cp1252"  # what older Windows files are
_SAMPLE = 30_000  # bytes that the encoding is guessed from
_MOST_WRONG = 0.1  # of the characters beyond ASCII, in an encoding that is still believed


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text; undecodable: how many of its characters are U+FFFD, having no reading in the encoding."""

    text: str
    undecodable: int = 0

    @property
    def left_out(self) -> dict[str, int]:
        """The count as a document tells it."""
        return {"undecodable characters": self.undecodable}


def decode_text(data: bytes, told: str = "", markup: bool = False) -> Decoded:
    """The text of a file or a page.

    told: the encoding that a server named. markup: HTML or XML, which may declare its own. What is declared is not
    believed of bytes that are plainly UTF-8, nor where too many characters beyond ASCII have no reading in it.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _read(data, codec)
    named = _DECLARED.search(data[:_HEAD]) if markup else None
    labels = (told, (named[1] or named[2]).decode("ascii", "replace") if named else "")
    if not data.isascii():
        with suppress(UnicodeDecodeError):  # hardly any bytes are UTF-8 by chance
            return Decoded(data.decode())
    for codec in (*filter(None, map(codec_named, labels)), "utf-8"):
        # A page whose declaration can be read as ASCII is not in UTF-16.
        found = _read(data, "utf-8" if codec.startswith("utf-16") and b"\x00" not in data[:_HEAD] else codec)
        beyond_ascii = sum(1 for c in found.text if c > "\x7f")
        if found.undecodable <= (0.5 if codec.startswith("utf-8") else _MOST_WRONG) * beyond_ascii:
            return found
    return _guessed(data)


def codec_named(label: str) -> str:
    """Python's name of a text's encoding; empty for what is none, as `hex`, or takes very long, as `punycode`."""
    try:
        name = codecs.lookup(label).name if label else ""
    except (LookupError, ValueError):
        return ""
    return _WIDER.get(name, name) if _TEXT_CODEC.fullmatch(name) else ""


def _read(data: bytes, codec: str) -> Decoded:
    text = data.decode(codec, "replace")
    return Decoded(text, text.count("\ufffd"))


def _guessed(data: bytes) -> Decoded:
    """By the letters that each encoding makes of the bytes, as far as they look like those of a language."""
    from charset_normalizer import from_bytes

    telling = b"\n".join(line for line in data.splitlines() if not line.isascii())[:_SAMPLE]
    matches = from_bytes(telling, cp_isolation=list(_LIKELY))
    best = matches.best()
    usual = next((m for m in matches if _LAST_RESORT in (m.encoding, *m.could_be_from_charset)), None)
    if best is None or (usual and usual.chaos <= best.chaos and usual.coherence >= best.coherence):
        return _read(data, _LAST_RESORT)
    return _read(data, best.encoding)
