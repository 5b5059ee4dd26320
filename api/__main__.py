"""`python -m api`: parses the command line and imports only what the command needs."""

import argparse
import contextlib
import json
import shlex
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.__main__ import run_command
from tools.disk import ROOT, is_checkout
from tools.errors import as_installed

if TYPE_CHECKING:
    from api.callers import Keys

_EPILOG = """\
examples:
  python -m api                                    listen on http://127.0.0.1:8000
  python -m api --port 9000
  python -m api mcp                                MCP over standard input and output, for an assistant
  python -m api keys make laptop                   make a key; from then on callers need one
  python -m api --host 0.0.0.0                     serve other machines too; this needs a key

  curl http://127.0.0.1:8000/v1/ask -H 'Content-Type: application/json' \\
    -d '{"question": "Should schools ban smartphones?"}'

docs/api.md describes each call; `.env.example` lists the settings (STEELMAN_API_…).

exit status: 0 stopped by Ctrl-C or SIGTERM, 1 failed, 2 bad input, 130 interrupted before it listened,
128 plus the number of a second signal, which ends it at once
"""


def build_parser() -> argparse.ArgumentParser:
    """Builds the parser of all commands without importing the commands' modules."""
    parser = argparse.ArgumentParser(
        prog=as_installed("python -m api"),
        epilog=as_installed(_EPILOG),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Serves Steelman to programs over HTTP (also OpenAI-compatible) and MCP.",
    )
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1, for this machine only)")
    parser.add_argument("--port", type=int, help="port to listen on (default: 8000; 0 chooses a free one)")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser(
        "mcp",
        help="speak MCP over standard input and output",
        description="Speaks MCP over standard input and output. An assistant starts this command.",
        epilog=as_installed(configuration_help()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    worker = commands.add_parser(
        "worker",
        help="execute what the API and the page leave to workers",
        description="Executes the questions and large uploads of the servers and pages that have STEELMAN_WORKERS set "
        "and use the same database. STEELMAN_API_RUNS limits the questions at once. docs/scale.md describes a set-up.",
    )
    worker.add_argument("--port", type=int, dest="metrics", help="serve metrics for Prometheus on this port")
    _add_keys(commands.add_parser("keys", help="make, list and revoke keys for callers"))
    return parser


def _add_keys(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Manages bearer keys. Before the first key is made, every call is allowed. Afterwards every call needs a key, "
        "even if all keys are revoked. A running server notices changes at once."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    make = actions.add_parser("make", help="make a key and print it once")
    make.add_argument("name", metavar="NAME", help="user of the key; logs show its id, never the key")
    actions.add_parser("list", help="list all keys, including revoked ones")
    revoke = actions.add_parser("revoke", help="revoke a key")
    revoke.add_argument("key", metavar="ID|NAME", help="as `keys list` shows it")


def configuration_help() -> str:
    """Returns how to configure an assistant to start this MCP server, with a command that works in any folder."""
    command, env = [sys.executable, "-P", "-m", "api", "mcp"], {"PYTHONPATH": str(ROOT)}
    if not is_checkout():  # both commands are in one folder
        command, env = [str(Path(sys.argv[0]).absolute().with_name("steelman-mcp"))], {}
    server = {"command": command[0], "args": command[1:], "env": env}
    variables = (word for name, value in env.items() for word in ("-e", f"{name}={value}"))
    typed = shlex.join(["claude", "mcp", "add", "steelman", *variables, "--", *command])
    block = json.dumps({"mcpServers": {"steelman": server}}, indent=2, ensure_ascii=False)
    return f"""\
add this to the assistant's configuration (mcp.json, claude_desktop_config.json, …):

{textwrap.indent(block, "  ")}

or use the assistant's command, if it has one:

  {typed}

Put settings (OPENAI_API_KEY, STEELMAN_DATA_DIR, …) under "env" too, or into a file: the one that STEELMAN_ENV_FILE
names, or `.env` of the checkout or of the data folder. The command reads nothing from the folder that it is started in.
For MCP over HTTP run `python -m api` and use the address http://127.0.0.1:8000/mcp.

Tools: ask, retrieve, judge. Resources: past answers (steelman://answers/…). Standard output contains only the
protocol; messages for people go to standard error.
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command. A failure becomes one line for the user and an exit status."""
    return run_command(partial(_run, arguments), "api")


def _run(arguments: list[str] | None) -> int:
    args = build_parser().parse_args(arguments)
    from agent.settings import load_settings

    if args.command == "mcp":
        from api.mcp.server import serve_stdio

        return serve_stdio(load_settings())

    if args.command == "worker":
        from api.worker import work

        return work(load_settings(), args.metrics)

    if args.command == "keys":
        from api.callers import Keys
        from tools.store.database import Database

        with contextlib.closing(Database(load_settings().database)) as database:
            _run_keys(args, Keys(database))
        return 0
    from api.serving import serve

    changes = {"api_host": args.host, "api_port": args.port}
    return serve(load_settings(**{k: v for k, v in changes.items() if v is not None}))


def _run_keys(args: argparse.Namespace, keys: "Keys") -> None:
    if args.action == "make":
        key, text = keys.make(args.name)
        print(text)  # standard output has only the key, for KEY=$(python -m api keys make NAME)
        print(
            f"This is key {key.id} ({key.name}). It is shown only once: save it. From now on every call needs a key:\n"
            "Authorization: Bearer sk-steelman-…",
            file=sys.stderr,
        )
    elif args.action == "revoke":
        key = keys.revoke(args.key)
        print(f"Revoked key {key.id} ({key.name}). A running server now refuses it.")
    elif known := keys.all():
        for k in known:
            print(k.id, k.created_at, k.name, f"(revoked {k.revoked_at})" if k.revoked_at else "", sep="  ")
    else:
        make = as_installed("python -m api keys make NAME")
        print(f"There is no key, so every call is allowed. `{make}` makes one.")


if __name__ == "__main__":
    sys.exit(main())
