"""PDFs written by hand: text at places, in Times (F1) and Times Bold (F2), on letter pages."""

from collections.abc import Sequence

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


def pdf_of(streams: Sequence[bytes], title: str = "", page: str = "") -> bytes:
    """A file of pages with these drawing operations; `page`: more entries of each page."""
    fonts = [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
        for name in ("Times-Roman", "Times-Bold")
    ]
    kids = " ".join(f"{6 + 2 * i} 0 R" for i in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode(),
        *fonts,
        f"<< /Title ({title}) >>".encode("cp1252").replace(b"\\", b"\\\\"),
    ]
    for i, stream in enumerate(streams):
        fonts_of = "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
        kind = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {7 + 2 * i} 0 R"
        objects.append(f"<< {kind} {fonts_of} {page} >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n%b%b" % (len(objects) + 1, table, end)
