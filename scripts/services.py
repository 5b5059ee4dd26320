"""Reads compose.yaml and returns each service as a command of this machine, on 127.0.0.1."""

import contextlib
import http.client
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from dotenv import dotenv_values

ROOT = Path(__file__).resolve().parents[1]
_LOCAL = {  # image: the local command, and its probe: an HTTP path, a command, or empty for a connection
    "postgres": (
        "postgres -D {place}/data -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=",
        "pg_isready -h 127.0.0.1 -p {port}",
    ),
    "chroma": ("chroma run --path {place} --host 127.0.0.1 --port {port}", "/api/v2/heartbeat"),
    "caddy": ("caddy run --adapter caddyfile --config {root}/docker/Caddyfile", ""),
    "prometheus": (
        "prometheus --config.file={place}/prometheus.yml --storage.tsdb.path={place}/data "
        "--web.listen-address=127.0.0.1:{port}",
        "/-/ready",
    ),
    "steelman-api": ("python -m api", "/healthz"),
    "steelman-ui": ("python -m ui", "/_stcore/health"),
}
_POSTGRES = Path("/usr/lib/postgresql")
_ALL_ADDRESSES = ("0.0.0.0", "127.0.0.1")  # a container listens on all, a local service on this machine's own
_ADDRESSES = ("PAGE_ADDRESS", "API_ADDRESS", "BOARD_ADDRESS")
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


class StackError(Exception):
    """The text says what to do next."""


@dataclass(frozen=True)
class Service:
    """needs: services that must be healthy before this one starts. user: None is this process's user."""

    name: str
    command: list[str]
    environment: dict[str, str]
    port: int
    needs: list[str]
    probe: list[str]
    user: str | None

    def is_healthy(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if self.probe[1:]:
                return subprocess.run(self.probe, capture_output=True).returncode == 0
            if not self.probe:
                socket.create_connection(("127.0.0.1", self.port), 2).close()
                return True
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            with contextlib.closing(connection):
                connection.request("GET", self.probe[0])
                return connection.getresponse().status == 200
        return False


def read_services(folder: Path, first: int, profiles: list[str], names: list[str]) -> dict[str, Service]:
    """Returns the services that have a local program. folder: gets their files. first: the page's port; the API and the
    board have the next two, and the other services those behind, in the order of compose.yaml. names: empty for all.

    Raises StackError if a program is missing or Postgres makes no database.
    """
    known: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    ports = {name: first + 3 + number for number, name in enumerate(known)} | {"caddy": first}
    given = {**dotenv_values(os.environ.get("STEELMAN_ENV_FILE", ROOT / ".env")), **os.environ, "TLS": "internal"}
    given |= {name: f"https://localhost:{first + number}" for number, name in enumerate(_ADDRESSES)}
    given["POSTGRES_PASSWORD"] = _password(folder)
    moved = {f"{n}:{known[n]['expose'][0]}": f"127.0.0.1:{ports[n]}" for n in known if "expose" in known[n]}

    def local(text: str) -> str:
        filled = _VARIABLE.sub(lambda found: given.get(found[1]) or (found[3] if found[2] == "-" else ""), text)
        return re.sub(rf"\b({'|'.join(moved)})\b", lambda found: moved[found[1]], filled).replace(*_ALL_ADDRESSES)

    services = dict[str, Service]()
    for name, entry in known.items():
        image, place, options = re.split("[/:]", entry["image"])[-2], folder / name, list[str]()
        if image == "steelman":
            image, *options = entry["command"]
            options = [*(word.replace(*_ALL_ADDRESSES) for word in options[:-1]), str(ports[name])]
        wanted = name in (names or known) and set(entry.get("profiles", profiles)) <= set(profiles)
        if image not in _LOCAL or not wanted:
            continue
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = {key: local(str(value)) for key, value in entry.get("environment", {}).items()}
        environment |= {"STEELMAN_DATA_DIR": str(place), "XDG_DATA_HOME": str(place), "BIND": "127.0.0.1"}
        user = "postgres" if image == "postgres" and os.getuid() == 0 else None
        _make_files(image, place, user, environment, local)
        values = {"place": place, "port": ports[name], "root": ROOT}
        command, probe = ([word.format(**values) for word in text.split()] for text in _LOCAL[image])
        command, probe = ([program(words[0]), *words[1:]] if words[1:] else words for words in (command, probe))
        conditions = entry.get("depends_on", {})
        started = names or known
        needs = [need for need in conditions if need in started and isinstance(conditions, dict)]  # a list: only order
        services[name] = Service(name, [*command, *options], environment, ports[name], needs, probe, user)
    return services


def _make_files(
    image: str, place: Path, user: str | None, environment: dict[str, str], local: Callable[[str], str]
) -> None:
    if image == "postgres" and not (place / "data").exists():
        _make_database(place, user, environment["POSTGRES_PASSWORD"])
    if image == "prometheus":
        (place / "key").touch(mode=0o600)  # empty: no key is needed yet
        text = local((ROOT / "docker" / "prometheus.yml").read_text(encoding="utf-8"))
        (place / "prometheus.yml").write_text(text.replace("/etc/prometheus/key", str(place / "key")))


def program(name: str) -> str:
    """Returns the path of a program: beside this Python, on PATH, or where Debian keeps Postgres. Raises StackError."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    if found := beside or shutil.which(name) or max(_POSTGRES.glob(f"*/bin/{name}"), default=""):
        return str(found)
    raise StackError(f"There is no program {name} here. Debian: apt-get install postgresql caddy prometheus")


def _password(folder: Path) -> str:
    if not (file := folder / "password").exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(secrets.token_hex(24))
    return file.read_text()


def _make_database(place: Path, user: str | None, password: str) -> None:
    file, data = place / "password", place / "data"
    file.touch(mode=0o600)
    file.write_text(password)
    for each in (place, file):
        shutil.chown(each, user or os.getuid())
    kept: dict[str, Any] = {"user": user, "cwd": "/", "check": True, "capture_output": True, "text": True}
    made = ["-D", str(data), "-U", "steelman", f"--pwfile={file}", "--auth=scram-sha-256", "--encoding=UTF8"]
    try:
        subprocess.run([program("initdb"), *made], **kept)
        single = [program("postgres"), "--single", "-D", str(data), "postgres"]
        subprocess.run(single, input="CREATE DATABASE steelman\n", **kept)
    except subprocess.CalledProcessError as exc:
        shutil.rmtree(data, ignore_errors=True)
        hint = f" Choose a folder with --data that the user {user} can enter." if user else ""
        raise StackError(f"initdb made no database: {exc.stderr.strip()[-300:]}.{hint}") from exc
    finally:
        file.unlink()
