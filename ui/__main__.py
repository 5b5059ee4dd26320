"""`python -m ui` serves the page. This module only parses; `main` imports the rest."""

import argparse
import sys
from functools import partial

from agent.__main__ import run_command
from tools.errors import as_installed
from tools.translation import mark, speak_to_user, tr

_EPILOG = mark("""\
examples:
  python -m ui                          the page on http://127.0.0.1:8501, for this machine
  python -m ui --port 9000
  python -m ui --host 0.0.0.0           for other machines too, once people have to log in

Logins are set up in secrets.toml in the data folder (docs/providers.md, "More than one person on the page"); settings
in the environment or .env (STEELMAN_API_UPLOAD, …). Streamlit's own files and variables are not read.

exit status: 0 stopped by Ctrl-C or SIGTERM, 2 bad input, 1 anything else
""")


def main(arguments: list[str] | None = None) -> int:
    """Serves the page until it is stopped. Any failure becomes one line for the user and an exit status."""
    return run_command(partial(_run, arguments), "ui")


def _run(arguments: list[str] | None) -> int:
    speak_to_user()
    parser = argparse.ArgumentParser(
        prog=as_installed("python -m ui"),
        epilog=as_installed(tr(_EPILOG)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=tr("Steelman's page in the browser: ask, watch, read the sides beside each other."),
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help=tr("where to listen (default: 127.0.0.1, this machine alone)")
    )
    parser.add_argument("--port", type=int, default=8501, help=tr("the port (default: 8501; 0 takes a free one)"))
    args = parser.parse_args(arguments)
    from agent.settings import load_settings

    settings = load_settings()  # first, because libraries need a home and a temporary folder at import
    from ui.server import serve

    return serve(settings, args.host, args.port)


if __name__ == "__main__":
    sys.exit(main())
