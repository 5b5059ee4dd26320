"""Files of formats that are tedious to write, made as a test needs them."""

import io
import zlib
from collections.abc import Sequence

import docx

# Times-Roman from the space to the tilde, thousandths of the size (Adobe's font metrics).
_WIDTHS = """250 333 408 500 500 833 778 333 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500 500 500 500
278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889 722 722 556 722 667 556 611
722 722 944 722 722 611 333 278 333 469 500 333 444 500 444 500 444 333 500 500 278 278 500 278 778 500 500
500 500 333 389 278 500 500 722 500 500 444 480 200 480 541"""
WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split()), strict=True))


def word(text: str) -> bytes:
    file, out = docx.Document(), io.BytesIO()
    file.add_paragraph(text)
    file.save(out)
    return out.getvalue()


def width(text: str, size: float) -> float:
    """Of a text in Times, in points."""
    return sum(WIDTHS.get(char, 500) for char in text) * size / 1000


def pdf(text: str) -> bytes:
    """One page of one line."""
    return pdf_of([f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()])


def pdf_of(streams: Sequence[bytes], title: str = "") -> bytes:
    """A file of pages with these drawing operations, in Times (F1, bold F2); letter size."""
    fonts = (
        b"<< /Type /Font /Subtype /Type1 /BaseFont /%b /Encoding /WinAnsiEncoding >>" % name
        for name in (b"Times-Roman", b"Times-Bold")
    )
    kids = b" ".join(b"%d 0 R" % (6 + 2 * i) for i in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(streams)),
        *fonts,
        b"<< /Title <%b> >>" % title.encode("cp1252", "replace").hex().encode(),
    ]
    for i, stream in enumerate(streams):
        packed = zlib.compress(stream)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (7 + 2 * i),
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed),
        ]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(body)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return body + b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table) + trailer
