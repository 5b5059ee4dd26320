"""Results for callers elsewhere: notes lose the hints that only help at the keyboard of the server's machine."""

from typing import TypeVar, cast

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.runs.store import RunRow
from tools.errors import without_hint

Result = TypeVar("Result", bound=Answer | Retrieved)


def without_hints(result: Result) -> Result:
    """The result with notes for a caller elsewhere."""
    notes = [
        n.model_copy(update={"text": without_hint(n.text, n.hint), "hint": ""}) if n.hint else n for n in result.notes
    ]
    return cast(Result, result.model_copy(update={"notes": notes}))


def stored_answer(row: RunRow) -> Answer | None:
    """The run's answer for a caller elsewhere; None where it has none."""
    return None if row.answer is None else without_hints(Answer.model_validate_json(row.answer))
