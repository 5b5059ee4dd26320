"""What the tools take: the bounds of the calls over HTTP, described for the model that fills them in."""

import contextlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from agent.options import Depth
from agent.question import LONGEST
from api.patterns import AnyCollection, Domain
from api.problems import ProblemError
from api.schemas import RetrieveRequest

_Thread = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{12})?$")]
_Input = TypeVar("_Input", bound=BaseModel)


def _unquoted(value: object) -> object:
    """A list that a model has sent as the JSON of a list, as some do."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(value) if isinstance(value, str) else value
    return value


_Unquoted = BeforeValidator(_unquoted)


class QuestionInput(BaseModel):
    """A question, and where and how to look."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    question: str = Field(
        min_length=1,
        max_length=LONGEST,
        description="The question in English as one sentence, such as 'Should schools ban smartphones?'. A statement "
        "works too. Ask about one thing at a time, and leave your own opinion out of it.",
    )
    depth: Depth = Field(
        default="normal",
        description="'quick' for a first look (seconds), 'normal' for most questions (up to a minute), 'deep' where "
        "the user wants thoroughness (up to three minutes).",
    )
    collections: Annotated[list[AnyCollection], _Unquoted] = Field(
        default=[],
        max_length=100,
        description="Names of document collections to search. Leave it out unless the user named some: then the "
        "server's usual ones are searched. A wrong name is refused with the names that exist.",
    )
    web: bool = Field(
        default=True, description="False where nothing may leave the machine; the live web is not searched then."
    )
    domains: Annotated[list[Domain], _Unquoted] = Field(
        default=[], max_length=100, description="Search the web on these domains only, such as ['gov.uk']."
    )
    thread: _Thread = Field(
        default="",
        description="For a follow-up such as 'What about the cost?' or 'strongest counter-argument to 2?': the run id "
        "that stands at the end of the earlier answer.",
    )
    deadline_seconds: float = Field(
        default=0, ge=0, le=3600, description="The answer comes from what was found by then; 0 is what the depth takes."
    )

    @field_validator("deadline_seconds")
    @classmethod
    def _enough(cls, value: float) -> float:
        if 0 < value < 1:
            raise ValueError("give 1 second or more, or 0 for what the depth takes")
        return value

    def request(self) -> RetrieveRequest:
        """The same as the calls over HTTP take it: nothing in place of an empty value."""
        given = {name: value for name, value in self.model_dump().items() if value not in ([], "", 0) or value is False}
        return RetrieveRequest.model_validate(given)


def read(model: type[_Input], arguments: Mapping[str, Any]) -> _Input:
    """The arguments as the model has them; null is as good as left out. Raises ProblemError that names the fields."""
    try:
        return model.model_validate({name: value for name, value in arguments.items() if value is not None})
    except ValidationError as exc:
        wrong = [f"{'.'.join(map(str, e['loc']))}: {str(e['msg']).removeprefix('Value error, ')}" for e in exc.errors()]
        detail = f"{'; '.join(wrong[:5])}. The arguments are: {', '.join(model.model_fields)}."
        raise ProblemError(422, "invalid-request", "The arguments are not as they should be", detail) from exc
