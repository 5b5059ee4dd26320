"""Bodies are JSON as RFC 8259 has it: in UTF-8, and without the NaN and Infinity that Python's own reader takes.

Long lists in them are validated a part at a time, in a thread: pydantic holds the interpreter's lock from the first to
the last element, in which time nobody else would be answered.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, NoReturn, get_args, get_origin

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.responses import Response

from tools.inference.batching import parts

_LONG = 500
"""Elements of a list that are validated together: some milliseconds."""


class _StrictRequest(Request):
    async def json(self) -> Any:
        """What the body holds, the elements of long lists as the models that the route names for them where they are
        such. Raises ValueError for what is no JSON."""
        if not hasattr(self, "_json"):
            body = json.loads((await self.body()).decode("utf-8-sig"), parse_constant=_no_number)
            field = self.scope["route"].body_field
            for name, elements in _lists_of(field.field_info.annotation).items():
                if isinstance(body, dict) and isinstance(given := body.get(name), list) and len(given) > _LONG:
                    body[name] = await asyncio.to_thread(_validated, given, elements)
            self._json = body
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # as FastAPI shows
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive, request._send))

        return strictly


@cache
def _lists_of(model: Any) -> dict[str, TypeAdapter[list[BaseModel]]]:
    """The fields of a model that are lists of models, and what validates such a list."""
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return {}
    lists = {
        name: list(get_args(f.annotation)) for name, f in model.model_fields.items() if get_origin(f.annotation) is list
    }
    models = {name: of[0] for name, of in lists.items() if isinstance(of[0], type) and issubclass(of[0], BaseModel)}
    return {name: TypeAdapter(list[of]) for name, of in models.items()}  # type: ignore[valid-type]  # made here


def _validated(given: list[Any], elements: TypeAdapter[list[BaseModel]]) -> list[Any]:
    """The elements as models, which are not validated again; from the first part on that is not as it should be, this
    part alone as it was sent, so that the route's own validation tells what is wrong, and where."""
    made: list[Any] = []
    for part in parts(given, _LONG):
        try:
            made += elements.validate_python(part)
        except ValidationError:
            return [*made, *part]
    return made


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
