"""Identifies the page's user. If `[auth]` in Streamlit's secrets.toml names an OpenID Connect provider, people log in
there and own their questions and documents. Without a provider, everybody shares all questions and documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError

from tools.errors import InputError
from tools.translation import tr
from ui import html

_NAMES = ("name", "preferred_username", "email")


def person() -> str | None:
    """Returns the user as issuer and subject; empty without logins, None before a login. An e-mail address would not be
    safe, because a provider may give the address to somebody else later.

    Raises InputError if secrets.toml cannot be read, so that a mistake in this file does not open the page to
    everybody.
    """
    if logins() is None:
        return ""
    return f"{st.user['iss']} {st.user['sub']}" if st.user.get("is_logged_in") else None


def show_login() -> None:
    """Shows an introduction and a login button for each provider."""
    from ui import ask_view, focus  # ask_view imports ui.permissions, which imports this module

    ask_view.lead()
    html.small(tr("Only you and the operator of this page see what you ask and add here."))
    parts = (logins() or {}).items()
    named: list[str | None] = [name for name, part in parts if isinstance(part, Mapping) and name != "client_kwargs"]
    for name in named or [None]:
        if st.button(tr("Log in with {provider}", provider=name) if name else tr("Log in"), type="primary"):
            try:
                st.login(name)
            except StreamlitAuthError as exc:
                html.error(f"{tr('nobody can log in as this page is set up.')} {' '.join(str(exc).split())}")
    st.html(focus.due(), unsafe_allow_javascript=True)


def show_name() -> None:
    """Shows the name of the logged-in person and a button to log out."""
    html.small(str(next(filter(None, map(st.user.get, _NAMES)), tr("You are logged in"))))
    st.button(tr("Log out"), key="log-out", type="tertiary", on_click=st.logout)


def logins() -> Mapping[str, Any] | None:
    """Returns the login settings, or None."""
    try:
        auth = st.secrets.get("auth")
    except (StreamlitSecretNotFoundError, UnicodeDecodeError, OSError) as exc:
        if any(Path(file).exists() for file in st.get_option("secrets.files")):
            what = "cannot be read, or is no TOML in UTF-8. Correct it, and start the page again."
            raise InputError(f"nobody can log in: secrets.toml {what}") from exc
        return None
    return auth if auth is None or isinstance(auth, Mapping) else {}
