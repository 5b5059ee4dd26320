"""Stores replies as they come, one line each, so that a stopped run continues and scoring asks nobody again.

The first line is the header: suite, configuration, versions, digests of the prompts. Each other line is a record with a
`key`. A record with `failed` stays in every denominator. The next run repeats it, unless the judge gave an answer
without a verdict, and the new record replaces it.
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
        """Configuration, versions and prompts."""
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
    """The records that are not repeated."""
    try:
        head, *records = map(json.loads, lines)
        known, suite = {r["key"]: r for r in records}, head["suite"]
        new = json.loads(json.dumps(wanted["config"] | wanted["prompts"]))
        old = head["config"] | {k: v for k, v in head["prompts"].items() if k in new}  # without removed prompts
    except (ValueError, KeyError, TypeError) as exc:
        raise InputError(f"{path} has no records of `python -m evals`. Name another file.") from exc
    if suite != wanted["suite"]:
        raise InputError(f"{path} has records of the suite '{suite}'. Name another file.")
    if changed := sorted(k for k in {*old, *new} if old.get(k) != new.get(k)):
        change = f"{changed[0]} was {old.get(changed[0])!r} and is {new.get(changed[0])!r}"
        raise InputError(f"{path} has another configuration: {change}. Name another file, or restore it.")
    return {key: r for key, r in known.items() if r.get("failed", NO_VERDICT) == NO_VERDICT}
