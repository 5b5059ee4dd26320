"""The page as a server: Streamlit's application under options of this project alone, behind the guard (ui/guard.py)."""

import contextlib
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn
from streamlit import config

from agent.forms import split_list
from agent.settings import Settings
from tools.documents.apart import stop_readers
from tools.errors import InputError, SteelmanError
from tools.net.listening import Server, is_loopback, listen
from ui import people
from ui.guard import UPLOADS, Guard, ReceivedFiles
from ui.indexing import has_unfinished
from ui.service import close_service, open_service

if TYPE_CHECKING:
    from starlette.applications import Starlette

ROOT = Path(__file__).parents[1]
_SCRIPT = Path(__file__).with_name("app.py")
_MESSAGE_MEGABYTES = 1
_CLOSING_SECONDS = 2
_COLORS = {
    "light": ("#1f4e79", "#fdfcf9", "#f2efe8", "#1d2430", "#1f4e79"),
    "dark": ("#8fbfe8", "#16181c", "#20242a", "#e6e3dc", "#8fbfe8"),
}
_COLORED = ("primaryColor", "backgroundColor", "secondaryBackgroundColor", "textColor", "linkColor")
_OPTIONS: dict[str, object] = {
    "server.headless": True,
    "server.fileWatcherType": "none",  # it looks at every module after each script, and the page is not edited
    "server.maxWidgetStateSize": _MESSAGE_MEGABYTES,
    "runner.postScriptGC": False,  # a whole collection twice a second for each page that watches a run is half a core
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "theme.font": "serif",
    "theme.headingFont": "serif",
    **{f"theme.{mode}.{name}": c for mode, colors in _COLORS.items() for name, c in zip(_COLORED, colors, strict=True)},
}


def serve(settings: Settings, host: str, port: int) -> int:
    """Listens until it is stopped.

    Raises InputError where other machines could reach it without a login, and SteelmanError where it cannot listen.
    """
    _configure(settings, host, port)
    if not is_loopback(host) and people.logins() is None:
        raise InputError(
            f"on {host} other machines reach the page, and nobody has to log in.",
            hint="Leave out --host, or set up logins first: docs/providers.md, 'More than one person on the page'.",
        )
    with contextlib.closing(listen(host, port)) as listening:
        config.set_option("server.port", listening.getsockname()[1])
        files = ReceivedFiles(UPLOADS, settings.api_upload * 1024 * 1024)
        app = Guard(_application(files), files, _names(settings, host))
        if has_unfinished(settings):
            threading.Thread(target=_go_on, daemon=True).start()
        try:
            Server(_served(app), _say_where).run(sockets=[listening])
        finally:
            close_service()
            stop_readers()  # whose files nobody waits for any more
    return 0


def _configure(settings: Settings, host: str, port: int) -> None:
    """Sets Streamlit's options. Its own files and variables count for nothing: those of the folder that this is started
    in are somebody else's, and could open the page to others."""
    config.get_config_files = lambda _: []
    own = {
        "server.address": host,
        "server.port": port,
        "server.maxUploadSize": settings.api_upload,
        "server.cookieSecret": secrets.token_hex(32),
        "secrets.files": [str(file) for file in secrets_files(settings)],
    }
    config.get_config_options(force_reparse=True, options_from_flags=_OPTIONS | own)
    for folder in (".", "~"):
        file = Path(os.path.expanduser(folder), ".streamlit", "secrets.toml")  # noqa: PTH111  # one without a home is no error
        if file.exists() and file.resolve() not in [read.resolve() for read in secrets_files(settings)]:
            print(f"Not read: {file}. Logins are set up in {secrets_files(settings)[-1]}.", file=sys.stderr)


def secrets_files(settings: Settings) -> list[Path]:
    """Where logins are set up; what the last one has comes first."""
    return [ROOT / ".streamlit" / "secrets.toml", settings.data_dir / "secrets.toml"]


def _names(settings: Settings, host: str) -> frozenset[str]:
    """The hosts that a browser may name, besides those of loopback."""
    back = urlsplit(str((people.logins() or {}).get("redirect_uri", ""))).hostname
    named = (*split_list(settings.api_hosts), host, urlsplit(settings.public_url).hostname, back)
    return frozenset(name.lower() for name in named if name)


def _application(files: ReceivedFiles) -> "Starlette":
    from streamlit.runtime import Runtime, RuntimeConfig
    from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
    from streamlit.web.bootstrap import prepare_streamlit_environment
    from streamlit.web.cache_storage_manager_config import create_default_cache_storage_manager
    from streamlit.web.server.starlette import create_starlette_app

    prepare_streamlit_environment(str(_SCRIPT))
    media, caches = MemoryMediaFileStorage("/media"), create_default_cache_storage_manager()
    return create_starlette_app(Runtime(RuntimeConfig(str(_SCRIPT), media, files, caches)))


def _served(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",  # whose heads have a limit
        ws="websockets-sansio",
        ws_max_size=_MESSAGE_MEGABYTES * 1_000_000,
        ws_per_message_deflate=False,
        proxy_headers=False,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )


def _say_where(address: str) -> None:
    print(f"Steelman's page is on {address} (Ctrl-C stops it)", flush=True)


def _go_on() -> None:
    with contextlib.suppress(SteelmanError):  # the first visitor is told
        open_service()
