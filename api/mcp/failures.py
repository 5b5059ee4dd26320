"""Failures as a model is told them: what is wrong, and what to do next with these tools."""

from collections.abc import Sequence

from api.problems import ProblemError, problem_of
from api.service import Service
from tools.errors import RunCancelledError, RunError, SteelmanError, UnknownRunError

INSIDE = "Something went wrong inside Steelman; whoever runs the server finds it in its log. Try once more."
_SHOWN = 30


def failure_text(exc: SteelmanError | ProblemError) -> str:
    """The failure in words."""
    if isinstance(exc, ProblemError):
        return exc.problem.detail
    if isinstance(exc, UnknownRunError):
        return "There is no such run of yours. The id of a run stands at the end of the answer that it gave."
    if isinstance(exc, RunCancelledError):
        return "The run was cancelled before it had an answer. Ask again if it is still wanted."
    if isinstance(exc, RunError):
        return f"{exc.remote_text} Ask again."
    return problem_of(exc).problem.detail


def unknown_collection(asked: Sequence[str], service: Service) -> ProblemError:
    """The refusal of a collection that there is not, with the names that there are. Reads the store."""
    names = [c.name for c in service.runs.store.collections()]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    missing = next((name for name in asked if name not in names), "")
    detail = (
        f"There is no collection '{missing}'. There are: {shown}. Leave `collections` out to search the usual ones."
    )
    return ProblemError(404, "unknown-collection", "No such collection", detail)
