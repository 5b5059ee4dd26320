"""The file `.env` as editors, shells and other programs leave it: read if it can be, else a line that says why not."""

import codecs
import io
import re
from collections.abc import Set
from pathlib import Path

from tools.errors import SettingsError

_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAVE = "Save the file as UTF-8."


def encoding_of(file: Path, names: Set[str]) -> str:
    """The encoding in which the file can be read. names: the variables that stand for settings.

    Raises SettingsError that names the line for bytes that are no text in it, and for a line that sets one of these
    variables in a form that nothing reads, since the setting would be left out without a word.
    """
    try:
        if file.is_fifo():  # a secret manager's, to be read once
            return "utf-8-sig"
        data = file.read_bytes()
    except FileNotFoundError:
        return "utf-8-sig"
    except IsADirectoryError as exc:
        raise SettingsError(f"{file.absolute()} is a folder, where the file of settings belongs. Remove it.") from exc
    except OSError as exc:
        why = exc.strerror or exc
        raise SettingsError(f"{file.absolute()} cannot be read ({why}). Let this user read it, or remove it.") from exc
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8-sig")
    text = data.decode(encoding, "replace" if encoding == "utf-16" else "surrogateescape")
    if odd := re.search("[\0\ufffd]" if encoding == "utf-16" else "[\0\udc80-\udcff]", text):
        before = text[: odd.start()]
        name = _named(text.split("\n")[before.count("\n")].replace("\0", ""), names)
        what = (
            "a NUL, as UTF-16 without its mark does"
            if odd[0] == "\0"
            else f"what is no {encoding.removesuffix('-sig').upper()} text"
        )
        raise SettingsError(f"{_at(file, before.count(chr(10)) + 1, name)} holds {what}. {_SAVE}")
    _check_lines(file, text, names)
    return encoding


def _check_lines(file: Path, text: str, names: Set[str]) -> None:
    from dotenv.parser import parse_stream

    for binding in parse_stream(io.StringIO(text)):
        written, key = binding.original.string, binding.key or ""
        line = binding.original.line + written.partition(written.lstrip())[0].count("\n")  # blank ones stand before it
        name = _named(written, names)
        if name and (binding.error or key.upper() != name):
            how = f"Write {name}=VALUE there, the value in straight quotes or none."
            raise SettingsError(f"{_at(file, line, name)} cannot be understood. {how}")
        if binding.value is None and not key.isascii():  # as what was added in another encoding looks like
            raise SettingsError(f"{_at(file, line)} cannot be understood. Write NAME=VALUE there. {_SAVE}")


def _at(file: Path, line: int, name: str = "") -> str:
    return f"{file.absolute()}, line {line}{f' ({name})' if name else ''}"


def _named(line: str, names: Set[str]) -> str:
    """The setting that a line is about; empty for none, and for a comment."""
    words = re.findall(r"[A-Za-z0-9_.-]+", line.partition("=")[0]) if not line.lstrip().startswith("#") else []
    return next((word.upper() for word in words if word.upper() in names), "")
