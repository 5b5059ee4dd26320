"""Live progress of a run on standard error; quiet when that is no terminal."""

import sys
import time
from typing import TextIO

from agent.answer.render.words import plain
from agent.runs.store import Event

_STAGES = {
    "frame": "frame",
    "expand": "sides",
    "lookup": "look up",
    "search": "search",
    "judge": "judge",
    "again": "again",
    "select": "select",
    "write": "write",
    "verify": "check",
}


class TerminalProgress:
    """Prints one line a stage: what it did and how long it took."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on = self._stream.isatty()
        self._stage, self._began, self._detail = "", time.monotonic(), ""
        self._names: dict[str, str] = {}
        self._parts: dict[str, str] = {}

    def show(self, event: Event) -> None:
        """Takes in one event."""
        if not self._on:
            return
        if event.kind == "stage":
            self._begin(str(event.data["stage"]))
        elif event.kind in ("done", "failed", "cancelled", "waiting"):
            self._finish()
        else:
            self._detail = self._words(event) or self._detail
            self._draw(end="\r")

    def _begin(self, stage: str) -> None:
        if stage != self._stage:
            self._finish()
            self._stage, self._began, self._detail, self._parts = stage, time.monotonic(), "", {}

    def _finish(self) -> None:
        if self._stage:
            self._draw(end="\n")
        self._stage = ""

    def _draw(self, end: str) -> None:
        name = _STAGES.get(self._stage, self._stage)
        detail = plain(self._detail)
        detail = detail if len(detail) <= 78 else detail[:77] + "…"
        self._stream.write(f"\r\x1b[2K  {name:<9}  {detail:<78} {time.monotonic() - self._began:5.1f} s{end}")
        self._stream.flush()

    def _words(self, event: Event) -> str:
        data = event.data
        if event.kind == "framed":
            return str(data["neutral"])
        if event.kind == "sides":
            self._names = {s["id"]: s["name"] for s in data["sides"]}
            return f"{len(self._names)}: " + " · ".join(self._names.values())
        if event.kind in ("found", "judged"):
            pages = f" ({data['pages']} pages)" if data.get("pages") else ""
            self._parts[str(data["side"])] = f"{data['passages']}{pages}"
            return " · ".join(f"{self._names.get(side, side)} {count}" for side, count in self._parts.items())
        if event.kind == "again":
            return ", ".join(f"{self._names.get(s, s)}: {n} more queries" for s, n in data["sides"].items())
        if event.kind == "reading":
            return f"{data['characters']:,} characters"
        if event.kind == "written":
            return f"{data['claims']} claims"
        if event.kind == "verified":
            return f"{data['held']} hold, {data['repaired']} repaired, {data['dropped']} dropped"
        return ""
