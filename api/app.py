"""The application: routes, problems and what guards them, over one service.

request ─▶ guard (api/guard/) ─▶ routes (api/routes/) ─▶ service ─▶ the agent's service (agent/runs/service.py)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

from agent.settings import Settings
from api.completions.problems import OpenAIProblems
from api.guard.guard import Guard
from api.guard.outside import Outside
from api.handlers import add_handlers
from api.mcp import mounted
from api.observing.metrics import Metrics
from api.openapi import openapi_of
from api.problems import responses
from api.routes import asking, completions, documents, jobs, judging, runs, server
from api.service import OpenRuns, open_service
from tools.memory import given_back

_ABOUT = "Every side's strongest sourced case for a contentious question. Failures are problem documents (RFC 9457)."


def create_app(settings: Settings, opening: OpenRuns | None = None) -> FastAPI:
    """The application; the agent is opened when it starts. `opening`: another way to open it."""

    figures = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with given_back(), open_service(settings, opening) as service, app.state.mcp.run():
            app.state.service = service
            service.on_end = figures.run_ended
            figures.watch_runs(lambda: len(service.runs.at_work), settings.api_runs)
            service.jobs.on_end = figures.job_ended
            figures.watch_jobs(lambda: len(service.jobs))
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
        responses=responses(401, 403, 429, 500),
    )
    app.state.metrics = figures
    for family in (asking, runs, judging, documents, jobs, completions, server):
        for router in (getattr(family, "listing", None), family.router):
            if router:
                app.include_router(router)
    app.state.mcp = mounted.mount(app, settings)
    app.mount(server.ASSETS, server.assets())
    app.openapi = partial(openapi_of, app)  # type: ignore[method-assign]  # as its documentation says
    _guard(app, settings, figures)
    return app


def _guard(app: FastAPI, settings: Settings, figures: Metrics) -> None:
    app.add_middleware(Guard, settings=settings, metrics=figures)
    app.add_middleware(OpenAIProblems)  # the outer one, since the guard's problems are told so too
    app.add_middleware(Outside, settings=settings)  # the outermost: all others see the path as it is here
    add_handlers(app)
