"""Inputs that nobody would send, in chunks, over each door of Steelman: what was found wrong, and how far it got.

A door takes a number of inputs and a seed and tells what was wrong. Chunks are seeded one by one and noted in a record
file as they are done, so that a fuzzing that was stopped goes on, and several machines can take a part each.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.suite import progress
from tools.errors import InputError

CHUNK = 250
_MOST_SHOWN = 20


@dataclass
class Findings:
    """What inputs did: how many there were, how they were taken (status, or kind of error), how often something was
    wrong, and examples of that."""

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    wrong_count: int = 0

    def took(self, outcome: str) -> None:
        self.inputs += 1
        self.outcomes[outcome] += 1

    def went_wrong(self, how: str) -> None:
        self.wrong_count += 1
        self.wrong.append(how)

    def add(self, other: "Findings") -> None:
        """Counts all that the other one has; of its examples as many as there is room for."""
        self.inputs += other.inputs
        self.outcomes += other.outcomes
        self.wrong_count += other.wrong_count
        self.wrong += [w for w in other.wrong if w not in self.wrong][: max(0, _MOST_SHOWN - len(self.wrong))]

    def as_row(self) -> dict[str, Any]:
        counted = {"inputs": self.inputs, "outcomes": dict(self.outcomes)}
        return {**counted, "wrong": self.wrong, "wrong_count": self.wrong_count}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "Findings":
        """What a line of a record tells. Earlier ones have no count, and all that was wrong as examples."""
        wrong = row["wrong"]
        return cls(row["inputs"], Counter(row["outcomes"]), wrong, row.get("wrong_count", len(wrong)))


Door = Callable[[int, int], Findings]
"""So many inputs, made by a seed."""


@dataclass(frozen=True)
class Chunk:
    """Inputs of one door; `number` counts from 0 within the door."""

    door: str
    number: int
    inputs: int

    @property
    def key(self) -> str:
        return f"{self.door}/{self.number}/{self.inputs}"


def chunks(doors: Mapping[str, float], inputs: int, part: tuple[int, int]) -> Iterator[Chunk]:
    """All inputs divided among the doors by their shares, of these the part k of n (from 1)."""
    whole = sum(doors.values())
    made = [
        Chunk(door, number, min(CHUNK, share - number * CHUNK))
        for door, weight in doors.items()
        for share in [max(1, round(inputs * weight / whole))]
        for number in range(-(-share // CHUNK))
    ]
    k, n = part
    return (chunk for i, chunk in enumerate(made) if i % n == k - 1)


def part_of(text: str) -> tuple[int, int]:
    """'K/N' as numbers. Raises InputError."""
    k, _, n = text.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise InputError(f"--part is K/N with K from 1 to N, such as 2/4, not '{text}'.")
    return int(k), int(n)


def fuzzed(
    opened: AbstractContextManager[Mapping[str, Door]],
    wanted: list[Chunk],
    seed: int,
    record: Path | None,
) -> dict[str, Findings]:
    """The findings by door; Ctrl-C ends it with what was done by then. record: lines of chunks that were done."""
    found, done = _recorded(record, seed)
    waiting = [chunk for chunk in wanted if chunk.key not in done]
    total = sum(chunk.inputs for chunk in wanted)
    try:
        with (
            opened as doors,
            progress(total=total, initial=total - sum(c.inputs for c in waiting), unit="input") as bar,
        ):
            for chunk in waiting:
                began = time.monotonic()
                new = doors[chunk.door](chunk.inputs, seed * 1_000_003 + chunk.number)
                found.setdefault(chunk.door, Findings()).add(new)
                bar.update(chunk.inputs)
                if record:
                    row = {"seed": seed, "chunk": chunk.key, "door": chunk.door, **new.as_row()}
                    _append(record, row | {"seconds": round(time.monotonic() - began, 1)})
    except KeyboardInterrupt:
        pass  # what was done is told
    return found


def _recorded(record: Path | None, seed: int) -> tuple[dict[str, Findings], set[str]]:
    found: dict[str, Findings] = {}
    done: set[str] = set()
    for line in record.read_text(encoding="utf-8").splitlines() if record and record.exists() else ():
        row = json.loads(line)
        if row["seed"] == seed:
            done.add(row["chunk"])
            found.setdefault(row["door"], Findings()).add(Findings.of_row(row))
    return found, done


def _append(record: Path, row: dict[str, Any]) -> None:
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def table(found: Mapping[str, Findings]) -> str:
    """A line a door, and below it what was wrong."""
    lines = [f"{'door':<14}{'inputs':>8}{'wrong':>7}  how they were taken"]
    for door, findings in found.items():
        outcomes = ", ".join(f"{name} {n:,}" for name, n in findings.outcomes.most_common(6))
        lines.append(f"{door:<14}{findings.inputs:>8,}{findings.wrong_count:>7,}  {outcomes}")
    inputs, wrong = (sum(getattr(f, name) for f in found.values()) for name in ("inputs", "wrong_count"))
    lines.append(f"{'all':<14}{inputs:>8,}{wrong:>7,}")
    return "\n".join([*lines, *(f"{door}: {w}" for door, f in found.items() for w in f.wrong)]) + "\n"
