"""A run's events as progress: how far it is, and in words what it does."""

from agent.runs.store import Event

_REACHED = {
    "frame": 2,
    "expand": 8,
    "search": 20,
    "again": 30,
    "judge": 45,
    "lookup": 60,
    "select": 75,
    "write": 80,
    "verify": 90,
}
"""About how many hundredths of the way are behind a run that begins a stage."""
_DOING = {
    "frame": "reading the question",
    "expand": "planning the sides",
    "lookup": "looking up what the sources say",
    "search": "searching for each side",
    "again": "searching again for sides that are not covered",
    "select": "choosing passages",
    "write": "writing",
    "verify": "checking every citation",
}
WHOLE = 100.0
_STEP = 0.05  # of what is left: a step that ends no stage shows, and never reaches the end
FIRST_STEP = WHOLE * _STEP
"""What the first event of a run tells at least."""


class Steps:
    """What to tell of a run, event by event. Progress only ever grows, also when the run searches a second time."""

    def __init__(self) -> None:
        self._reached = 0.0
        self._last = ""
        self._names: dict[str, str] = {}
        self._found: dict[str, int] = {}

    def step(self, event: Event) -> tuple[float, str] | None:
        """How far the run is and what it does; None where there is nothing new to say."""
        words = self._words(event)
        if not words or words == self._last:
            return None
        self._last = words
        stage = str(event.data.get("stage", "")) if event.kind == "stage" else ""
        at_least = WHOLE if event.kind == "done" else float(_REACHED.get(stage, 0))
        self._reached = max(at_least, self._reached + (WHOLE - self._reached) * _STEP)
        return round(self._reached, 2), words

    def _words(self, event: Event) -> str:
        data = event.data
        if event.kind == "stage":
            passages = sum(self._found.values())
            return f"judging {passages} passages" if data["stage"] == "judge" else _DOING.get(data["stage"], "")
        if event.kind == "queued":
            return f"waiting its turn, {data['ahead']} ahead"
        if event.kind == "sides":
            self._names = {s["id"]: s["name"] for s in data["sides"]}
            return f"{len(self._names)} sides: {' · '.join(self._names.values())}"
        if event.kind == "found":
            self._found[data["side"]] = data["passages"]
            return ""
        return self._result(event)

    def _result(self, event: Event) -> str:
        """What came of a stage."""
        data = event.data
        if event.kind == "judged":
            name = self._names.get(data["side"], data["side"])
            return f"{name}: {data['passages']} supporting passages from {data['sources']} sources"
        if event.kind == "written":
            return f"{data['claims']} claims to check"
        if event.kind == "verified":
            return f"{data['held'] + data['repaired']} claims hold, {data['dropped']} dropped"
        return "done" if event.kind == "done" else ""
