"""`python -m api worker`: executes the runs and large uploads that the API and the page leave to workers."""

import asyncio
import signal

from prometheus_client import CollectorRegistry, start_http_server

from agent.runs.jobs import Jobs
from agent.runs.service import Runs, open_runs
from agent.settings import Settings
from api.observing import SERVER, configure, log_loop_error, observe_runs
from tools.documents.sandbox import stop_readers
from tools.errors import InputError, SteelmanError
from tools.memory import regular_trims, use_few_heaps
from tools.store.notices import ANYTHING

_PAUSE_SECONDS = 1.0


def work(settings: Settings, port: int | None) -> int:
    """Works until a signal. port: serves metrics there. Raises InputError without STEELMAN_WORKERS or if the port is in
    use, and SteelmanError if the agent cannot be opened."""
    if not settings.workers:
        raise InputError(
            "STEELMAN_WORKERS is not set, so the API and the page execute all questions themselves. Set it to true for "
            "them and for the workers."
        )
    use_few_heaps()
    configure(settings)
    asyncio.run(_work(settings, port))
    return 0


async def _work(settings: Settings, port: int | None) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(log_loop_error)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    opened = open_runs(settings, max_concurrent=settings.api_runs, warm=True, role="worker")
    async with regular_trims(), opened as runs:
        jobs, registry = Jobs(runs), CollectorRegistry()
        observe_runs(registry, runs, jobs)
        if port is not None:
            _serve_metrics(registry, settings.api_host, port)
        SERVER.info("A worker is ready (Ctrl-C stops it).")
        taking, stopping = asyncio.create_task(take_runs(runs)), asyncio.create_task(stopped.wait())
        async with jobs.running():
            await asyncio.wait([taking, stopping], return_when=asyncio.FIRST_COMPLETED)
            taking.cancel()
        await runs.executor.suspend()
    stop_readers()
    if not stopped.is_set():
        taking.result()  # a mistake ended it


async def take_runs(runs: Runs) -> None:
    """Executes waiting runs, as many at once as the settings allow, until it is cancelled."""
    while True:
        change, took = runs.notices.expect(ANYTHING), False
        if len(runs.executor.tasks) < runs.settings.api_runs:
            try:
                took = await runs.take()
            except SteelmanError as exc:  # such as a stopped database
                SERVER.warning("no run could be taken: %s", type(exc).__name__)
                await asyncio.sleep(_PAUSE_SECONDS)
        if not took:
            await runs.notices.wait(change)


def _serve_metrics(registry: CollectorRegistry, host: str, port: int) -> None:
    try:
        server, _ = start_http_server(port, host, registry)  # its thread ends with the process
    except OSError as exc:
        raise InputError(f"metrics cannot be served on {host}:{port} ({exc.strerror}). Name another port.") from exc
    SERVER.info("Metrics are on http://%s:%s/metrics", host, server.server_port)
