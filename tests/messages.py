"""The messages of the code, and the catalogues of their translations.

`python -m tests.messages` lists what a catalogue lacks and what no code uses any more.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[1]
FOLDERS = ("agent", "tools", "ui")
KEYWORDS = {"tr": None, "mark": None, "trn": (1, 2), "count": None}
Message = str | tuple[str, str]
"""A message, or a message with its plural."""


def messages() -> dict[Message, str]:
    """Returns each message with the place of its first use. `count` names a thing, whose plural adds an s."""
    found = dict[Message, str]()
    for file in sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py")):
        if file.name == "translation.py":
            continue
        with file.open("rb") as code:
            for line, function, given, _ in extract_python(code, KEYWORDS, (), {"encoding": "utf-8"}):
                texts = given if isinstance(given, tuple) else (given,)
                place = f"{file.relative_to(ROOT)}:{line}"
                if function == "trn" and texts[0]:
                    found.setdefault((texts[0], texts[1]), place)
                elif function == "count" and texts[-1]:
                    found.setdefault((texts[-1], f"{texts[-1]}s"), place)
                elif function in ("tr", "mark") and texts[0]:
                    found.setdefault(texts[0], place)
    plurals = {m[0] for m in found if isinstance(m, tuple)}
    return {m: place for m, place in found.items() if m not in plurals}


def catalogue(language: str) -> Catalog:
    with (ROOT / "locale" / language / "LC_MESSAGES" / "steelman.po").open("rb") as file:
        return read_po(file, locale=language)


if __name__ == "__main__":
    for m, place in messages().items():
        print(place, repr(m))
