"""A Postgres server of the tests' own, on a socket, and stores in it in place of SQLite files.

Modules marked `both_stores` run on both; their tests marked `file_only` are about the file. PYTEST_DONT_REWRITE.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path

import pytest

from tools.store.database import Database


class PostgresServer:
    """Databases by the path of the file whose place they take. The file holds the database's name, so that a copied
    folder gets a copy of the database."""

    def __init__(self, folder: Path, user: str, command: list[str]) -> None:
        self.folder, self.made = folder, list[str]()
        self._user, self._command = user, command

    def start(self) -> None:
        self._child = subprocess.Popen(
            self._command, user=self._user, cwd=self.folder, stderr=subprocess.PIPE, text=True
        )
        assert self._child.stderr is not None
        for line in self._child.stderr:
            if "ready to accept connections" in line:
                break
        else:
            raise RuntimeError("Postgres did not start")
        self._child.stderr.close()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """SIGQUIT: at once, without any last word to its clients, as `pg_ctl stop -m immediate` does."""
        self._child.send_signal(how)
        self._child.wait(timeout=30)

    def address(self, name: str = "postgres") -> str:
        return f"postgresql+psycopg://test@/{name}?host={self.folder}"

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.address().replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(statement)

    @contextmanager
    def asks_for_passwords(self) -> Iterator[None]:
        """Everybody but the tests' own user needs a password meanwhile."""
        before = (self.folder / "data" / "pg_hba.conf").read_text()
        self._admit("local all test trust\nlocal all all scram-sha-256\n")
        try:
            yield
        finally:
            self._admit(before)

    def _admit(self, rules: str) -> None:
        (self.folder / "data" / "pg_hba.conf").write_text(rules)
        self.execute("SELECT pg_reload_conf()")
        time.sleep(0.3)

    def place_of(self, path: Path) -> str:
        name = f"s{md5(str(path.absolute()).encode()).hexdigest()[:20]}"
        before = path.read_text() if path.exists() else ""
        if before != name:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.execute(f"CREATE DATABASE {name} TEMPLATE {before or 'template0'}")
            self.made.append(name)
            path.write_text(name)
        return self.address(name)

    def drop_since(self, count: int) -> None:
        while len(self.made) > count:
            self.execute(f"DROP DATABASE {self.made.pop()} WITH (FORCE)")


def _binary(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@contextmanager
def postgres_server(name: str) -> Iterator[PostgresServer]:
    """A fresh server; it refuses to run as root, so root starts it as another user."""
    pytest.importorskip("psycopg")
    initdb, server = _binary("initdb"), _binary("postgres")
    if initdb is None or server is None:
        pytest.skip("no Postgres server is installed")
    folder = Path("/tmp") / f"steelman-{name}-{os.getpid()}"
    folder.mkdir(mode=0o700)
    user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    shutil.chown(folder, user)
    data = str(folder / "data")
    made = [initdb, "-D", data, "-U", "test", "--auth=trust", "--no-sync", "--encoding=UTF8"]
    subprocess.run(made, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)
    command = [server, "-D", data, "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
    made_server = PostgresServer(folder, user, command)
    made_server.start()
    yield made_server
    made_server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server("pg") as server:
        yield server


@pytest.fixture(scope="session")
def store_kind(request: pytest.FixtureRequest) -> str:
    """'sqlite' or 'postgres'."""
    return str(getattr(request, "param", "sqlite"))


def stores_in(server: PostgresServer, patch: pytest.MonkeyPatch) -> list[Database]:
    """Databases at paths open in the server from now on. Returns the list of those that were opened."""
    real, found = Database.__init__, list[Database]()

    def opened(self: Database, place: Path | str) -> None:
        real(self, server.place_of(place) if isinstance(place, Path) else place)
        found.append(self)

    patch.setattr(Database, "__init__", opened)
    return found


@pytest.fixture(autouse=True)
def _place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, store_kind: str) -> Iterator[None]:
    if store_kind == "sqlite":
        yield
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    count = len(server.made)
    opened = stores_in(server, monkeypatch)
    yield
    for database in opened:
        database.close()
    server.drop_since(count)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marked = metafunc.definition.get_closest_marker
    if marked("both_stores") and not marked("file_only"):
        if "store_kind" not in metafunc.fixturenames:
            metafunc.fixturenames.append("store_kind")
        kinds = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]
        metafunc.parametrize("store_kind", kinds, indirect=True, scope="session")
