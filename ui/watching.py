"""What a run's events amount to so far: pure functions from events to what the page shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.runs.store import Event

STAGES: tuple[tuple[str, str], ...] = (
    ("frame", "question"),
    ("expand", "sides"),
    ("search", "search"),
    ("judge", "judge"),
    ("again", "again"),
    ("write", "write"),
    ("verify", "check"),
)
"""The stages as the page names them, in the order in which a run takes them; 'again' only where a side needs it."""

_PART_OF = {"select": "write", "lookup": "search"}
"""Stages that are not named apart, by the one that they are shown as."""

SideState = Literal["planned", "searching", "found", "searching again", "supported", "thin", "leaning", "not_found"]


@dataclass
class SideProgress:
    """One side as it goes. passages: found, and once it was judged those that support it."""

    name: str
    statement: str
    state: SideState = "planned"
    passages: int = 0
    pages: int = 0
    claims: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """'searching', '24 passages', 'covered: 7 passages' …"""
        count = f"{self.passages} passage" + ("" if self.passages == 1 else "s")
        found = count + (f" from {self.pages} web pages" if self.pages else "")
        said: dict[SideState, str] = {
            "found": found,
            "supported": f"covered: {count}",
            "thin": f"thin: {count}",
            "leaning": "unsure",
            "not_found": "not found",
        }
        return said.get(self.state, self.state)


@dataclass
class RunProgress:
    """A run as it goes. `reached` are the stages that have begun; `running` is the one that goes on."""

    neutral: str = ""
    reached: list[str] = field(default_factory=list)
    running: str = ""
    sides: dict[str, SideProgress] = field(default_factory=dict)
    ended: str = ""
    error: str = ""


def progress_of(events: Sequence[Event]) -> RunProgress:
    """The run's progress after these events."""
    progress = RunProgress()
    for event in events:
        _take(progress, event)
    return progress


def _take(progress: RunProgress, event: Event) -> None:
    data = event.data
    if event.kind == "stage":
        progress.running = _PART_OF.get(str(data["stage"]), str(data["stage"]))
        if progress.running not in progress.reached:
            progress.reached.append(progress.running)
    elif event.kind == "resumed":
        progress.ended = progress.error = ""
    elif event.kind in ("done", "failed", "cancelled", "waiting"):
        progress.ended, progress.running, progress.error = event.kind, "", str(data.get("error", ""))
    elif event.kind == "framed":
        progress.neutral = str(data["neutral"])
    elif event.kind == "sides":
        progress.sides = {s["id"]: SideProgress(s["name"], s["statement"]) for s in data["sides"]}
    elif (side := progress.sides.get(str(data.get("side")))) is not None:
        _take_side(side, event)


def _take_side(side: SideProgress, event: Event) -> None:
    data = event.data
    if event.kind == "searching":
        side.state = "searching" if side.state == "planned" else "searching again"
    elif event.kind == "found":
        side.state, side.passages, side.pages = "found", int(data["passages"]), int(data.get("pages", 0))
    elif event.kind == "judged":
        side.state, side.passages = data["status"], int(data["passages"])
    elif event.kind == "claim" and (words := _words(data)) not in side.claims:  # a stage done again tells it again
        side.claims.append(words)


def _words(claim: dict[str, Any]) -> str:
    return str(claim["text"]) if claim.get("tier", "case") == "case" else f"May speak for it: {claim['text']}"
