"""The application: routes, problems and what guards them, over one service.

request ─▶ guard (api/guard.py) ─▶ routes (api/routes/) ─▶ service ─▶ the agent's service (agent/runs/service.py)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from agent.settings import Settings
from api.guard import Guard
from api.mcp.server import mount
from api.observing import Metrics
from api.outside import Outside
from api.problems import RESPONSES, add_handlers
from api.routes import completions, documents, runs, server
from api.service import OpenRuns, Service, open_service
from tools.memory import regular_trims

_ABOUT = "Every side's strongest sourced case for a contentious question. Failures are problem documents (RFC 9457)."


def create_app(settings: Settings, opening: OpenRuns | None = None) -> FastAPI:
    """The application; the agent is opened when it starts. `opening`: another way to open it."""
    figures = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with regular_trims(), open_service(settings, opening) as service, app.state.mcp.run():
            app.state.service = service
            _watch(service, figures)
            yield

    app = FastAPI(
        title="Steelman",
        version="1.0",
        description=_ABOUT,
        lifespan=lifespan,
        telemetry={"logs": False, "metrics": False},  # a log record would hold the text of an error
        openapi_url=None,  # the route is in api/routes/server.py
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        responses=RESPONSES,
    )
    app.state.metrics = figures
    for router in (runs.questions, runs.router, documents.router, documents.jobs, completions.router, server.router):
        app.include_router(router)
    app.state.mcp = mount(app, settings)
    app.mount(server.ASSETS, server.assets())
    app.add_middleware(Guard, settings=settings, metrics=figures)
    app.add_middleware(Outside, settings=settings)  # the outermost: all others see the path as it is here
    add_handlers(app)
    return app


def _watch(service: Service, figures: Metrics) -> None:
    most = service.settings.api_runs
    service.runs.executor.on_end = lambda outcome: figures.runs_ended.labels(outcome).inc()
    service.jobs.on_end = lambda status: figures.jobs_ended.labels(status).inc()
    figures.working.set_function(lambda: min(len(service.runs.at_work), most))
    figures.waiting.set_function(lambda: max(len(service.runs.at_work) - most, 0))
    figures.jobs.set_function(lambda: len(service.jobs))
