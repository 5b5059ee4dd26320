"""The messages of the code, and the catalogues of their translations.

`python -m tests.messages` lists the messages with their places. They are read from the syntax tree, because Babel's
extractor does not see calls within f-strings before Python 3.12.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from agent.answer.summary import EVIDENCE_NAMES
from agent.state import ANSWER_WORDS
from tools.language.reported_speech import UNNAMED
from tools.passages import SOURCE_KINDS

ROOT = Path(__file__).parents[1]
FOLDERS = ("agent", "tools", "ui")
Message = str | tuple[str, str]
"""A message, or a message with its plural."""


def modules() -> list[Path]:
    return [f for folder in FOLDERS for f in sorted((ROOT / folder).rglob("*.py")) if f.name != "translation.py"]


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages() -> dict[Message, str]:
    """Each message with the place of its first use. `count` names a thing, whose plural adds an s."""
    found = dict[Message, str]()
    for file in modules():
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for call in (node for node in nodes if isinstance(node, ast.Call)):
            for message in _of(call):
                found.setdefault(message, f"{file.relative_to(ROOT)}:{call.lineno}")
    found |= dict.fromkeys(
        (*SOURCE_KINDS, *ANSWER_WORDS, UNNAMED, *EVIDENCE_NAMES.values()), "translated by a variable"
    )
    found.pop("unknown")
    plurals = {message[0] for message in found if isinstance(message, tuple)}
    return {message: place for message, place in found.items() if message not in plurals}


def _of(call: ast.Call) -> Iterator[Message]:
    texts = [text_of(given) for given in call.args]
    if name_of(call) == "trn" and all(texts[:2]):
        yield texts[0], texts[1]
    elif name_of(call) == "count" and isinstance(call.func, ast.Name) and texts[1:] and texts[1]:
        yield texts[1], f"{texts[1]}s"
    elif name_of(call) in ("tr", "mark") and texts and texts[0]:
        yield texts[0]


def catalogue(language: str) -> Catalog:
    with (ROOT / "locale" / language / "LC_MESSAGES" / "steelman.po").open("rb") as file:
        return read_po(file, locale=language)


if __name__ == "__main__":
    for known, where in messages().items():
        print(where, repr(known))
