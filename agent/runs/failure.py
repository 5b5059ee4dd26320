"""How a run failed, as its last event keeps it: the kind of error, its text, and the hint in that text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools import errors
from tools.errors import RunError, SteelmanError


class RunCrashedError(RunError):
    """A mistake of Steelman's own ended the run. `kind` is the exception's class; its words are for this machine only,
    since they may quote anything."""

    def __init__(self, message: str, *, hint: str, kind: str) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind

    @property
    def remote_text(self) -> str:
        return f"Something went wrong inside Steelman ({self.kind})."


@dataclass(frozen=True, slots=True)
class RunFailure:
    """`kind` is the class of what was raised, `hint` the part of `error` that only helps at this machine's keyboard."""

    kind: str
    error: str
    hint: str = ""

    @classmethod
    def of(cls, exc: BaseException, run_id: str) -> "RunFailure":
        """The failure that ended the run."""
        kind = type(exc).__name__
        if isinstance(exc, SteelmanError):
            return cls(kind, str(exc), exc.hint)
        hint = f"Go on with `{resume_command(run_id)}`."
        return cls(kind, f"something went wrong inside Steelman ({kind}: {exc}). {hint}", hint)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "RunFailure":
        """As an event keeps it."""
        return cls(data["kind"], data["error"], data.get("hint", ""))

    @property
    def data(self) -> dict[str, Any]:
        """As the event keeps it."""
        return {"error": self.error, "kind": self.kind} | ({"hint": self.hint} if self.hint else {})

    def cause(self) -> SteelmanError:
        """The error itself; of an exception that is none of Steelman's a RunCrashedError."""
        found = getattr(errors, self.kind, None)
        if isinstance(found, type) and issubclass(found, SteelmanError):
            return found(self.error, hint=self.hint)
        return RunCrashedError(self.error, hint=self.hint, kind=self.kind)

    def run_error(self) -> RunError:
        """The failure as it is raised to somebody who waits for the run's answer."""
        cause = self.cause()
        if isinstance(cause, RunCrashedError):
            return cause
        return RunError(self.error, hint=self.hint)

    @property
    def remote_text(self) -> str:
        """The text for a caller elsewhere."""
        return self.cause().remote_text


def resume_command(run_id: str) -> str:
    """What to type to go on with the run."""
    return f"python -m agent ask --resume {run_id}"
