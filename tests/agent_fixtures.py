"""Fixtures of the agent's tests: a data folder with the instant collection, and the run service over it.

Tests import names from here too, which happens before it becomes a plugin: PYTEST_DONT_REWRITE.
"""

import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from instant_providers import instant_providers
from postgres_places import stores_in
from providers import Build, build

from agent.runs.service import Runs
from agent.settings import Settings
from tools.documents.ingest import Ingester, IngestReport
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.store import Store

QUESTION = "Should towns build bridges?"


@pytest.fixture(scope="session")
def instant_template(store_kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which the instant providers' collection is stored and indexed."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("instant"))
    with pytest.MonkeyPatch.context() as patch:
        if store_kind == "postgres":
            stores_in(request.getfixturevalue("postgres"), patch)
        database = Database(settings.database)
        instant_providers(settings, Store(database)).search.close()
        database.close()
    return settings.data_dir


@pytest.fixture
def settings(instant_template: Path, tmp_path: Path) -> Settings:
    """Settings over a copy of that folder, the one that STEELMAN_DATA_DIR names."""
    shutil.copytree(instant_template, tmp_path / "data")
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture(scope="module")
def module_settings(instant_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The same over a copy for a whole module."""
    folder = tmp_path_factory.mktemp("module") / "data"
    shutil.copytree(instant_template, folder)
    return Settings(data_dir=folder)


@pytest.fixture
async def own_runs(cached: None, tmp_path: Path) -> AsyncIterator[Runs]:
    """The embedded providers over an empty data folder."""
    async with Runs(Settings(data_dir=tmp_path / "data", web="off")) as runs:
        yield runs


def ingest(
    runs: Runs, documents: Iterable[SourceDocument], collection: str, report: IngestReport | None = None
) -> None:
    search = runs.providers.search
    Ingester(runs.store, search, runs.providers.models.encoder).ingest(documents, collection, report=report)


@asynccontextmanager
async def door(settings: Settings, made: Build | None = None) -> AsyncIterator[Runs]:
    async with Runs(settings, made or build()) as runs:
        yield runs
