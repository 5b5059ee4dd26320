"""Files of formats that are tedious to write, made as a test needs them."""

import io
from collections.abc import Sequence

import docx

PICTURE = "q 500 0 0 700 50 50 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q"


def drawn(*pieces: tuple[float, float, str] | tuple[float, float, str, float] | str) -> bytes:
    """Drawing operations: text at a place from the lower left corner, in a size (10), bold where that is negative."""
    made = []
    for piece in pieces:
        if isinstance(piece, str):
            made.append(piece)
            continue
        x, y, text, size = (*piece, 10.0)[:4]
        font = "F2" if float(size) < 0 else "F1"
        made.append(f"BT /{font} {abs(float(size))} Tf {x} {y} Td ({text}) Tj ET")
    return "\n".join(made).encode("cp1252")


def lines(*texts: str, x: float = 72, y: float = 700) -> list[tuple[float, float, str]]:
    return [(x, y - 12 * i, text) for i, text in enumerate(texts)]


BODY = lines(
    "The harbour was closed in May, and nobody had asked the fishermen what they",
    "thought about it. The council spoke of walls that had to be mended, and of the",
    "money that was there for that year only. It opened again in June of that year.",
)


def word(text: str) -> bytes:
    file, out = docx.Document(), io.BytesIO()
    file.add_paragraph(text)
    file.save(out)
    return out.getvalue()


def pdf(text: str) -> bytes:
    """One page of one line."""
    return pdf_of([f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()])


def pdf_of(streams: Sequence[bytes], title: str = "", page: bytes = b"", font: bytes = b"", info: bytes = b"") -> bytes:
    """A file of letter pages with these drawing operations, in Times (F1, bold F2).

    page: more entries of each. font: the whole entry of F2. info: more metadata.
    """
    fonts = (
        b"<< /Type /Font /Subtype /Type1 /BaseFont /%b /Encoding /WinAnsiEncoding >>" % name
        for name in (b"Times-Roman", b"Times-Bold")
    )
    kids = b" ".join(b"%d 0 R" % (6 + 2 * i) for i in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(streams)),
        *([next(fonts), font] if font else fonts),
        b"<< /Title <%b> %b >>" % (title.encode("cp1252", "replace").hex().encode(), info),
    ]
    for i, stream in enumerate(streams):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> %b >>" % (7 + 2 * i, page),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        ]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(body)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return body + b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table) + trailer
