"""Every row of the contract table; the rows stand in `contract_AREA.py`."""

from importlib import import_module
from pathlib import Path

import pytest
from contract_table import Bench, Row

_AREAS = [f.stem for f in sorted(Path(__file__).parent.glob("contract_*.py")) if f.stem != "contract_table"]
pytest_plugins = ["api_on_loopback"]
ROWS: list[Row] = [row for area in _AREAS for row in import_module(area).ROWS]


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", [pytest.param(row, marks=[pytest.mark.slow] * row.slow) for row in ROWS], ids=str)
async def test_row(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    await row.check(Bench(tmp_path, monkeypatch, lambda: request.getfixturevalue("standing").address))
