"""Reads, cuts and encodes files on the workers of a Ray cluster (extra `ray`). The caller stores the result."""

import logging
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

from tools.budget import batches
from tools.disk import ROOT
from tools.documents.document import ColumnNames, InputFile
from tools.documents.ingest import IngestReport, Progress, passage_batches, prepare, read_all
from tools.documents.sandbox import ReaderLimits
from tools.errors import InputError, SettingsError, SteelmanError
from tools.models.encoders import Encoder
from tools.store.store import READERS_VERSION, KnownDocument, PreparedDocument

_FILES = 8  # files in one piece of work
_LANES = 2  # pieces of work that a worker has open, so that it works on one while the other's result is stored
_STARTS = 3  # attempts to start a cluster, which may take too long on a busy machine
_RETRIES = 5  # of a piece of work whose worker ended
_START_SECONDS, _CONNECT_SECONDS = 180.0, 10.0
_OBJECT_STORE_BYTES = 300 << 20  # of a Ray of this machine's own; larger results go to the disk
_ADDRESS = re.compile(r"auto|local|(?:ray://)?(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")
_KEPT = "What was stored is kept; run the same command again, and it goes on."


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


@dataclass(frozen=True, slots=True)
class _Work:
    """Files to read in one go, and the documents that are stored of them, by identity."""

    number: int
    files: Sequence[InputFile]
    known: dict[str, KnownDocument]
    columns: ColumnNames
    limits: ReaderLimits


class _Worker:
    """Runs in a process of the cluster."""

    def __init__(self, load: Callable[[], Encoder]) -> None:
        self._encoder = load()
        self._open: dict[tuple[int, int], Iterator[list[PreparedDocument] | IngestReport]] = {}

    def makes(self) -> tuple[str, int]:
        return self._encoder.name, READERS_VERSION

    def part(self, work: _Work, number: int) -> list[PreparedDocument] | IngestReport:
        """Returns the part of the work with this number, counted from 0: documents, at last the report. A worker that
        has ended and started again makes the parts before once more, so that none is lost or comes twice."""
        parts = self._open.pop((work.number, number), None) or islice(self._parts(work), number, None)
        found = next(parts)
        if not isinstance(found, IngestReport):
            self._open[work.number, number + 1] = parts
        return found

    def _parts(self, work: _Work) -> Iterator[list[PreparedDocument] | IngestReport]:
        report = IngestReport()
        documents = read_all(work.files, report, None, work.columns, work.limits)
        yield from passage_batches(prepare(documents, work.known, self._encoder, report))
        yield report


class RayCluster:
    """The workers of a cluster, one for each free processor."""

    def __init__(self, ray: Any, load: Callable[[], Encoder], encoder: str) -> None:
        """load: makes a worker's encoder; it is imported there. encoder: the name that it must have. Raises
        SteelmanError."""
        self._ray = ray
        options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": _RETRIES}
        made = ray.remote(**options)(_Worker)
        wanted = max(1, int(ray.available_resources().get("CPU", 0)))
        started = {(worker := made.remote(load)).makes.remote(): worker for _ in range(wanted)}
        ready, _ = ray.wait(list(started), num_returns=wanted, timeout=_START_SECONDS)
        if not ready:
            raise SteelmanError("no worker of the Ray cluster has started. Are all its processors in use? Try later.")
        self._workers = [started[each] for each in ready]
        if wrong := {each for each in ray.get(ready) if each != (encoder, READERS_VERSION)}:
            raise SteelmanError(
                f"the cluster's workers have another encoder or other parsers ({wrong}, here "
                f"{(encoder, READERS_VERSION)}). Install the same version of Steelman on all machines."
            )

    def prepare(
        self,
        files: Sequence[InputFile],
        known: dict[str, KnownDocument],
        report: IngestReport,
        progress: Progress,
        columns: ColumnNames,
        limits: ReaderLimits,
    ) -> Iterator[PreparedDocument]:
        """Yields the documents as they come, in no order. The report gets what the workers found, in the order of the
        files. known: the stored documents by identity."""
        report.files += len(files)
        reports: dict[int, IngestReport] = {}
        works = self._works(files, known, columns, limits)
        running: dict[Any, tuple[Any, Any, int, int]] = {}

        def begin(worker: Any) -> None:
            if work := next(works, None):
                ask(worker, self._ray.put(work), work.number, 0)

        def ask(worker: Any, work: Any, number: int, part: int) -> None:
            running[worker.part.remote(work, part)] = worker, work, number, part

        for worker in self._workers * _LANES:
            begin(worker)
        while running:
            (done,), _ = self._ray.wait(list(running))
            worker, work, number, part = running.pop(done)
            found = self._ray.get(done)
            if not isinstance(found, IngestReport):
                ask(worker, work, number, part + 1)
                yield from found
                continue
            begin(worker)
            reports[number] = found
            report.begun, report.reading = report.begun + found.begun, found.reading
            progress(report)
        for _, each in sorted(reports.items()):
            report.add(each)

    @staticmethod
    def _works(
        files: Sequence[InputFile], known: dict[str, KnownDocument], columns: ColumnNames, limits: ReaderLimits
    ) -> Iterator[_Work]:
        of: dict[str, dict[str, KnownDocument]] = {}
        for identity, document in known.items():
            of.setdefault(document.origin, {})[identity] = document
        for number, few in enumerate(batches(files, _FILES)):
            stored = {identity: each for file in few for identity, each in of.get(file.origin, {}).items()}
            absolute = [replace(file, path=file.path.absolute()) for file in few]
            yield _Work(number, absolute, stored, columns, limits)


@contextmanager
def ray_cluster(address: str, load: Callable[[], Encoder], encoder: str) -> Iterator[RayCluster]:
    """Connects to a cluster, or starts one in this machine with the address `local`, and leaves or ends it afterwards.
    See `check_ray`, and `RayCluster` for load and encoder. Raises InputError if there is no cluster, and SteelmanError
    if the cluster or a worker fails."""
    with ExitStack() as undo:
        own = _own_cluster(undo) if address == "local" else {}
        import ray
        from ray.exceptions import RayError, RayTaskError

        undo.callback(ray.shutdown)
        _connect(ray, address, own)
        try:
            yield RayCluster(ray, load, encoder)
        except RayTaskError as exc:
            if isinstance(exc.cause, SteelmanError):
                raise exc.cause from exc
            raise SteelmanError(f"a worker of the Ray cluster failed ({exc.cause!r}). {_KEPT}") from exc
        except (RayError, ConnectionError) as exc:
            raise SteelmanError(f"the Ray cluster's workers ended ({_end(exc)}). {_KEPT}") from exc


def _connect(ray: Any, address: str, options: dict[str, Any]) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    found = {"runtime_env": {"env_vars": {"PYTHONPATH": str(ROOT)}}}
    for left in reversed(range(_STARTS if options else 1)):
        try:
            with chdir(ROOT):  # Ray puts the current folder on the workers' module path
                ray.init(address, **options, **quiet, **found)
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
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on Linux, too, this makes Ray listen on 127.0.0.1 alone
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    # Paths of sockets may have 107 characters, so that TMPDIR may be too long.
    folder = undo.enter_context(TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    options = {"num_cpus": processors, "object_store_memory": _OBJECT_STORE_BYTES, "include_dashboard": False}
    return {**options, "_temp_dir": folder}
