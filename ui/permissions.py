"""Decides what a visitor may change and see. Without logins, only a visitor on this machine sees settings and full
error texts. With logins, only a person in STEELMAN_ADMINS sees them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import streamlit as st

from agent.answer.model import Answer
from agent.settings import Settings, load_settings, split_list
from tools import errors
from tools.errors import without_hint
from tools.net.http import without_login
from tools.net.pool import split_addresses
from tools.translation import in_its_language, mark, tr, translated
from ui import html, login

_HERE = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_OF_BROWSERS = "(Accept|Sec)(-.*)?|Cache-Control|Connection|Cookie|Dnt|Host|Origin|Pragma|Priority|Upgrade|User-Agent"
_PRIVATE = ("_url", "_host", "_proxy", "_dir", "_file")  # names of settings with addresses or folders end like this
_FOLDERS = re.compile(r"(?<![\w./:])(?:/[\w.@+-]+)+/")
_CAUSES = {
    errors.SettingsError: mark("a setting of this page does not allow it. Ask the operator of the page."),
    errors.StoreError: mark("the stored data cannot be used now. Try again, or tell the operator of this page."),
    errors.ModelError: mark("a model of this page cannot be used. Tell its operator."),
    errors.DeadlineError: mark("a provider did not answer in time. Try again later."),
    errors.ProviderDownError: mark(
        "a provider cannot be reached, is late, or refuses what it is asked. Try again later."
    ),
    errors.ProviderError: mark("a provider gave no answer that can be used. Try again later."),
}
"""Visitors see these texts, because the full error texts may contain addresses, folders and a server's messages."""
_UNDONE = {
    "failed": mark("A part of the search or the reading failed, and what it would have found is missing."),
    "degraded": mark("A model or a server failed, and another one stood in for it."),
    "late": mark("Time ran out before all was done."),
    "scope": "",
}


def at_machine() -> bool:
    """Returns whether the visitor's browser runs on this machine. A proxy on this machine does not count: it is
    recognised by another Host header or by headers that no browser sends."""
    headers, ip = st.context.headers, st.context.ip_address  # None for loopback
    host = headers.get("Host", "")
    named = _HERE.fullmatch(host) and headers.get("Origin") in (f"http://{host}", f"https://{host}")
    direct = all(re.fullmatch(_OF_BROWSERS, name) for name in headers)
    return bool(named) and direct and ip in (None, "::ffff:127.0.0.1")


def may_set() -> bool:
    """Returns whether the visitor may change settings and see full error texts. STEELMAN_ADMINS names people by
    issuer and subject, or by an e-mail address that the login provider verified."""
    try:
        if not (person := login.person()):
            return person == "" and at_machine()
        names, email = _admins(), str(st.user.get("email")).lower()
    except errors.SteelmanError:
        return False
    verified = st.user.get("email_verified") in (True, "true") and email.isascii() and " " not in email
    return person in names or (verified and email in map(str.lower, names))


def by_shared_link(person: str, thread: str = "") -> bool:
    """Returns whether a shared link to an answer opened this window. For a logged-in person the result is False, and
    for a thread that was asked in this window."""
    return "shared" in st.query_params and not person and thread not in st.session_state.get("asked", ())


@cache
def _admins() -> list[str]:
    return split_list(load_settings().admins)


def cause(exc: errors.SteelmanError) -> str:
    """Returns the error text for this visitor: the full text, or a general sentence for this kind of error."""
    known = (tr(words) for kind, words in _CAUSES.items() if isinstance(exc, kind))
    text, hint = translated(str(exc)), translated(exc.hint)
    if may_set():
        return text
    return next(known, without_hint(text, hint) if hint in text else exc.remote_text)


@contextmanager
def told() -> Iterator[None]:
    """Shows errors from inside the block to the visitor."""
    try:
        yield
    except errors.SteelmanError as exc:
        html.error(cause(exc))


@in_its_language
def seen(answer: Answer, settings: Settings) -> Answer:
    """Returns the answer with the notes and provider names that this visitor may see."""
    if may_set():
        return answer
    notes, hide = [], partial(masked, settings=settings)
    for note in answer.notes:
        undone = _UNDONE.get(note.kind, "")
        told = (note.brief or (undone and tr(undone))) if note.kind in _UNDONE else ""
        notes.append(note.model_copy(update={"text": hide(told or note.text), "brief": hide(note.brief)}))
    names = {stage: hide(name) for stage, name in answer.providers.items()}
    return answer.model_copy(update={"notes": notes, "providers": names})


def masked(text: str, settings: Settings) -> str:
    """Returns the text. Visitors get the text without folders and without addresses from the settings."""
    if may_set():
        return text
    places = (str(value) for name, value in settings if name.endswith(_PRIVATE))
    private = [without_login(address) for value in places for address in split_addresses(value)]
    private += [value.rpartition("://")[2].partition("/")[0] for value in private]
    for known in sorted(filter(None, private), key=len, reverse=True):
        text = text.replace(known, "…")
    return _FOLDERS.sub("", text)
