"""Reads Markdown, with the fields of its front matter."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document, read_text, title_of
from tools.passages import SourceDocument

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKDOWN = re.compile(r"^(?:[-*_][ \t]*){3,}$|^#{1,6}\s+|^>[ \t]?|^[-*+]\s+|\*\*|__|`", re.MULTILINE)
_ADDRESS = r"\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"
# What a bracket opens ends at the next one: a file of nothing but brackets would be searched to its end from each.
_IMAGE = re.compile(rf"!\[[^\[\]]*+\]{_ADDRESS}")
_LINK = re.compile(rf"\[([^\[\]]*+)\]{_ADDRESS}")
_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.MULTILINE)


def read_markdown(path: Path, name: str) -> Iterator[SourceDocument]:
    text = read_text(path, name)
    fields: dict[str, Any] = {}
    if (match := _FRONT_MATTER.match(text)) and (found := _front_matter(match[1], name)) is not None:
        fields, text = found, text[match.end() :]
    heading = _HEADING.search(text)
    fields["title"] = fields.get("title") or (heading[1].strip() if heading else title_of(name))
    yield document(name, _MARKDOWN.sub("", _LINK.sub(r"\1", _IMAGE.sub("", text))), fields)


def _front_matter(block: str, name: str) -> dict[str, Any] | None:
    """The fields of the block; None for text that merely stands between two rules."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=yaml.SafeLoader)):
            raise SourceError(f"{name}: the block between the '---' lines has aliases (*). Write them out.")
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # a ValueError is a date that no calendar has
        raise SourceError(
            f"{name}: the block between the '---' lines is not valid YAML ({_folded(exc)}). Mend or remove it."
        ) from exc
    return fields if isinstance(fields, dict) else None


def _folded(exc: Exception) -> str:
    return " ".join(str(exc).split())
