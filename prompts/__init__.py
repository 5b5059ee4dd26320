"""Reads prompts, one file each in this folder, and fills them in.

A prompt is a text file with up to two parts, begun by lines `[system]` and `[user]`; a file without such lines is all
user. `{{name}}` stands for a variable. A variable that is not given, or given and not used, is an error that names it.
What comes from outside (questions, passages, replies) goes in through `as_data`, so that it can end no element and
open none: to the model it is text about which it was asked, whatever it says.
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
    """A prompt file cannot be used as it is, or was filled in with the wrong variables."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it was read; `digest` changes whenever its words do."""

    name: str
    system: str
    user: str
    digest: str

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(_VARIABLE.findall(self.system + self.user))

    def render(self, **values: str) -> tuple[str, str]:
        """(system, user) with every variable filled in; a system part may be empty. Raises PromptError."""
        if missing := sorted(self.variables - values.keys()):
            raise PromptError(f"the prompt '{self.name}' needs a value for '{missing[0]}'.")
        if unused := sorted(values.keys() - self.variables):
            raise PromptError(f"the prompt '{self.name}' has no place for '{unused[0]}'.")
        # In one pass: a value that reads like a variable is not filled in again.
        system, user = (_VARIABLE.sub(lambda m: values[m[1]], part) for part in (self.system, self.user))
        return system, user


@cache
def load_prompt(name: str) -> Prompt:
    """A prompt of this folder by its name, without the ending."""
    return read_prompt(FOLDER / f"{name}.md")


def read_prompt(path: Path) -> Prompt:
    """A prompt from any file. Raises PromptError for one that cannot be read or that asks nothing."""
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
    """The text as an element that it cannot leave: marks escaped, unseen characters and empty attributes taken out."""
    named = "".join(f' {key}="{escape(one_line(str(value)))}"' for key, value in attributes.items() if value != "")
    return f"<{tag}{named}>{escape(seen(text), quote=False)}</{tag}>"


def one_line(text: str) -> str:
    """What is seen of the text, on one line."""
    return " ".join(seen(text).split())


def seen(text: str) -> str:
    """The text without control, direction and other unseen characters; ends of lines and tabs are kept, and so is what
    joins the letters of some scripts."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for before, c in zip(f"\n{lines}", lines, strict=False) if _is_seen(c, before))


def _is_seen(character: str, before: str) -> bool:
    if character in _JOINERS:
        return unicodedata.category(before)[0] in "LM"
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
