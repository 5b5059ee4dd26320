"""The settings: what is on and answers, and how to turn on the rest."""

import streamlit as st

from agent.commands.doctor import Finding, examine
from ui import say
from ui.service import PageService
from ui.shown import text


def show(service: PageService) -> None:
    """The same as `python -m agent doctor`; each part is tried while the page is drawn."""
    say.title("Settings")
    st.html(
        "<p>Everything is set in the file <code>.env</code> or in the environment, and read when the page's server "
        "starts. <code>docs/providers.md</code> tells how to turn each on, what it costs and what is sent to whom.</p>"
        "<h2>What is on, and whether it answers</h2>"
    )
    place, lines = st.empty(), list[str]()
    for part in service.parts():
        place.html("".join([*lines, _line("…", part.name, "")]))
        lines.append(_found(examine(part)))
    place.html("".join(lines))


def _found(finding: Finding) -> str:
    how = f" ({finding.seconds:.1f} s)" if finding.seconds >= 0.05 else ""
    return _line("FAILS" if finding.state == "fails" else finding.state, finding.name, finding.detail + how)


def _line(state: str, name: str, said: str) -> str:
    return f'<div class="sm-row"><b>{text(state)}</b><span>{text(name)}</span><span>{text(said)}</span></div>'
