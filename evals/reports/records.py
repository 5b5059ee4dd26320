"""Stores each reply at once, one line each, so that a stopped run continues and scoring repeats no request.

The first line is the header: suite, configuration, versions, digests of the prompts. Each other line is a record with a
`key`. A record with `failed` stays in every denominator. The next run repeats a failed item, and the new record
replaces the old one.
"""

import importlib.metadata
import json
import platform
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from evals.datasets.rows import digest
from tools.errors import InputError

_PACKAGES = "chromadb langgraph numpy onnxruntime openai scikit-learn tantivy textblob tokenizers".split()
_PROMPTS = Path(__file__).parents[2] / "prompts"
Record = dict[str, Any]


class Records(ExitStack):
    """A file of records that accepts more records. Without a path, the records are in memory. Use `Records` as a
    context manager."""

    def __init__(self, path: Path | None, suite: str, config: Record) -> None:
        """Creates the file, or continues an existing file and removes an incomplete last line, which a killed run may
        leave.

        Raises InputError for a file without records, or with records of another suite, configuration or prompts. Such a
        file stays unchanged.
        """
        super().__init__()
        self.header = header(suite, config)
        self.done: dict[str, Record] = {}
        self._file: IO[bytes] | None = None
        if path is None:
            return
        try:
            *lines, cut = path.read_bytes().split(b"\n") if path.exists() else [b""]
            if lines or cut:
                self.done = _done(path, lines, self.header)
            self._file = self.enter_context(path.open("ab"))
            self._file.truncate(self._file.tell() - len(cut))
        except OSError as exc:
            raise InputError(f"{path} cannot be read or written ({exc.strerror or exc}).") from exc
        if not lines:
            self._write(self.header)

    @property
    def config(self) -> Record:
        """Returns configuration, versions and prompts."""
        return {**self.header["config"], **{part: self.header[part] for part in ("versions", "prompts")}}

    def add(self, key: str, record: Record) -> None:
        """Appends a record."""
        self.done[key] = {"key": key} | record
        self._write(self.done[key])

    def _write(self, line: Record) -> None:
        if self._file:
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            self._file.flush()


def header(suite: str, config: Record) -> Record:
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES} | {"python": platform.python_version()}
    prompts = {p.stem: digest(p) for p in sorted(_PROMPTS.glob("*.md"))}
    return {"records": 1, "suite": suite, "config": config, "versions": versions, "prompts": prompts}


def _done(path: Path, lines: Sequence[bytes], wanted: Record) -> dict[str, Record]:
    """Returns the records that the run does not repeat."""
    try:
        head, *records = map(json.loads, lines)
        known, suite = {r["key"]: r for r in records}, head["suite"]
        new = json.loads(json.dumps(wanted["config"] | wanted["prompts"]))
        old = head["config"] | {k: v for k, v in head["prompts"].items() if k in new}  # without deleted prompts
    except (ValueError, KeyError, TypeError) as exc:
        raise InputError(f"{path} has no records of `python -m evals`. Name another file.") from exc
    if suite != wanted["suite"]:
        raise InputError(f"{path} has records of the suite '{suite}'. Name another file.")
    if changed := sorted(k for k in {*old, *new} if old.get(k) != new.get(k)):
        change = f"{changed[0]} was {old.get(changed[0])!r} and is {new.get(changed[0])!r}"
        raise InputError(f"{path} has another configuration: {change}. Name another file, or restore it.")
    return {key: r for key, r in known.items() if "failed" not in r}
