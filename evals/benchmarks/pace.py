"""How fast a store fills, batch by batch; a filling that was stopped goes on from the last whole batch."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Pace:
    """Seconds of each batch of `size` passages and of its parts, in a file: its lines tell how far the filling is."""

    def __init__(self, size: int, file: Path) -> None:
        self._size = size
        self._file = file
        self.lines: list[dict[str, float]] = _json_lines(file)
        self._parts: dict[str, float] = {}
        self._since = 0.0

    def add(self, name: str) -> None:
        """What passed since the last call was spent on this part."""
        now = time.perf_counter()
        self._parts[name] = self._parts.get(name, 0.0) + now - self._since
        self._since = now

    @contextlib.contextmanager
    def batch(self, passages: int) -> Iterator["Pace"]:
        self._parts, self._since = {}, time.perf_counter()
        yield self
        self.lines.append({k: round(v, 3) for k, v in self._parts.items()})
        with self._file.open("a") as file:
            file.write(json.dumps(self.lines[-1]) + "\n")
        done, rate = len(self.lines) * self._size, self._size / sum(self.lines[-1].values())
        print(f"\r  {min(done, passages)} of {passages} passages, {rate:.0f} a second  ", end="", file=sys.stderr)

    def summary(self) -> dict[str, Any]:
        total = {name: sum(line.get(name, 0.0) for line in self.lines) for name in self.lines[0]}
        tenth = self.lines[-max(1, len(self.lines) // 10) :]
        return {
            "seconds": {name: round(seconds, 1) for name, seconds in total.items()},
            "passages_per_second": round(len(self.lines) * self._size / sum(total.values()), 1),
            "last_tenth_per_second": round(len(tenth) * self._size / sum(sum(line.values()) for line in tenth), 1),
        }


def _json_lines(file: Path) -> list[dict[str, float]]:
    """A line that a kill cut off is no line: its batch is put in again, in the place of what it left."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    if whole != lines:
        file.write_text("".join(whole))
    return [json.loads(line) for line in whole]
