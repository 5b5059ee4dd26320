"""What a run does, in words for somebody who waits for its answer."""

from agent.answer.render.markdown import escape
from agent.answer.render.words import plain
from agent.runs.store import Event
from tools.language.words import count


class ReasoningWords:
    """Remembers the sides' names and what was given: a stage that is done a second time gives nothing twice."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._given: set[str] = set()

    def words(self, event: Event) -> str:
        """A paragraph of Markdown, or nothing for an event that says little."""
        text = self._words(event)
        if not text or text in self._given:
            return ""
        self._given.add(text)
        return f"{escape(plain(text))}\n\n"

    def _words(self, event: Event) -> str:
        data = event.data
        if event.kind == "queued":
            return f"Waiting behind {count(data['ahead'], 'run')}."
        if event.kind == "framed":
            return f"Read as: {data['neutral']}"
        if event.kind == "sides":
            self._names = {s["id"]: s["name"] for s in data["sides"]}
            return "Sides: " + " · ".join(self._names.values())
        if event.kind == "judged":
            return f"{self._side(event)}: {count(data['passages'], 'passage')} in support."
        if event.kind == "claim":
            sure = "verified" if data.get("tier", "case") == "case" else "may speak for it"
            return f"{self._side(event)}, {sure}: {data['text']}"
        return ""

    def _side(self, event: Event) -> str:
        return self._names.get(event.data["side"], "Answer")
