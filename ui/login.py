"""Who is at the page. Where `[auth]` in Streamlit's secrets.toml names an OpenID Connect provider, people log in there
by Streamlit's own means and own what they ask and add; without it the page is that of everybody who can open it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError

from tools.errors import InputError
from ui import html

_NAMES = ("name", "preferred_username", "email")


def person() -> str | None:
    """Who is at the page, by the provider and its own name for them, which nobody else ever gets, as an address may be;
    empty where there are no logins, None for who has to log in first.

    Raises InputError for secrets that cannot be read: a mistake in them must not open the page to everybody.
    """
    if logins() is None:
        return ""
    return f"{st.user['iss']} {st.user['sub']}" if st.user.get("is_logged_in") else None


def show_login() -> None:
    """What this is, and a button for each provider."""
    from ui import ask_view  # it imports ui.permissions, which imports this module

    ask_view.lead()
    html.small("What you ask and add here is seen by you and whoever runs this page, and by nobody else who logs in.")
    parts = (logins() or {}).items()
    named: list[str | None] = [name for name, part in parts if isinstance(part, Mapping) and name != "client_kwargs"]
    for name in named or [None]:
        if st.button(f"Log in with {name}" if name else "Log in", type="primary"):
            try:
                st.login(name)
            except StreamlitAuthError as exc:
                html.error(f"nobody can log in as this page is set up. {' '.join(str(exc).split())}")


def show_name() -> None:
    """Who is logged in, and the way out."""
    html.small(str(next(filter(None, map(st.user.get, _NAMES)), "You are logged in")))
    st.button("Log out", key="log-out", type="tertiary", on_click=st.logout)


def logins() -> Mapping[str, Any] | None:
    """The settings of logins, None where there are none."""
    try:
        auth = st.secrets.get("auth")
    except (StreamlitSecretNotFoundError, UnicodeDecodeError, OSError) as exc:
        if any(Path(file).exists() for file in st.get_option("secrets.files")):
            what = "cannot be read, or is no TOML in UTF-8. Correct it, and start the page again."
            raise InputError(f"nobody can log in: secrets.toml {what}") from exc
        return None
    return auth if auth is None or isinstance(auth, Mapping) else {}
