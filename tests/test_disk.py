"""Folders of this process: a place for temporary files where no usual one takes any."""

from pathlib import Path

from conftest import Spawn

_NOWHERE = """
import os, resource, sys, tempfile
from pathlib import Path
from tools.disk import provide_temporary_folder
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # no file takes a byte
provide_temporary_folder(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
with tempfile.NamedTemporaryFile(delete=False) as file:
    print(file.name, os.environ["TMPDIR"], flush=True)
sys.stdin.read()
"""


def test_temporary_files_go_to_the_data_folder(tmp_path: Path, spawn: Spawn) -> None:
    folder = tmp_path / "data" / "tmp"
    name, place = spawn(_NOWHERE, folder).communicate()[0].split()
    assert (Path(name).parent, Path(place)) == (folder, folder)
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
