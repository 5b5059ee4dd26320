"""Health, metrics, and the description of the calls."""

import asyncio
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import HTMLResponse, JSONResponse, Response

from api.guard import OPEN
from api.problems import Problem, ProblemError, link
from api.schemas import Health
from api.service import TheService
from tools.errors import SteelmanError

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=Health)
async def healthz() -> Health:
    """The process responds."""
    return Health(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Health)
async def readyz(service: TheService) -> Health:
    """The server can answer questions. `degraded`: it answers with a part of the stored documents."""
    try:
        await asyncio.to_thread(service.runs.store.encoders)
        notes = await asyncio.to_thread(service.runs.providers.search.condition)
    except SteelmanError as exc:  # any host name may ask, so the reason stays here
        detail = "`python -m agent doctor` on the server's machine gives the reason."
        raise ProblemError(503, "not-ready", detail, headers={"Retry-After": "5"}) from exc
    return Health(status="degraded" if notes else "ready")


@router.get(
    "/metrics",
    response_model=None,
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Metrics of requests, runs, jobs and the process in Prometheus' text format."""
    text = await asyncio.to_thread(generate_latest, request.app.state.metrics.registry)  # some metrics ask the database
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> JSONResponse:
    """The OpenAPI document, with the public address if one is set."""
    document = request.app.openapi_schema or _openapi_document(request.app)
    return JSONResponse({**document, "servers": [{"url": link("")}]} if link("") else document)


def _openapi_document(app: FastAPI) -> dict[str, Any]:
    """Adds problem documents and bearer keys to FastAPI's document, once."""
    document = app.openapi()
    components = document.setdefault("components", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components.setdefault("schemas", {}).update({**problem.pop("$defs", {}), "Problem": problem})
    about = "The key that `python -m api keys make` printed. Needed as soon as one was made."
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": about}}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["security"] = [] if path in OPEN else [{"key": []}, {}]
    return document


@router.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    """Swagger UI for /openapi.json. Calls from the page need a key too."""
    page = get_swagger_ui_html(
        openapi_url=link("/openapi.json"),
        title="Steelman: the calls",
        swagger_js_url=link(f"{ASSETS}/swagger-ui-bundle.js"),
        swagger_css_url=link(f"{ASSETS}/swagger-ui.css"),
        swagger_favicon_url="data:,",
        swagger_ui_parameters={"validatorUrl": None},  # otherwise the page sends the document to an external validator
    )
    page.headers.update(_PAGE_HEADERS)
    return page


ASSETS = "/docs/assets"
_HERE = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
_PAGE_HEADERS = {
    "Content-Security-Policy": f"{_HERE}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
