"""Settings from the environment and from a `.env` file; `.env.example` lists them all."""

from functools import cached_property
from pathlib import Path
from typing import Literal

from platformdirs import user_data_dir
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from tools.errors import SettingsError


class Settings(BaseSettings):
    """What is configured for this machine. Options of a single run are in `agent.options`."""

    model_config = SettingsConfigDict(
        env_prefix="STEELMAN_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    data_dir: Path = Field(
        default_factory=lambda: Path(user_data_dir("steelman", appauthor=False)),
        description="Where documents, indexes, runs and caches are kept.",
    )
    checkpoint_url: str = Field(
        default="",
        description="A Postgres address (postgresql://…) for the runs' checkpoints; empty keeps them in SQLite.",
    )
    provider: Literal["auto", "embedded"] = Field(
        default="auto",
        description="'embedded' never uses a model server, whatever else is set; 'auto' uses what is set.",
    )

    @field_validator("data_dir", mode="after")
    @classmethod
    def _home(cls, value: Path) -> Path:
        try:
            return value.expanduser()
        except RuntimeError as exc:
            raise ValueError(str(exc)) from exc

    @cached_property
    def cache_dir(self) -> Path:
        return self.data_dir / "cache"

    @cached_property
    def index_dir(self) -> Path:
        return self.data_dir / "index"

    @cached_property
    def database_path(self) -> Path:
        return self.data_dir / "steelman.db"

    @cached_property
    def checkpoint_path(self) -> Path:
        return self.data_dir / "checkpoints.db"


def load_settings() -> Settings:
    """The settings in force; raises SettingsError that names the variable and what it may be."""
    try:
        return Settings()
    except ValidationError as exc:
        first = exc.errors()[0]
        name = "STEELMAN_" + "_".join(str(part) for part in first["loc"]).upper()
        raise SettingsError(f"{name} cannot be {first['input']!r}: {first['msg']}. See .env.example.") from exc
