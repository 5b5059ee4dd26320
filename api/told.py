"""Answers as callers are told them: notes that were written for a keyboard lose the commands they tell to run."""

from collections.abc import Sequence
from typing import TypeVar, cast

from agent.answer.model import Answer, Note
from agent.answer.retrieved import Retrieved
from api.problems import without_commands

_COMMAND = "`python -m "
Told = TypeVar("Told", bound=Answer | Retrieved)


def told(result: Told) -> Told:
    """The result with notes for a caller."""
    return cast(Told, result.model_copy(update={"notes": _notes(result.notes)}))


def told_json(answer: str) -> str:
    """An answer as it is stored, in JSON, with notes for a caller."""
    if _COMMAND not in answer:
        return answer
    return told(Answer.model_validate_json(answer)).model_dump_json()


def _notes(notes: Sequence[Note]) -> list[Note]:
    return [
        note.model_copy(update={"text": without_commands(note.text)}) if _COMMAND in note.text else note
        for note in notes
    ]
