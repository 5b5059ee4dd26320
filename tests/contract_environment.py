"""Rows of the contract table: the machine, the folder and the environment that a command meets."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from conftest import ROOT
from contract_table import Bench, Door, Outcome, Row

from agent.__main__ import BAD_INPUT, FAILED, OK
from api.__main__ import configuration_help

_QUESTION = "Should schools ban smartphones?"
_NOBODY = """
import pwd, runpy, sys
def unknown(_): raise KeyError
pwd.getpwuid = unknown
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Machine:
    """What a command meets. files: of the current folder; {} in the environment is the row's own folder."""

    words: str = "agent runs"
    files: dict[str, bytes] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    output: str = ""

    def run(self, command: list[str], bench: Bench, said: str = "") -> Outcome:
        for name, content in self.files.items():
            (file := bench.folder / "work" / name).parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (bench.folder / "work").mkdir(exist_ok=True)
        usual = {"PATH": os.environ["PATH"], "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"], "PYTHONPATH": str(ROOT)}
        given = {name: value.replace("{}", str(bench.folder)) for name, value in self.environment.items()}
        with Path(self.output or os.devnull).open("wb") as output:
            done = subprocess.run(
                command,
                input=said,
                cwd=bench.folder / "work",
                env=usual | given,
                stdout=output if self.output else subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                timeout=100,
            )
        lines = f"{done.stdout or ''}{done.stderr}"
        return Outcome(done.returncode, lines if done.returncode in (OK, 4) else _one_line(lines))


def _one_line(text: str) -> str:
    return text if len(text.splitlines()) == 1 else f"not one line: {text}"


async def command(given: Machine, bench: Bench) -> Outcome:
    return given.run([sys.executable, "-P", "-m", *given.words.split()], bench)


async def homeless(given: Machine, bench: Bench) -> Outcome:
    """A command of a user who has neither HOME nor an entry in the password file."""
    return given.run([sys.executable, "-P", "-c", _NOBODY, *given.words.split()], bench)


async def assistant(given: Machine, bench: Bench) -> Outcome:
    """The printed configuration, started in a workspace, and asked."""
    text = configuration_help()
    server = json.loads(text[text.index("{") : text.index("\n\nor use")])["mcpServers"]["steelman"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    call = {"name": "ask", "arguments": {"question": _QUESTION, "depth": "quick"}}
    asked: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    machine = Machine(files=given.files, environment=given.environment | server["env"])
    # Its input stays open until the answer is there: the end of it ends the server.
    script = 'exec 3<&0; (cat <&3; while ! grep -q \'"id":2\' "$0"; do sleep 0.1; done) | "$@" 2>&1 | tee "$0"'
    said = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked)
    typed = ["bash", "-o", "pipefail", "-c", script, str(bench.folder / "said"), server["command"], *server["args"]]
    return machine.run(typed, bench, said)


_STRANGER = b"import sys; print('a stranger', file=sys.stderr); raise SystemExit(9)"
_NAMES = "api/__init__ tools/__init__ agent/__init__ ui/__init__ prompts/__init__ types email json numpy sitecustomize"
_WORKSPACE = {f"{name}.py": _STRANGER for name in _NAMES.split()} | {"pyproject.toml": b"no toml"}
_ENV = b"OPENAI_BASE_URL=http://127.0.0.1:9/v1\nCHROMA_URL=http://127.0.0.1:9\nANONYMIZED_TELEMETRY=perhaps\n\0\xff"
_DATA = {"STEELMAN_DATA_DIR": "{}/data", "HOME": "{}"}
_ALONE = {"STEELMAN_DATA_DIR": "{}/data"}
_MISSING = _DATA | {"STEELMAN_ENV_FILE": "{}/none.env"}
_NO_HOME = ("this user has no home folder.", "Set STEELMAN_DATA_DIR to a folder")
_NO_ROOM = ("No space left on device", "free some room or send it elsewhere")
_SET = "STEELMAN_DATA_DIR"
_MACHINES: dict[str, tuple[Door, Machine, int, str, str]] = {
    "a file of settings that is missing": (
        *(command, Machine(environment=_MISSING), BAD_INPUT),
        *("STEELMAN_ENV_FILE names no file", "unset it"),
    ),
    "no home": (homeless, Machine("agent runs"), BAD_INPUT, *_NO_HOME),
    "no home, a data folder": (homeless, Machine("agent rebuild", environment=_ALONE), OK, "", ""),
    "HOME is no folder": (command, Machine(environment={"HOME": "/dev/null"}), FAILED, "cannot be used", _SET),
    "a full disk behind the output": (command, Machine("evals --help", {}, _DATA, "/dev/full"), FAILED, *_NO_ROOM),
}
ROWS: tuple[Row, ...] = (
    Row(
        "a workspace with strangers' modules and .env",
        assistant,
        Machine(files=_WORKSPACE | {".env": _ENV}, environment=_DATA),
        OK,
        "samples/phones/",
        hidden=("stranger", '"isError":true'),
        slow=True,
    ),
    *(Row(name, *row) for name, row in _MACHINES.items()),
)
