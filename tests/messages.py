"""The messages of the code, and the catalogues of their translations.

`python -m tests.messages` lists the messages with their places. They are read from the syntax tree, because Babel's
extractor does not see calls within f-strings before Python 3.12.
"""

import ast
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from agent.answer.summary import EVIDENCE_NAMES
from agent.state import ANSWER_WORDS
from tools.language.reported_speech import UNNAMED
from tools.passages import SOURCE_KINDS
from tools.translation import SENTENCE_END

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


# --- sentences of errors, which `translated` translates where they are shown

_OF_OPERATORS = re.compile(
    r"tools/(?:serving|selection|models|net/(?:route|connections))|agent/stages/(?:expand|write|stage)|ui/(?:login|server)|ray"
    r"|migrate_store|dense|news|plugins|keyword_source|upgrade|checkpoints|inference|domains|lexicon|question|from_settings"
    r"|langgraph_server|doctor|engines|browser"
)
"""Modules whose errors only those meet who set up models and servers; these stay English."""
_NAMED = ("hint", "reason", "OF_PYDANTIC")
"""Variables that hold sentences of errors."""


def error_sentences() -> dict[str, str]:
    """Each sentence of an error with the place of its first use. `{0}` is its first value."""
    found = dict[str, str]()
    for file in modules():
        if not _OF_OPERATORS.search(file.as_posix()):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                for text in map(_template, _error_texts(node)):
                    place = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
                    found |= dict.fromkeys(filter(_has_words, map(_numbered, SENTENCE_END.split(text))), place)
    return found


def _numbered(sentence: str) -> str:
    number = count()
    alone = re.sub(r"^\0 (?=[A-Z])|(?<=[.!?])\0$", "", sentence)  # a value that is a sentence
    return re.sub(r"\0", lambda _: f"{{{next(number)}}}", alone)


def _has_words(sentence: str) -> bool:
    words = re.findall(r"\b[A-Za-z]{2,}\b", sentence) if "<" not in sentence else []
    return len(words) > 1 or bool(words and sentence.endswith("."))


def _error_texts(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and name_of(node).endswith("Error") and name_of(node) != "AssertionError":
        first = node.args[:1]
        calls = [
            each.func.value for each in first if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
        ]
        yield from (*first, *calls, *(named.value for named in node.keywords if named.arg == "hint"))
    elif isinstance(node, ast.Call) and name_of(node) == "open_package":
        yield from node.args
    elif isinstance(node, ast.FunctionDef) and node.name in ("_no_text_reason", "_columns_with_examples"):
        returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
        yield from (text for value in returned for text in (value, *_branches(value)))
    elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in _NAMED:
        given = node.value
        yield from given.elts if isinstance(given, ast.Tuple) else [given, *_branches(given)]


def _branches(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BoolOp):
        return [*node.values]
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else []


def _template(node: ast.AST) -> str:
    """The text, with a NUL for each value; adjacent values are one."""
    if isinstance(node, ast.JoinedStr):
        return re.sub(r"\0+", "\0", "".join(text_of(part) or "\0" for part in node.values))
    return text_of(node)


if __name__ == "__main__":
    for known, where in (messages() | error_sentences()).items():
        print(where, repr(known))
