"""Reads, cuts and encodes files on the workers of a Ray cluster (extra `ray`). The caller stores the result."""

import logging
import os
import re
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

from tools.budget import batches
from tools.disk import ROOT
from tools.documents.document import InputFile
from tools.documents.ingest import IngestReport, Progress, passage_batches, prepare, read_all
from tools.errors import InputError, SettingsError, SteelmanError
from tools.models.encoders import Encoder
from tools.store.store import READERS_VERSION, KnownDocument, PreparedDocument

_FILES = 8  # files in one piece of work
_LANES = 2  # pieces of work that a worker has open, so that it works on one while the other's result is stored
_RETRIES = 5  # of a request whose worker ended
_STARTS = 3  # attempts to start a cluster, which may take too long on a busy machine
_START_SECONDS, _CONNECT_SECONDS = 180.0, 10.0
_OBJECT_STORE_BYTES = 300 << 20  # of a cluster of this command's own; larger results go to the disk
_ADDRESS = re.compile(r"auto|local|(?:ray://)?(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")
_KEPT = "Stored documents are kept. Run the same command again to continue."

_INTERRUPTED = threading.Event()  # set by Ctrl-C, because a library may swallow the exception

Known = dict[str, KnownDocument]  # by identity


def check_ray(address: str) -> None:
    """Raises InputError for a malformed address or an address without a listener, SettingsError without the extra."""
    if not (found := _ADDRESS.fullmatch(address)):
        raise InputError(f"--ray is auto, local, HOST:PORT or ray://HOST:PORT, unlike '{address}'.")
    if find_spec("ray") is None:
        raise SettingsError("--ray needs the extra 'ray'. Install it: `.venv/bin/pip install 'ray[client]>=2.60'`.")
    if found[1]:  # Ray itself would try for minutes
        try:
            socket.create_connection((found[1].strip("[]"), int(found[2])), _CONNECT_SECONDS).close()
        except (OSError, OverflowError) as exc:
            raise InputError(f"no Ray cluster answers at {address} ({exc}). Check host and port.") from exc


class Worker:
    """Runs in a process of the cluster. load: makes the encoder. reading: columns and limits for `read_all`."""

    def __init__(self, load: Callable[[], Encoder], *reading: Any) -> None:
        self._encoder, self._reading = load(), reading
        self._open: dict[tuple[int, int], Iterator[list[PreparedDocument] | IngestReport]] = {}

    def makes(self) -> tuple[str, int]:
        return self._encoder.name, READERS_VERSION

    def part(self, work: int, files: Sequence[InputFile], known: Known, part: int) -> Any:
        """Returns a part of the work, counted from 0: a list of PreparedDocument, at last the IngestReport. A restarted
        worker makes the earlier parts again and drops them. So no part is lost or comes twice."""
        parts = self._open.pop((work, part), None) or islice(
            _parts(self._encoder, self._reading, files, dict(known)), part, None
        )
        found = next(parts)
        if not isinstance(found, IngestReport):
            self._open[work, part + 1] = parts
        return found


def _parts(
    encoder: Encoder, reading: Sequence[Any], files: Sequence[InputFile], known: Known
) -> Iterator[list[PreparedDocument] | IngestReport]:
    report = IngestReport()
    documents = read_all(files, report, None, *reading)
    yield from passage_batches(prepare(documents, known, encoder, report))
    yield report


def prepare_on(
    ray: Any, workers: Sequence[Any], files: Sequence[InputFile], known: Known, report: IngestReport, progress: Progress
) -> Iterator[PreparedDocument]:
    """Yields the documents as they come, in no order. The report gets what the workers found, in the order of the
    files. workers: of `ray_workers`. known: the stored documents."""
    report.files += len(files)
    reports: dict[int, IngestReport] = {}
    running: dict[Any, tuple[Any, int, tuple[Any, ...], int]] = {}
    works = enumerate(_works(files, known))

    def ask(worker: Any, number: int, work: tuple[Any, ...], part: int = 0) -> None:
        running[worker.part.remote(number, *work, part)] = worker, number, work, part

    for (number, work), worker in zip(islice(works, _LANES * len(workers)), [*workers] * _LANES, strict=False):
        ask(worker, number, tuple(map(ray.put, work)))
    while running:
        (done,), _ = ray.wait(list(running))
        if _INTERRUPTED.is_set():
            raise KeyboardInterrupt
        worker, number, work, part = running.pop(done)
        if not isinstance(found := ray.get(done), IngestReport):
            ask(worker, number, work, part + 1)
            yield from found
            continue
        for following, begun in islice(works, 1):
            ask(worker, following, tuple(map(ray.put, begun)))
        reports[number] = found
        report.begun, report.reading = report.begun + found.begun, found.reading
        progress(report)
    for _, each in sorted(reports.items()):
        report.add(each)


def _works(files: Sequence[InputFile], known: Known) -> Iterator[tuple[list[InputFile], Known]]:
    """Yields pieces of work: up to eight files, with the stored documents of these files."""
    of: dict[str, Known] = {}
    for identity, document in known.items():
        of.setdefault(document.origin, {})[identity] = document
    for few in batches(files, _FILES):
        stored = {identity: each for file in few for identity, each in of.get(file.origin, {}).items()}
        yield [replace(file, path=file.path.absolute()) for file in few], stored


@contextmanager
def ray_workers(address: str, encoder: str, *made_of: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yields Ray's module and a `Worker` for each free processor of the cluster. The address `local` starts a cluster
    that ends afterwards. encoder: the name that the workers' encoder must have. made_of: the arguments of `Worker`.
    Raises InputError if there is no cluster, and SteelmanError if the cluster or a worker fails."""
    with ExitStack() as undo:
        _INTERRUPTED.clear()
        options = _own_cluster(undo) if address == "local" else {}
        import ray
        from ray.exceptions import RayError, RayTaskError

        undo.callback(ray.shutdown)
        _connect(ray, address, options)
        undo.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, _interrupt))
        try:
            yield ray, _start(ray, encoder, made_of)
        except RayTaskError as exc:
            if isinstance(exc.cause, SteelmanError):
                raise exc.cause from exc
            raise SteelmanError(f"a worker of the Ray cluster failed ({exc.cause!r}). {_KEPT}") from exc
        except (RayError, ConnectionError) as exc:
            raise SteelmanError(f"the Ray cluster's workers ended ({_end(exc)}). {_KEPT}") from exc


def _interrupt(*_: object) -> None:
    _INTERRUPTED.set()
    raise KeyboardInterrupt


def _start(ray: Any, encoder: str, made_of: Sequence[Any]) -> list[Any]:
    made = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_RETRIES)(Worker)
    workers = [made.remote(*made_of) for _ in range(max(1, int(ray.available_resources().get("CPU", 0))))]
    started = {worker.makes.remote(): worker for worker in workers}
    ready, _ = ray.wait(list(started), num_returns=len(workers), timeout=_START_SECONDS)
    if not ready:
        raise SteelmanError("no worker of the Ray cluster has started. Are all its processors in use? Try later.")
    if wrong := set(ray.get(ready)) - {(encoder, READERS_VERSION)}:
        raise SteelmanError(
            f"the cluster's workers have another encoder or other parsers ({wrong}, here {encoder, READERS_VERSION}). "
            "Install the same version of Steelman on all machines."
        )
    return [started[each] for each in ready]


def _connect(ray: Any, address: str, options: dict[str, Any]) -> None:
    found = {"runtime_env": {"env_vars": {"PYTHONPATH": str(ROOT)}}}
    for left in reversed(range(_STARTS if options else 1)):
        try:
            with chdir(ROOT):  # Ray puts the current folder on the workers' module path
                ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **options, **found)
            return
        except Exception as exc:  # Ray raises it as such where its processes take over 30 seconds to start
            ray.shutdown()
            if not left:
                raise InputError(f"no Ray cluster can be used at '{address}' ({_end(exc)}).") from exc


def _end(exc: Exception) -> str:
    """Returns the last line of Ray's message, which names the cause."""
    return str(exc).strip().rpartition("\n")[2].strip()[:300].rstrip(".")


def _own_cluster(undo: ExitStack) -> dict[str, Any]:
    """Returns options of `ray.init` for a cluster that only this process uses. It listens on 127.0.0.1, wants a token,
    sends no usage statistics and keeps its files in a private folder."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on Linux, too, Ray then listens on 127.0.0.1 alone
    # The path of a socket may have 107 characters. TMPDIR may be too long for that.
    folder = undo.enter_context(TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    options = {"num_cpus": processors, "object_store_memory": _OBJECT_STORE_BYTES, "include_dashboard": False}
    return {**options, "_temp_dir": folder}
