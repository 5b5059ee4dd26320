"""Serves the page: Streamlit's application behind the guard (ui/guard.py), only with this project's options."""

import contextlib
import logging
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
import uvicorn
from streamlit import config
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.bootstrap import prepare_streamlit_environment
from streamlit.web.server.starlette import create_starlette_app

from agent.answer.wording import strip_control_characters
from agent.runs.job_table import JobTable
from agent.settings import Settings, split_list
from tools.documents.sandbox import stop_readers
from tools.errors import InputError, SteelmanError
from tools.net.http import is_loopback
from tools.net.listening import Server, config_of, listen
from tools.store.database import Database
from tools.translation import speak_to_user, tr
from ui import login
from ui.guard import Guard, ReceivedFiles
from ui.service import close_service, open_service

_HERE = Path(__file__).parent
_LARGEST_MESSAGE = 1_000_000
_LONGEST_LINE = 2_000


def serve(settings: Settings, host: str, port: int) -> int:
    """Serves the page until the process is stopped.

    Raises InputError if other machines could reach the page without a login. Raises SteelmanError if the server cannot
    listen.
    """
    if Runtime.exists():
        raise InputError("`streamlit run` started this. Start the page with `python -m ui` (make ui).")
    _configure(settings, host)
    _log_on_one_line()
    logins = login.logins()
    if logins is None and not is_loopback(host):
        raise InputError(
            f"on {host} other machines reach the page, and nobody has to log in.",
            hint="Leave out --host, or set up logins first: docs/providers.md, 'More than one person on the page'.",
        )
    back = urlsplit(str((logins or {}).get("redirect_uri", ""))).hostname
    names = ("localhost", "127.0.0.1", "::1", host, back, *split_list(settings.api_hosts))
    config.set_option("server.allowedHosts", [name for name in names if name])
    speak_to_user(lambda: st.context.locale if get_script_run_ctx(suppress_warning=True) else None)  # while it is drawn
    with contextlib.closing(listen(host, port)) as listening:
        config.set_option("server.port", listening.getsockname()[1])
        if settings.role == "alone" and (settings.database_url or settings.database_path.exists()):
            threading.Thread(target=_finish_uploads, args=(settings,), daemon=True).start()
        try:
            told = tr("Steelman's page is on {address} (Ctrl-C stops it)")
            Server(_served(settings), lambda address: print(told.format(address=address), flush=True)).run([listening])
        finally:
            close_service()
            stop_readers()  # nobody waits for the files of these parsers any more
    return 0


def _configure(settings: Settings, host: str) -> None:
    """Sets Streamlit's options. Streamlit's own files and variables are ignored: a file in the current folder may
    belong to somebody else and could open the page to others."""
    config.get_config_files = lambda file_name: [str(_HERE / ".streamlit" / file_name)]
    files = [_HERE.parent / ".streamlit" / "secrets.toml", settings.data_dir / "secrets.toml"]  # the last file counts
    own = {
        "server.address": host,
        "server.maxUploadSize": settings.api_upload,
        "server.cookieSecret": secrets.token_hex(32),
        "browser.gatherUsageStats": False,
        "secrets.files": [str(file) for file in files],
    }
    config.get_config_options(force_reparse=True, options_from_flags=own)
    for folder in (".", os.path.expanduser("~")):  # noqa: PTH111  # raises no error without a home folder
        other = Path(folder, ".streamlit", "secrets.toml").absolute()
        if other.exists() and other not in files:
            text = tr("Not read: {file}. Logins are set up in {other}.", file=other, other=files[-1])
            print(text, file=sys.stderr)


def _log_on_one_line() -> None:
    """Removes control characters from log lines and shortens the lines, because Streamlit logs what visitors send."""
    made = logging.getLogRecordFactory()

    def record(*args: Any, **named: Any) -> logging.LogRecord:
        line = made(*args, **named)
        with contextlib.suppress(TypeError, ValueError):  # logging itself reports wrong arguments
            line.msg, line.args = strip_control_characters(line.getMessage())[:_LONGEST_LINE], None
        return line

    logging.setLogRecordFactory(record)


def _served(settings: Settings) -> uvicorn.Config:
    script, files = str(_HERE / "app.py"), ReceivedFiles(settings.api_upload << 20)
    prepare_streamlit_environment(script)
    app = create_starlette_app(Runtime(RuntimeConfig(script, MemoryMediaFileStorage("/media"), files)))
    sockets = {"ws": "websockets-sansio", "ws_max_size": _LARGEST_MESSAGE, "ws_per_message_deflate": False}
    return config_of(Guard(app, files), log_level="warning", **sockets)


def _finish_uploads(settings: Settings) -> None:
    """Opens the service before the first visit if uploads wait for it."""
    with contextlib.suppress(SteelmanError):  # the first visitor sees the error
        with contextlib.closing(Database(settings.database)) as database:
            waiting = JobTable(database).open()
        if waiting:
            open_service()
