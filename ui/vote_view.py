"""The preference study. A ballot shows two pages side by side, four questions and a field for the reason.

Each choice is stored at once, so that a reload loses nothing. Votes belong to the logged-in person. Without logins,
they belong to a random token in a cookie.
"""

import re
import secrets
from hashlib import sha256

import streamlit as st

from agent.answer.ballots import CRITERIA, Ballot, Ballots, Choice, Page, Vote
from tools.language.lexicon import count
from tools.store.store import Store
from tools.translation import mark, tr
from ui import html, permissions
from ui.escaping import text

_CHOICES: dict[Choice, str] = {"left": mark("Left"), "same": mark("The same"), "right": mark("Right")}
_KEPT = mark("Your votes on {questions} are kept. You can still go back and correct them.")
_READ_BOTH = mark("{number} of {all}. Read both pages of results, then say which of them serves you better.")
_CLASSES = {"head": "sm-thesis sm-apart", "strength": "sm-small"}
_COOKIE = "steelman_voter"
_KEEP = f"""<script>{{
document.currentScript.remove();
const secure = location.protocol === 'https:' ? '; secure' : '';
document.cookie = '{_COOKIE}=%s; path=/; max-age=31536000; samesite=strict' + secure;
}}</script>"""


def show(ballots: Ballots, person: str) -> None:
    """Shows the voter's next ballot, or thanks the voter. person: the logged-in person; empty without logins."""
    secret = f"{Store(ballots.database).store_id()} {person or _token()}"  # nobody must be able to guess a voter's name
    voter = f"voter-{sha256(secret.encode()).hexdigest()[:32]}"
    drawn, votes = ballots.drawn_for(voter), {vote.ballot: vote for vote in ballots.votes(voter)}
    named = st.query_params.get("n", "")
    waiting = (i for i, ballot in enumerate(drawn) if ballot.id not in votes or not votes[ballot.id].complete)
    at = int(named) - 1 if named in map(str, range(1, len(drawn) + 1)) else next(waiting, len(drawn))
    if not drawn:
        html.title(tr("There is nothing to vote on yet"))
        if permissions.may_set():
            html.line(tr("Make the ballots first: python -m evals preference --prepare"))
    elif at == len(drawn):
        html.title(tr("Thank you"))
        html.line(tr(_KEPT, questions=count(at, "question")))
    else:
        st.query_params["n"] = str(at + 1)
        html.small(tr(_READ_BOTH, number=at + 1, all=len(drawn)))
        _ballot(ballots, drawn[at], voter, votes.get(drawn[at].id))
    if at and st.button(tr("Back"), type="tertiary"):
        st.query_params["n"] = str(at)
        st.rerun()


def _token() -> str:
    """Returns this browser's secret, which stays the same on each visit."""
    kept = st.context.cookies.get(_COOKIE, "")
    new = kept if re.fullmatch(r"[\w-]{43}", kept, re.ASCII) else secrets.token_urlsafe(32)
    token: str = st.session_state.setdefault("voter", new)
    st.html(_KEEP % token, unsafe_allow_javascript=True)
    return token


def _ballot(ballots: Ballots, ballot: Ballot, voter: str, known: Vote | None) -> None:
    html.title(ballot.question)
    for column, name, page in zip(st.columns(2), (tr("Left"), tr("Right")), ballot.blinded(voter)[:2], strict=True):
        with column:
            html.small(name)
            st.container(height=390, border=True).html(html_of(page))  # low, so that a window shows the questions too
    said, reason = (dict(known.choices), known.reason) if known else ({}, "")
    choices: dict[str, Choice] = {}
    for column, (criterion, asked) in zip(st.columns(len(CRITERIA)), CRITERIA.items(), strict=True):
        before = list(_CHOICES).index(said[criterion]) if criterion in said else None
        key = f"{criterion}-{ballot.id}"
        if chosen := column.radio(tr(asked), list(_CHOICES), before, format_func=lambda c: tr(_CHOICES[c]), key=key):
            choices[criterion] = chosen
    why = st.text_area(tr("Why? In your own words"), reason, key=f"reason-{ballot.id}", max_chars=2000, height=80) or ""
    if (choices, why) != (said, reason):
        ballots.vote(ballot, voter, choices, why)
    if st.button(tr("Next"), type="primary", disabled=len(choices) < len(CRITERIA)):
        del st.query_params["n"]
        st.rerun()


def html_of(page: Page) -> str:
    shown = ""
    for kind, said, sources in page:
        shown += f'<p class="{_CLASSES.get(kind, "sm-claim")}">{text(said)}</p>'
        shown += "".join(f'<p class="sm-small">{text(source)}</p>' for source in sources)
    return shown
