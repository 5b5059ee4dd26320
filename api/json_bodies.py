"""Bodies are JSON as RFC 8259 has it: in UTF-8, and without the NaN and Infinity that Python's own reader takes."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Raises ValueError for what is no JSON."""
        if not hasattr(self, "_json"):
            self._json = json.loads((await self.body()).decode("utf-8-sig"), parse_constant=_no_number)
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # as FastAPI shows
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive, request._send))

        return strictly


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
