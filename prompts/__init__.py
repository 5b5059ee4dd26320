"""Reads and fills prompt files.

A prompt is a text file with up to two parts, `[system]` and `[user]`; a file without these lines is one user part.
`{{name}}` is a variable. A missing or unused variable is an error that names it. Text from outside (questions,
passages, replies) goes through `as_data`, which escapes it, so that the model cannot mistake it for the markup of the
instructions.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_JOINERS = "\u200c\u200d"
_PART = re.compile(r"^\[(system|user)\][ \t]*\n", re.MULTILINE)


class PromptError(ValueError):
    """A prompt file or the values for its variables are invalid."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt. digest: hash of the text, so it changes with the text."""

    name: str
    system: str
    user: str
    digest: str

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(_VARIABLE.findall(self.system + self.user))

    def render(self, **values: str) -> tuple[str, str]:
        """Returns (system, user) with all variables filled in; the system part may be empty. Raises PromptError."""
        if missing := sorted(self.variables - values.keys()):
            raise PromptError(f"the prompt '{self.name}' needs a value for '{missing[0]}'.")
        if unused := sorted(values.keys() - self.variables):
            raise PromptError(f"the prompt '{self.name}' has no place for '{unused[0]}'.")
        # In one pass, so that '{{name}}' within a value is not filled in.
        system, user = (_VARIABLE.sub(lambda m: values[m[1]], part) for part in (self.system, self.user))
        return system, user


@cache
def load_prompt(name: str) -> Prompt:
    """Returns the prompt with this name from this folder."""
    return read_prompt(FOLDER / f"{name}.md")


def read_prompt(path: Path) -> Prompt:
    """Returns a prompt from any file. Raises PromptError for an unreadable or empty file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise PromptError(f"the prompt file '{path}' cannot be read ({exc}).") from exc
    pieces = _PART.split(text)
    parts = dict(zip(pieces[1::2], pieces[2::2], strict=True)) if len(pieces) > 1 else {"user": text}
    if len(pieces) > 1 and (pieces[0].strip() or len(parts) < len(pieces) // 2):
        raise PromptError(f"the prompt file '{path}' has text outside its parts, or a part twice.")
    if not parts.get("user", "").strip():
        raise PromptError(f"the prompt file '{path}' has no user part.")
    system, user = parts.get("system", "").strip(), parts["user"].strip()
    digest = hashlib.sha256(f"{system}\x1f{user}".encode()).hexdigest()[:12]
    return Prompt(path.stem, system, user, digest)


def as_data(tag: str, text: str, **attributes: object) -> str:
    """Returns the text as an XML element, escaped, without invisible characters and empty attributes."""
    named = "".join(f' {key}="{escape(one_line(str(value)))}"' for key, value in attributes.items() if value != "")
    return f"<{tag}{named}>{escape(seen(text), quote=False)}</{tag}>"


def one_line(text: str) -> str:
    """Returns the visible text on one line."""
    # Most text is printable; a check letter by letter takes seconds on long texts.
    spaced = " ".join(text.split())
    return spaced if spaced.isprintable() else " ".join(seen(spaced).split())


def seen(text: str) -> str:
    """Returns the text without control, direction and other invisible characters. Newlines, tabs, and the joiners that
    some scripts need stay."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for before, c in zip(f"\n{lines}", lines, strict=False) if _is_seen(c, before))


def _is_seen(character: str, before: str) -> bool:
    if character in _JOINERS:
        return unicodedata.category(before)[0] in "LMS"  # Persian and emoji need them
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
