"""The settings: what is on and answers, and what can be set here for as long as the page's server runs."""

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from agent.commands.doctor import Finding, examine
from agent.settings import Settings, load_settings, variable_of
from tools.errors import SteelmanError
from ui import say
from ui.service import PageService
from ui.shown import text

_GROUPS = {
    "Chat model": {
        "provider": "Who plans and writes",
        "model": "Model",
        "openai_api_key": "OpenAI's key",
        "openai_base_url": "Another server of OpenAI's format",
        "anthropic_api_key": "Anthropic's key",
        "google_api_key": "Google's key",
    },
    "Another model for a stage": {
        "model_frame": "For reading the question",
        "model_expand": "For planning the sides",
        "model_queries": "For more queries",
        "model_write": "For writing",
    },
    "Judge": {
        "judge": "Who judges",
        "judge_url": "The judge's server",
        "judge_model": "The judge's model",
        "judge_api_key": "The judge's key",
    },
    "Web": {
        "web": "Search engine",
        "tavily_api_key": "Tavily's key",
        "serper_api_key": "Serper's key",
        "searxng_url": "A SearXNG of your own",
    },
}
"""The settings that can be set here, with what each is called; the help beside it tells its name in .env."""


def show(service: PageService, reopen: Callable[[Settings], None]) -> None:
    """The form, and beside it the same as `python -m agent doctor`; each part is tried while the page is drawn."""
    say.title("Settings")
    form, found = st.columns([2, 3], gap="large")
    with form:
        if service.person:
            say.small("These are for everybody who logs in, and are set by whoever runs this page, in .env.")
        else:
            _form(service, reopen)
    with found:
        st.html("<h2>What is on, and whether it answers</h2>")
        place, lines = st.empty(), list[str]()
        for part in service.parts():
            place.html("".join([*lines, _line("…", part.name, "")]))
            lines.append(_found(examine(part)))
        place.html("".join(lines))


def _form(service: PageService, reopen: Callable[[Settings], None]) -> None:
    say.small(
        "For everybody who uses this page, until its server stops: nothing of it is stored, and keys are not shown "
        "again. To keep settings, write them into .env; docs/providers.md tells what each costs and who is sent what."
    )
    with st.form("settings", border=False):
        changes: dict[str, Any] = {}
        for group, names in _GROUPS.items():
            with st.expander(group, expanded=group == "Chat model"):
                fields = {name: _field(service.settings, name, called) for name, called in names.items()}
                changes |= {name: value for name, value in fields.items() if value is not None}
        if not st.form_submit_button("Use these", type="primary"):
            return
    try:
        reopen(load_settings(**_kept(service.settings), **changes))
    except SteelmanError as exc:
        say.error(str(exc))
        return
    st.rerun()


def _kept(settings: Settings) -> dict[str, Any]:
    """What was set here before, and every other setting as it is."""
    shown = {name for names in _GROUPS.values() for name in names}
    return {name: getattr(settings, name) for name in Settings.model_fields if name not in shown}


def _field(settings: Settings, name: str, called: str) -> Any:
    """The field of one setting, and its value; a key that nothing was typed for stays as it is."""
    about, now = Settings.model_fields[name], getattr(settings, name)
    told = f"{about.description} In .env: `{variable_of(name)}`"
    choices = get_args(about.annotation)
    if choices and all(isinstance(choice, str) for choice in choices):
        return st.selectbox(called, choices, choices.index(now), help=told)
    if name.endswith("_key"):
        hint = "set; type another to change it" if now.get_secret_value() else ""
        typed = st.text_input(called, type="password", placeholder=hint, help=told)
        return typed or now.get_secret_value()
    return st.text_input(called, now, help=told)


def _found(finding: Finding) -> str:
    how = f" ({finding.seconds:.1f} s)" if finding.seconds >= 0.05 else ""
    return _line("FAILS" if finding.state == "fails" else finding.state, finding.name, finding.detail + how)


def _line(state: str, name: str, said: str) -> str:
    return f'<div class="sm-row"><b>{text(state)}</b><span>{text(name)}</span><span>{text(said)}</span></div>'
