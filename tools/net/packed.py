"""Compressed replies, read within bounds: a few bytes may hold gigabytes."""

import re
import zlib
from collections.abc import Callable, Iterator

_PIECE = 1 << 16
_PLAIN = re.compile(r"|identity|none|binary|[78]bit|aws-chunked|utf-?(?:8|16)|(?:us-)?ascii|iso-8859-\d+|windows-125\d")
"""What servers name as an encoding and pack nothing by: alphabets above all."""


def unpacker(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    """What turns parts of a body into decompressed pieces of bounded size, however far a part expands.

    Raises ValueError for an encoding that is not known, and from the pieces for data that is not packed so.
    """
    encoding = ",".join(name for name in re.split(r"[\s,]+", encoding.lower()) if not _PLAIN.fullmatch(name))
    if not encoding:
        return lambda part: iter((part,))
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"is packed in a way that cannot be read ({ascii(encoding[:30])[1:-1]})")
    unpack = None

    def pieces(part: bytes) -> Iterator[bytes]:
        nonlocal unpack
        try:
            while part and not (unpack := unpack or zlib.decompressobj(_window(part, encoding))).eof:
                yield unpack.decompress(part, _PIECE)
                part = unpack.unconsumed_tail
        except zlib.error as exc:
            raise ValueError("is packed in a way that cannot be read") from exc

    return pieces


def _window(start: bytes, encoding: str) -> int:
    """zlib's parameter for the format; what is called deflate comes with and without zlib's own header."""
    if encoding != "deflate":
        return zlib.MAX_WBITS | 16
    return zlib.MAX_WBITS if start[:1] == b"\x78" else -zlib.MAX_WBITS
