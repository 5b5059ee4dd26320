"""`python -m api`: the server for programs. This module only parses; the rest is imported when it runs."""

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
  python -m api keys make laptop                   from now on callers need this key
  python -m api --host 0.0.0.0                     for other machines too, once there is a key

  curl http://127.0.0.1:8000/v1/ask -H 'Content-Type: application/json' \\
    -d '{"question": "Should schools ban smartphones?"}'

docs/api.md has a line for each call; `.env.example` lists what may be set (STEELMAN_API_…).

exit status: 0 stopped by Ctrl-C or SIGTERM, 2 bad input, 1 anything else, 130 interrupted before it listened,
128 and the signal's number by a second one, which ends it at once
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands, without importing any of them."""
    parser = argparse.ArgumentParser(
        prog=as_installed("python -m api"),
        epilog=as_installed(_EPILOG),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Steelman for programs: over HTTP, as an OpenAI-compatible server, over MCP.",
    )
    parser.add_argument("--host", help="where to listen (default: 127.0.0.1, which only this machine reaches)")
    parser.add_argument("--port", type=int, help="the port (default: 8000; 0 takes a free one)")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser(
        "mcp",
        help="speak MCP over standard input and output",
        description="Speaks MCP over standard input and output: an assistant starts this command for itself.",
        epilog=as_installed(configuration_help()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_keys(commands.add_parser("keys", help="make, list and revoke the keys that callers need"))
    return parser


def _add_keys(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Bearer keys. Until the first one is made, whoever reaches the server may use it; from then on every call "
        "needs one, also after the last was revoked. A running server notices at once."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    make = actions.add_parser("make", help="make a key and print it, this once")
    make.add_argument("name", metavar="NAME", help="who will use it; logs show its id, never the key")
    actions.add_parser("list", help="list the keys that were ever made")
    revoke = actions.add_parser("revoke", help="end a key")
    revoke.add_argument("key", metavar="ID|NAME", help="as `keys list` shows it")


def configuration_help() -> str:
    """How to configure an assistant for the command `mcp`, with this machine's paths; it works in any folder."""
    command, env = [sys.executable, "-P", "-m", "api", "mcp"], {"PYTHONPATH": str(ROOT)}
    if not is_checkout():  # the installed command lies beside this one
        command, env = [str(Path(sys.argv[0]).absolute().with_name("steelman-mcp"))], {}
    server = {"command": command[0], "args": command[1:], "env": env}
    told = (word for name, value in env.items() for word in ("-e", f"{name}={value}"))
    typed = shlex.join(["claude", "mcp", "add", "steelman", *told, "--", *command])
    block = json.dumps({"mcpServers": {"steelman": server}}, indent=2, ensure_ascii=False)
    return f"""\
put this into the assistant's configuration (mcp.json, claude_desktop_config.json, …):

{textwrap.indent(block, "  ")}

or, where the assistant has a command for it:

  {typed}

Settings (OPENAI_API_KEY, STEELMAN_DATA_DIR, …) go under "env" too, or into a file: `.env` of the
checkout, else of the data folder, or the one that STEELMAN_ENV_FILE names. Nothing is read from the folder that the
assistant starts the command in. Over HTTP instead: `python -m api`, and http://127.0.0.1:8000/mcp as the address.

It offers the tools ask, retrieve and judge, and past answers as resources (steelman://answers/…). Standard output
carries the protocol alone; messages for people go to standard error.
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; whatever goes wrong becomes one line for the user and an exit status."""
    return run_command(partial(_run, arguments), "api")


def _run(arguments: list[str] | None) -> int:
    args = build_parser().parse_args(arguments)
    from agent.settings import load_settings

    if args.command == "mcp":
        from api.mcp.server import serve_stdio

        return serve_stdio(load_settings())

    if args.command == "keys":
        from api.callers import Keys
        from tools.store.database import Database

        with contextlib.closing(Database(load_settings().database_path)) as database:
            _run_keys(args, Keys(database))
        return 0
    from api.serving import serve

    changes = {"api_host": args.host, "api_port": args.port}
    return serve(load_settings(**{k: v for k, v in changes.items() if v is not None}))


def _run_keys(args: argparse.Namespace, keys: "Keys") -> None:
    if args.action == "make":
        key, text = keys.make(args.name)
        print(text)  # alone on standard output, so that KEY=$(python -m api keys make NAME) takes it
        print(
            f"This is key {key.id} ({key.name}). It is shown this once: keep it. From now on every call needs a key:\n"
            "Authorization: Bearer sk-steelman-…",
            file=sys.stderr,
        )
    elif args.action == "revoke":
        key = keys.revoke(args.key)
        print(f"Revoked key {key.id} ({key.name}). A running server refuses it from now on.")
    elif known := keys.all():
        width = max(len("NAME"), *(len(k.name) for k in known))
        print(f"{'ID':8}  {'NAME':{width}}  {'MADE':29}  REVOKED")
        for k in known:
            print(f"{k.id:8}  {k.name:{width}}  {k.created_at:29}  {k.revoked_at or ''}".rstrip())
    else:
        make = as_installed("python -m api keys make NAME")
        print(f"No key was ever made: whoever reaches the server may use it. `{make}` makes one.")


if __name__ == "__main__":
    sys.exit(main())
