"""A run's progress, read from its events: a state for the page, and a line for each new step."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.runs.store import RunEvent
from tools.language.lexicon import count
from tools.translation import mark, tr

COMPLETE = 100.0
_STAGES = {
    "frame": (2, mark("Reading the question.")),
    "expand": (8, mark("Planning the sides.")),
    "retrieve": (20, mark("Searching for each side.")),
    "requery": (30, mark("Searching again for sides with too little.")),
    "judge": (45, mark("Reading what was found.")),
    "lookup": (60, mark("Looking up what the sources say.")),
    "select": (75, mark("Choosing passages.")),
    "write": (80, mark("Writing.")),
    "verify": (90, mark("Checking every citation.")),
}
"""By stage: roughly the percentage of the run that is done when the stage starts, and the line that announces the
stage."""
_STEP = 0.05  # share of the remaining percentage that each new line adds
_SHOWN_AS = {"select": "write", "lookup": "retrieve"}
"""Stages that the page does not name, and the stages under which it shows them."""
SideState = Literal["planned", "searching", "found", "searching again", "supported", "thin", "not_found"]


@dataclass
class SideProgress:
    """The progress of one side. passages: number of passages found for the side. sources: titles of some documents."""

    name: str
    statement: str
    state: SideState = "planned"
    passages: int = 0
    pages: int = 0
    sources: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)

    def update(self, event: RunEvent) -> None:
        data = event.data
        if event.kind == "searching":
            self.state = "searching" if self.state == "planned" else "searching again"
        elif event.kind == "found":
            self.state, self.passages, self.pages = "found", int(data["passages"]), int(data.get("pages", 0))
            self.sources = [str(title) for title in data.get("titles", ())]
        elif event.kind == "judged":
            self.state = data["status"]
        elif event.kind == "claim":
            claim = tr("Against it: {claim}", claim=data["text"]) if data.get("objection") else str(data["text"])
            if claim not in self.claims:  # a stage that is done again repeats its events
                self.claims.append(claim)


@dataclass
class RunProgress:
    """The progress of a run. reached: stages that have begun. running: the current stage. queued: the run waits."""

    neutral: str = ""
    queued: bool = False
    reached: list[str] = field(default_factory=list)
    running: str = ""
    sides: dict[str, SideProgress] = field(default_factory=dict)
    percent: float = 0.0
    _lines: set[str] = field(default_factory=set, repr=False)

    def step(self, event: RunEvent) -> tuple[float, str] | None:
        """Adds an event. Returns the percentage, which never falls, and a line; None for an event without news."""
        stage = str(event.data.get("stage", ""))
        self._update(event, stage)
        line = self._line(event, stage)
        if not line or line in self._lines:
            return None
        least = COMPLETE if event.kind == "done" else _STAGES[stage][0] if event.kind == "stage" else 0
        self._lines.add(line)
        self.percent = max(least, self.percent + (COMPLETE - self.percent) * _STEP)
        return round(self.percent, 2), line

    def _update(self, event: RunEvent, stage: str) -> None:
        self.queued = event.kind == "queued"
        if event.kind == "stage":
            self.running = _SHOWN_AS.get(stage, stage)
            if self.running not in self.reached:
                self.reached.append(self.running)
        elif event.kind in ("done", "failed", "cancelled", "waiting"):
            self.running = ""
        elif event.kind == "framed":
            self.neutral = str(event.data["neutral"])
        elif event.kind == "sides":
            self.sides = {s["id"]: SideProgress(s["name"], s.get("statement", "")) for s in event.data["sides"]}
        elif (side := self.sides.get(str(event.data.get("side")))) is not None:
            side.update(event)

    def _line(self, event: RunEvent, stage: str) -> str:
        data, side = event.data, self.sides.get(str(event.data.get("side")))
        name = side.name if side else tr("Answer")
        match event.kind:
            case "stage":
                return tr(_STAGES[stage][1]) if stage in _STAGES else ""
            case "queued":
                return tr("Waiting behind {questions}.", questions=count(data["ahead"], "question"))
            case "framed":
                return tr("Understood as: {question}", question=self.neutral)
            case "sides":
                return tr("Sides: {sides}", sides=" · ".join(side.name for side in self.sides.values()))
            case "found":
                return tr("{side}: {passages} found.", side=name, passages=count(data["passages"], "passage"))
            case "judged":
                return tr("{side}: {passages} to read closely.", side=name, passages=count(data["passages"], "passage"))
            case "claim":
                what = tr("against it") if data.get("objection") else tr("verified")
                return f"{name}, {what}: {data['text']}"
            case "done":
                return tr("Done.")
        return ""


def progress_of(events: Sequence[RunEvent]) -> RunProgress:
    progress = RunProgress()
    for event in events:
        progress.step(event)
    return progress
