"""The run door over a real Postgres server of the test's own, on a socket in the test's folder."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def _binary(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@pytest.fixture
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a fresh server; it refuses to run as root, so root starts it as another user."""
    pytest.importorskip("psycopg")
    initdb, server = _binary("initdb"), _binary("postgres")
    if initdb is None or server is None:
        pytest.skip("no Postgres server is installed")
    folder = Path("/tmp") / f"steelman-pg-{os.getpid()}"
    folder.mkdir(mode=0o700)
    user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    shutil.chown(folder, user)
    data = folder / "data"
    subprocess.run(
        [initdb, "-D", str(data), "-U", "test", "--auth=trust", "--no-sync"],
        check=True,
        user=user,
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    command = [server, "-D", str(data), "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
    child = subprocess.Popen(command, user=user, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    for line in child.stderr:
        if "ready to accept connections" in line:
            break
    yield f"postgresql+psycopg://test@/postgres?host={folder}"
    child.terminate()
    child.communicate(timeout=30)
    shutil.rmtree(folder)


async def test_a_run_keeps_its_checkpoints_in_postgres(postgres: str, tmp_path: Path) -> None:
    import psycopg
    from instant_providers import instant_providers

    from agent.runs.service import Runs
    from agent.settings import Settings

    settings = Settings(data_dir=tmp_path, database_url=postgres)
    async with Runs(settings, instant_providers) as runs:
        answer = await runs.answer(await runs.start("Should the town build a bridge?"))
    assert answer.outcome == "answered"
    assert not settings.checkpoint_path.exists()
    async with await psycopg.AsyncConnection.connect(postgres.replace("+psycopg", "")) as connection:
        cursor = await connection.execute("SELECT COUNT(*) FROM checkpoints WHERE thread_id = %s", (answer.run_id,))
        row = await cursor.fetchone()
    assert row is not None
    assert row[0] > 5


async def test_what_is_no_address_is_refused_without_showing_it(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    from instant_providers import instant_providers

    from agent.runs.service import Runs
    from agent.settings import Settings
    from tools.errors import SettingsError

    settings = Settings(data_dir=tmp_path, database_url="postgresql+psycopg://me:hid den@127.0.0.1/none")
    with pytest.raises(SettingsError, match="STEELMAN_DATABASE_URL") as caught:
        async with Runs(settings, instant_providers):
            pass
    assert "hid" not in str(caught.value)
