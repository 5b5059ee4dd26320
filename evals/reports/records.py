"""Results as they come, a line each, so that a killed run goes on and scoring never asks the agent again.

The first line says what was measured: suite, configuration, versions, prompts by their hash. The others are records
with a `key`, one an example; one that failed says so in `failed`, and stays in every denominator. The next run asks it
again, whichever suite it is, and its new record takes the place of that one, unless a judge had no verdict on it.
"""

import importlib.metadata
import json
import platform
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from evals.datasets.rows import digest, json_rows
from tools.errors import InputError

_PACKAGES = "chromadb langgraph numpy onnxruntime openai scikit-learn tantivy textblob tokenizers".split()
_PROMPTS = Path(__file__).parents[2] / "prompts"
NO_VERDICT = "it was not answered with a verdict"
"""How a pair has failed that a judge gave an answer of no use: it would say the same again."""
Record = dict[str, Any]


class Records(ExitStack):
    """A file of records, open for more; without a path they are held in memory only. Use it as a context manager."""

    def __init__(self, path: Path | None, suite: str, config: Record) -> None:
        """Makes the file, or resumes it.

        Raises InputError for a file that is none of records, or of another suite, configuration or prompts, and leaves
        it as it is. A last line that a kill cut off is taken away, and said on standard error.
        """
        super().__init__()
        self.path = path
        self.header = header(suite, config)
        self.done: dict[str, Record] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        if path.exists() and _without_cut_line(path):
            found, records = read_records(path)
            _check_same(path, found, self.header)
            self.done = {r["key"]: r for r in records if r.get("failed", NO_VERDICT) == NO_VERDICT}
        try:
            self._file = self.enter_context(path.open("a", encoding="utf-8"))
        except OSError as exc:
            raise InputError(f"{path} cannot be written ({exc.strerror or exc}).") from exc
        if not path.stat().st_size:
            self._write(self.header)

    @property
    def config(self) -> Record:
        """What a result says of its records: their configuration, versions and prompts."""
        return {**self.header["config"], **{part: self.header[part] for part in ("versions", "prompts")}}

    @classmethod
    def stored(cls, path: Path, suite: str, config: Record) -> "Records":
        """What a file holds, to be scored only; `config`: what it has to have been made with. Raises InputError."""
        if not path.exists():
            raise InputError(f"there is no {path} to score. Leave out --score-only.")
        kept = cls(None, suite, {})
        kept.header, records = read_records(path)
        _check_same(path, kept.header, kept.header | {"suite": suite, "config": kept.header["config"] | config})
        kept.done = {r["key"]: r for r in records}
        return kept

    def add(self, key: str, record: Record) -> None:
        """Appends a record at once; raises InputError for a key that is there already."""
        if key in self.done:
            raise InputError(f"{self.path} holds '{key}' already.")
        self.done[key] = {"key": key} | record
        self._write(self.done[key])

    def _write(self, line: Record) -> None:
        if self._file:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()


def read_records(path: Path) -> tuple[Record, list[Record]]:
    """The header and the records of a file. Raises InputError with file, line and field for one that is wrong, and for
    a key that comes again though it had not failed."""
    rows = json_rows(path)
    first = next(rows, None)
    if first is None or first.values.get("records") != 1 or not isinstance(first.values.get("config"), dict):
        raise InputError(f"{path} holds no records of `python -m evals`; name another file.")
    found: dict[str, Record] = {}
    for row in rows:
        key = row.text("key")
        if "failed" not in found.pop(key, {"failed": ""}):
            raise row.wrong(f"'key' is '{key}', as in an earlier line.")
        found[key] = row.values
    return first.values, list(found.values())


def header(suite: str, config: Record) -> Record:
    """What was measured, with what."""
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES} | {"python": platform.python_version()}
    prompts = {p.stem: digest(p) for p in sorted(_PROMPTS.glob("*.md"))}
    return {"records": 1, "suite": suite, "config": config, "versions": versions, "prompts": prompts}


def _check_same(path: Path, found: Record, wanted: Record) -> None:
    if found.get("suite") != wanted["suite"]:
        raise InputError(f"{path} holds records of the suite '{found.get('suite')}'. Name another file.")
    for part in ("config", "prompts"):
        old, new = found.get(part) or {}, json.loads(json.dumps(wanted[part]))
        if other := sorted(k for k in {*old, *new} if old.get(k) != new.get(k)):
            change = f"{other[0]} was {old.get(other[0])!r} and is {new.get(other[0])!r}"
            raise InputError(f"{path} was made with another {part}: {change}. Name another file, or ask as then.")


def _without_cut_line(path: Path) -> int:
    """Takes a last line away that has no end: the process was killed while it wrote. Gives the bytes that are left."""
    try:
        whole = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{path} cannot be read ({exc.strerror or exc}). Name another file.") from exc
    kept = whole.rfind(b"\n") + 1
    if whole.startswith(b'{"records": 1,') and kept < len(whole):  # no other file is touched
        number = whole.count(b"\n") + 1
        print(f"{path} line {number} was cut off by a kill; it is measured again.", file=sys.stderr)
        with path.open("r+b") as file:
            file.truncate(kept)
        return kept
    return len(whole)
