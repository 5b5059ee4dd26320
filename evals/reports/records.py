"""Stores replies as they come, one line each, so that a stopped run continues and scoring asks nobody again.

The first line is the header: suite, configuration, versions, digests of the prompts. Each other line is a record with a
`key`. A record with `failed` stays in every denominator. The next run repeats it, unless the judge gave an answer
without a verdict, and the new record replaces it.
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
"""The failure of a pair on which the judge would answer the same again."""
Record = dict[str, Any]


class Records(ExitStack):
    """A file of records, open for more; without a path, records in memory. Use it as a context manager."""

    def __init__(self, path: Path | None, suite: str, config: Record) -> None:
        """Creates the file, or resumes it and removes a line that a kill cut off.

        Raises InputError for a file without records, or of another suite, configuration or prompts; the file is
        unchanged.
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
        """Configuration, versions and prompts."""
        return {**self.header["config"], **{part: self.header[part] for part in ("versions", "prompts")}}

    @classmethod
    def stored(cls, path: Path, suite: str, config: Record) -> "Records":
        """The records of a file, for scoring only. Raises InputError if their configuration is not `config`."""
        if not path.exists():
            raise InputError(f"there is no {path} to score. Leave out --score-only.")
        kept = cls(None, suite, {})
        kept.header, records = read_records(path)
        _check_same(path, kept.header, kept.header | {"suite": suite, "config": kept.header["config"] | config})
        kept.done = {r["key"]: r for r in records}
        return kept

    def add(self, key: str, record: Record) -> None:
        """Appends a record. Raises InputError for a known key."""
        if key in self.done:
            raise InputError(f"{self.path} has '{key}' already.")
        self.done[key] = {"key": key} | record
        self._write(self.done[key])

    def _write(self, line: Record) -> None:
        if self._file:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()


def read_records(path: Path) -> tuple[Record, list[Record]]:
    """The header and the records. Raises InputError with file, line and field."""
    rows = json_rows(path)
    first = next(rows, None)
    if first is None or first.values.get("records") != 1 or not isinstance(first.values.get("config"), dict):
        raise InputError(f"{path} has no records of `python -m evals`. Name another file.")
    found: dict[str, Record] = {}
    for row in rows:
        key = row.text("key")
        if "failed" not in found.pop(key, {"failed": ""}):
            raise row.wrong(f"'key' is '{key}', as in an earlier line.")
        found[key] = row.values
    return first.values, list(found.values())


def header(suite: str, config: Record) -> Record:
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES} | {"python": platform.python_version()}
    prompts = {p.stem: digest(p) for p in sorted(_PROMPTS.glob("*.md"))}
    return {"records": 1, "suite": suite, "config": config, "versions": versions, "prompts": prompts}


def _check_same(path: Path, found: Record, wanted: Record) -> None:
    if found.get("suite") != wanted["suite"]:
        raise InputError(f"{path} has records of the suite '{found.get('suite')}'. Name another file.")
    for part in ("config", "prompts"):
        old, new = found.get(part) or {}, json.loads(json.dumps(wanted[part]))
        if changed := sorted(k for k in {*old, *new} if old.get(k) != new.get(k)):
            change = f"{changed[0]} was {old.get(changed[0])!r} and is {new.get(changed[0])!r}"
            raise InputError(f"{path} has another {part}: {change}. Name another file, or restore that {part}.")


def _without_cut_line(path: Path) -> int:
    """Removes a last line without an end. Returns the remaining bytes."""
    try:
        whole = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{path} cannot be read ({exc.strerror or exc}). Name another file.") from exc
    kept = whole.rfind(b"\n") + 1
    if whole.startswith(b'{"records": 1,') and kept < len(whole):  # other files stay unchanged
        number = whole.count(b"\n") + 1
        print(f"{path} line {number} is incomplete; it is measured again.", file=sys.stderr)
        with path.open("r+b") as file:
            file.truncate(kept)
        return kept
    return len(whole)
