"""Shows which providers are on and respond, and the form for settings. Changes last until the server stops."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

import streamlit as st
from pydantic import SecretStr

from agent.commands.doctor import run_check
from agent.commands.parts import in_plain_words, serving
from agent.settings import Settings, load_settings, variable_of
from tools.errors import SettingsError
from tools.net.http import without_login
from tools.translation import mark, tr
from ui import html, permissions
from ui.escaping import text
from ui.service import PageService

_GROUPS = {
    mark("Chat model"): {
        "provider": mark("Who plans and writes"),
        "model": mark("Model"),
        "openai_api_key": mark("OpenAI's key"),
        "openai_base_url": mark("Address of another server that works like OpenAI's"),
        "anthropic_api_key": mark("Anthropic's key"),
        "google_api_key": mark("Google's key"),
    },
    mark("Another model for a part of the work"): {
        "model_expand": mark("For reading the question and planning the sides"),
        "model_queries": mark("For searching again"),
        "model_write": mark("For writing"),
    },
    mark("Judge, which tells the side of a text"): {
        "judge": mark("Who judges"),
        "judge_url": mark("The judge's server"),
        "judge_model": mark("The judge's model"),
        "judge_api_key": mark("The judge's key"),
    },
    mark("Web"): {
        "web": mark("Search engine"),
        "tavily_api_key": mark("Tavily's key"),
        "serper_api_key": mark("Serper's key"),
        "searxng_url": mark("A SearXNG of your own"),
        "sources": mark("Sources without a key"),
        "semantic_scholar_api_key": mark("Semantic Scholar's key"),
    },
}
"""The settings that can be changed here, with their labels. The help beside a field tells the setting's name in
.env."""
_HOLD = mark(
    "These settings hold for everybody who uses this page, until its server stops. Keys are not shown again. "
    "Steelman's documentation tells how to keep settings, and what each provider costs and is sent."
)
_FOR_ADMINS = mark(
    "These are for everybody who logs in; the operator of this page sets them, and can let others set them too. To be "
    "one of those, tell the operator how this page knows you: {person}"
)
_KEYS = {"openai_base_url": "openai_api_key", "judge_url": "judge_api_key"}  # the key that is sent to each address


def show(service: PageService, reopen: Callable[[Settings], None]) -> None:
    """Shows the form and the results of `python -m agent doctor` to people who may change settings. Others only see
    which providers are on. For them the page sends no requests to providers, because requests may cost money."""
    html.title(tr("Settings"))
    form, found = st.columns([2, 3], gap="large")
    with form:
        if permissions.may_set():
            _form(service, reopen)
        elif service.person:
            html.small(tr(_FOR_ADMINS, person=service.person))
        else:
            html.small(tr("These are for everybody who uses this page, and are set at the machine that serves it."))
    with found:
        _what_is_on(service)


def _what_is_on(service: PageService) -> None:
    """Shows the parts in use in plain words, and folds their technical names."""
    own, settings, failing = permissions.may_set(), service.settings, set[str]()
    st.html(f"<h2>{text(tr('What is on, and whether it answers') if own else tr('What is on'))}</h2>")
    place = st.empty()
    told = {permissions.masked(said, settings): parts for said, parts in in_plain_words(settings).items()}
    if own:
        place.html("".join(_line("…", said) for said in told))
        found = [run_check(part) for part in service.parts()]
        failing = {it.name for it in found if it.state == "fails"}
        took = [f" ({it.seconds:.1f} s)" if it.seconds >= 0.05 else "" for it in found]
        lines = [_line(it.word, tr(it.name), it.detail + how) for it, how in zip(found, took, strict=True)]
    else:
        names = [(part.name, serving(settings, part.name)) for part in service.parts() if part.check]
        lines = [_line(tr("on"), part, permissions.masked(name, settings)) for part, name in names]
    works, fails = tr("ok") if own else tr("on"), tr("FAILS")
    place.html("".join(_line(works if failing.isdisjoint(parts) else fails, said) for said, parts in told.items()))
    st.expander(tr("Technical details"), expanded=bool(failing)).html("".join(lines))


def _form(service: PageService, reopen: Callable[[Settings], None]) -> None:
    html.small(tr(_HOLD))
    problem = st.container()  # above the form, so that it is visible
    if st.session_state.pop("saved", False):
        with problem:
            html.warning(tr("Saved."))
    with st.form("settings", border=False):
        changes: dict[str, Any] = {}
        for group, names in _GROUPS.items():
            with st.expander(tr(group), expanded=group == "Chat model"):
                changes |= {name: _field(service.settings, name, tr(called)) for name, called in names.items()}
        if not st.form_submit_button(tr("Use these settings"), type="primary"):
            return
    with problem, permissions.told():
        changed = load_settings(**(dict(service.settings) | changes))
        _check_keys(service.settings, changed, [key for key in changes if isinstance(changes[key], SecretStr)])
        if permissions.may_set():
            reopen(changed)
            st.session_state["saved"] = True
        st.rerun()


def _check_keys(settings: Settings, changed: Settings, stored: Sequence[str]) -> None:
    """Raises SettingsError if a stored key would be sent to a new address. stored: the keys that were not typed now."""
    for name, key in _KEYS.items():
        moved = getattr(changed, name) != getattr(settings, name)
        if moved and key in stored and getattr(changed, key).get_secret_value():
            called = next(names[key] for names in _GROUPS.values() if key in names)
            raise SettingsError(
                f"{variable_of(name)} names another server, which does not get the stored key. Type its key into "
                f"'{called}', or 'none' if it needs none. Nothing was changed."
            )


def _field(settings: Settings, name: str, called: str) -> Any:
    """Shows the field of one setting and returns the field's value. An unchanged key stays a SecretStr."""
    about, now = Settings.model_fields[name], getattr(settings, name)
    told = f"{about.description} {tr('In .env: {variable}', variable=f'`{variable_of(name)}`')}"
    choices = get_args(about.annotation)
    if choices and all(isinstance(choice, str) for choice in choices):
        return st.selectbox(called, choices, choices.index(now), help=told)
    if name.endswith("_key"):
        hint = tr("set; type another to change it") if now.get_secret_value() else ""
        typed = st.text_input(called, type="password", placeholder=hint, help=told)
        return typed or now
    typed = st.text_input(called, without_login(now) if name.endswith("_url") else now, help=told)
    return now if typed == without_login(now) else typed


def _line(state: str, *said: str) -> str:
    return f'<div class="sm-row"><b>{text(state)}</b>{"".join(f"<span>{text(part)}</span>" for part in said)}</div>'
