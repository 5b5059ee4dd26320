"""How far a run is: as one state made from its events, and as lines for somebody who waits for its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.runs.store import RunEvent
from tools.language.words import count

COMPLETE = 100.0
_STAGES = {
    "frame": (2, "Reading the question."),
    "expand": (8, "Planning the sides."),
    "search": (20, "Searching for each side."),
    "again": (30, "Searching again for sides with too little."),
    "judge": (45, "Reading what was found."),
    "lookup": (60, "Looking up what the sources say."),
    "select": (75, "Choosing passages."),
    "write": (80, "Writing."),
    "verify": (90, "Checking every citation."),
}
"""About how many hundredths of the way are behind a run that begins a stage, and what it does there."""
_STEP = 0.05  # of what is left: a step that ends no stage shows, and never reaches the end


class Progress:
    """Remembers what was told: a stage that is done a second time tells nothing twice, and progress only ever grows."""

    def __init__(self) -> None:
        self._reached = 0.0
        self._told: set[str] = set()
        self._names: dict[str, str] = {}

    def step(self, event: RunEvent) -> tuple[float, str] | None:
        """How far the run is, in hundredths, and what has happened; None where there is nothing new to say."""
        words = self._words(event)
        if not words or words in self._told:
            return None
        at_least = COMPLETE if event.kind == "done" else _STAGES[event.data["stage"]][0] if event.kind == "stage" else 0
        self._told.add(words)
        self._reached = max(at_least, self._reached + (COMPLETE - self._reached) * _STEP)
        return round(self._reached, 2), words

    def _words(self, event: RunEvent) -> str:
        data = event.data
        if event.kind == "stage":
            return _STAGES[data["stage"]][1] if data["stage"] in _STAGES else ""
        if event.kind == "queued":
            return f"Waiting behind {count(data['ahead'], 'question')}."
        if event.kind == "framed":
            return f"Read as: {data['neutral']}"
        if event.kind == "sides":
            self._names = {s["id"]: s["name"] for s in data["sides"]}
            return "Sides: " + " · ".join(self._names.values())
        side = self._names.get(str(data.get("side")), "Answer")
        if event.kind == "found":
            return f"{side}: {count(data['passages'], 'passage')} found."
        if event.kind == "judged":
            return f"{side}: {count(data['passages'], 'passage')} to read closely."
        if event.kind == "claim":
            return f"{side}, {'against it' if data.get('objection') else 'verified'}: {data['text']}"
        return "Done." if event.kind == "done" else ""


SideState = Literal["planned", "searching", "found", "searching again", "supported", "thin", "not_found"]
_PART_OF = {"select": "write", "lookup": "search"}
"""Stages that are not named apart, by the one that they are shown as."""


@dataclass
class SideProgress:
    """One side as it goes. passages: found for it; sources: what some of them are called."""

    name: str
    statement: str
    state: SideState = "planned"
    passages: int = 0
    pages: int = 0
    sources: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)


@dataclass
class RunProgress:
    """A run as it goes. `reached` are the stages that have begun; `running` is the one that goes on; `queued`: it waits
    for its turn."""

    neutral: str = ""
    queued: bool = False
    reached: list[str] = field(default_factory=list)
    running: str = ""
    sides: dict[str, SideProgress] = field(default_factory=dict)


def progress_of(events: Sequence[RunEvent]) -> RunProgress:
    """The run's progress after these events."""
    progress = RunProgress()
    for event in events:
        data = event.data
        progress.queued = event.kind == "queued"
        if event.kind == "stage":
            progress.running = _PART_OF.get(str(data["stage"]), str(data["stage"]))
            if progress.running not in progress.reached:
                progress.reached.append(progress.running)
        elif event.kind in ("done", "failed", "cancelled", "waiting"):
            progress.running = ""
        elif event.kind == "framed":
            progress.neutral = str(data["neutral"])
        elif event.kind == "sides":
            progress.sides = {s["id"]: SideProgress(s["name"], s["statement"]) for s in data["sides"]}
        elif (side := progress.sides.get(str(data.get("side")))) is not None:
            _take_side(side, event)
    return progress


def _take_side(side: SideProgress, event: RunEvent) -> None:
    data = event.data
    if event.kind == "searching":
        side.state = "searching" if side.state == "planned" else "searching again"
    elif event.kind == "found":
        side.state, side.passages, side.pages = "found", int(data["passages"]), int(data.get("pages", 0))
        side.sources = [str(title) for title in data.get("titles", ())]
    elif event.kind == "judged":
        side.state = data["status"]
    elif event.kind == "claim":
        words = f"Against it: {data['text']}" if data.get("objection") else str(data["text"])
        if words not in side.claims:  # a stage done again tells it again
            side.claims.append(words)
