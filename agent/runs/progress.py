"""What a run does, in words for somebody who waits for its answer, and how far it is."""

from agent.runs.store import Event
from tools.language.words import count

WHOLE = 100.0
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

    def step(self, event: Event) -> tuple[float, str] | None:
        """How far the run is, in hundredths, and what has happened; None where there is nothing new to say."""
        words = self._words(event)
        if not words or words in self._told:
            return None
        at_least = WHOLE if event.kind == "done" else _STAGES[event.data["stage"]][0] if event.kind == "stage" else 0
        self._told.add(words)
        self._reached = max(at_least, self._reached + (WHOLE - self._reached) * _STEP)
        return round(self._reached, 2), words

    def _words(self, event: Event) -> str:
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
