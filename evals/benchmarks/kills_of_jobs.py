"""The real HTTP server killed while it stores uploads as jobs: every job that was confirmed is done without anybody
asking for it.

Uploads of texts and of tables are sent with `Prefer: respond-async`. At a random moment the server is killed (SIGKILL)
and another one is started over the same data. A job that three kills have met is waited for before more are sent: what
took five servers with it is left to a person, as it should be. At the end each confirmed job is done, each of its
documents is stored once and found, and the indexes are whole.
"""

import contextlib
import json
import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.benchmarks.kills_of_server import kill_served, served
from evals.benchmarks.stored import problems_of, text_of

_SERVER = ["-m", "api", "--port", "0"]
_COLLECTION = "uploads"
_A_LIFE, _DOCUMENTS = 3, 24  # jobs that are sent to one server, at most, and documents of each
_LATEST = 2.5  # seconds after which a server that is ready is killed
_MOST_MET = 3
_WAITED, _FIRST_READY = 120.0, 600.0  # seconds; the first server builds its models
_ASKED = 8


@dataclass
class JobsReport:
    """What was confirmed, and what does not hold of it."""

    violations: list[str] = field(default_factory=list)
    kills: int = 0
    slowest_ready: float = 0.0
    sent: dict[str, str] = field(default_factory=dict)
    """The text of each document that was sent."""
    confirmed: set[str] = field(default_factory=set)
    """Documents of jobs that were confirmed."""
    met: dict[str, int] = field(default_factory=dict)
    """By confirmed job that is not known to be done, the kills since."""
    jobs: int = 0

    @property
    def figures(self) -> dict[str, Any]:
        return {"kills": self.kills, "jobs": self.jobs, "slowest ready in s": round(self.slowest_ready, 1)}


def kill_at_jobs(kills: int, folder: Path, seed: int) -> JobsReport:
    """So many kills of one server's processes over the data in `folder`."""
    report, rng = JobsReport(), random.Random(seed)
    with served(_SERVER, folder, report, _FIRST_READY):
        pass
    report.slowest_ready = 0.0
    for _ in range(kills):
        with served(_SERVER, folder, report) as (address, process):
            _wait(address, report, [job for job, met in report.met.items() if met >= _MOST_MET])
            sending = threading.Thread(target=_send, args=(address, report, random.Random(rng.random())))
            sending.start()
            time.sleep(rng.uniform(0.0, _LATEST))
            kill_served(process, folder, report)
            sending.join()
        report.met = {job: met + 1 for job, met in report.met.items()}
    with served(_SERVER, folder, report) as (address, _):
        _wait(address, report, list(report.met))
    if report.confirmed:
        asked = rng.sample(sorted(report.confirmed), min(_ASKED, len(report.confirmed)))
        wanted = {name: [text] for name, text in report.sent.items()}
        unsure = report.sent.keys() - report.confirmed
        report.violations += problems_of(folder, _COLLECTION, wanted, asked, unsure)
    return report


def _send(address: str, report: JobsReport, rng: random.Random) -> None:
    """Uploads, one after the other, until there are enough of them or the server is gone."""
    import httpx

    with contextlib.suppress(httpx.HTTPError), httpx.Client(base_url=address, timeout=60) as client:
        for _ in range(_A_LIFE):
            names = [f"j{len(report.sent) + i}" for i in range(_DOCUMENTS)]
            texts = {name: text_of(name, 0) for name in names}
            report.sent |= texts
            where, sent = (
                ("files", _as_table(names[0], texts)) if rng.random() < 0.5 else ("documents", _as_texts(texts))
            )
            headers = {"Prefer": "respond-async"}
            reply = client.post(f"/v1/collections/{_COLLECTION}/{where}", headers=headers, **sent)
            if reply.status_code == 202:
                report.jobs += 1
                report.met[reply.json()["id"]] = 0
                report.confirmed |= texts.keys()
            else:
                report.violations.append(f"an upload: {reply.status_code} {reply.text[:200]}")
            time.sleep(rng.uniform(0.0, 0.5))


def _as_texts(texts: dict[str, str]) -> dict[str, Any]:
    return {"json": {"documents": [{"id": name, "text": text} for name, text in texts.items()]}}


def _as_table(name: str, texts: dict[str, str]) -> dict[str, Any]:
    rows = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    return {"files": [("files", (f"{name}.jsonl", rows.encode(), "application/jsonl"))]}


def _wait(address: str, report: JobsReport, jobs: Iterable[str]) -> None:
    """Asks until these jobs are done; one that is not in time, or has failed, is a violation and is not asked for
    again."""
    import httpx

    give_up = time.monotonic() + _WAITED
    with httpx.Client(base_url=address, timeout=60) as client:
        for job in jobs:
            state = client.get(f"/v1/jobs/{job}").json()
            while state.get("status") in ("queued", "running", "interrupted") and time.monotonic() < give_up:
                time.sleep(0.2)
                state = client.get(f"/v1/jobs/{job}").json()
            met = report.met.pop(job)
            if state.get("status") != "done":
                told = f"{state.get('status')} ({state.get('error')}) after {_WAITED:.0f} s"
                report.violations.append(f"job {job}, which met {met} kills, is {told}")
