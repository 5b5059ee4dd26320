"""The server itself: whether it lives and can work, its figures, and its calls as a page."""

import asyncio

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import HTMLResponse, JSONResponse, Response

from api.guard.outside import address_of, link
from api.problems import ProblemError, problem_of, responses
from api.reference.page import ReferencePage
from api.schemas import Health
from api.service import TheService
from tools.errors import SteelmanError

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=Health)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Health, responses=responses(503))
async def readyz(request: Request, service: TheService) -> Health:
    """The store can be read, so that questions can be answered; whether its indexes are whole."""
    try:
        await asyncio.to_thread(service.runs.store.encoders)
        notes = await asyncio.to_thread(service.runs.providers.search.condition)
    except SteelmanError as exc:
        if not request.state.foreign:
            raise
        told = problem_of(exc)
        detail = "Ask by a name of the server's own for the reason."
        raise ProblemError(told.problem.status, "not-ready", "Not ready", detail, headers=told.headers) from exc
    return Health(status="degraded" if notes else "ready", notes=[] if request.state.foreign else notes)


@router.get(
    "/metrics",
    response_model=None,
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Requests, runs and this process in Prometheus' text format."""
    return Response(request.app.state.metrics.text(), media_type=CONTENT_TYPE_LATEST)


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> JSONResponse:
    """The calls for programs; where a proxy stands before the server, with the address to call."""
    document = request.app.openapi()
    return JSONResponse({**document, "servers": [{"url": link("")}]} if link("") else document)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Whoever reaches the server may read how it is called; a call that needs a key needs it on the page too."""
    state = request.app.state
    if not hasattr(state, "reference"):
        state.reference = ReferencePage(request.app.openapi())
    page: ReferencePage = state.reference
    return HTMLResponse(page.html(address_of(request)), headers=page.headers)
