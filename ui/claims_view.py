"""Shows claims with their sources and the button 'Wrong side?'. Citation numbers open a source beside the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import streamlit as st

from agent.answer import followups, wording
from agent.answer.attribution import met_words, quotes_behind, repliers, source_lines
from agent.answer.corrections import ALSO, OFF_QUESTION, moved_claims
from agent.answer.document_list import document_title
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.runs.store import RunRow
from tools.translation import speaking, tr
from ui import ask_view, focus, html, permissions, source_view
from ui.escaping import escaped, label, text
from ui.service import PageService

_OPEN = 4  # number of a side's claims that are not folded
_Opened = tuple[str, int, tuple[str, ...], str]  # run, citation, quotations to mark, key of its button
_NONE: _Opened = "", 0, (), ""
_Move = tuple[str, str, str, str]  # a claim's text, the place that it leaves, its new place, the line with the way back


@dataclass(frozen=True)
class Corrector:
    """Moves quotations to another side with one click, and back. Only the owner of the answer may move them."""

    service: PageService
    run: RunRow
    answer: Answer
    told: list[str] = field(default_factory=list)  # the place that shows the last move

    def buttons(self, claim: AnswerClaim, stands: str, key: str, stood: str) -> dict[str, _Move]:
        """Shows a button for each near place that the claim can move to. From a side, that is the other side, or
        `ALSO` if there are several. From `ALSO`, these are the sides and off the question. Other ways are not near if
        there is a Yes or No. A moved claim has a button that moves it back. Returns the moves to the other places by
        their words in a menu. stands: the list with the claim, a side's id or `ALSO`. key: key of the claim's line.
        stood: the line or row that shows the way back."""
        if not self._is_owner:
            return {}
        sides = [side for side in self.answer.perspectives if side.id != stands]
        facing = [side.id for side in sides if side.stance != "other"] or [side.id for side in sides]
        against = stands.removesuffix("-against")
        if stands == ALSO:
            targets = {tr("Argues for {side}", side=self._places[side]): side for side in facing}
            targets |= {tr("Not on this question"): OFF_QUESTION}
        else:
            targets = {tr("Wrong side?"): against if against != stands else facing[0] if len(facing) == 1 else ALSO}
        for words, to in targets.items():
            told = tr("Moves it to {place}. You can take it back.", place=self._places[to])
            moved = claim.text, against, to, stood
            st.button(f":small[{words}]", f"move-{to}-{key}", told, self._move, moved, type="tertiary")
        if claim.text in self._moved:
            words, told = tr("Undo"), tr("Moves it back.")
            st.button(f":small[{words}]", f"move-back-{key}", told, self._undo, (claim.text,), type="tertiary")
        far = {to: name for to, name in self._places.items() if to not in (stands, *targets.values())}
        return {tr("Move it to {place}", place=name): (claim.text, against, to, stood) for to, name in far.items()}

    def chosen(self, menu: str, moves: dict[str, _Move]) -> None:
        """Makes the move that was chosen in a menu, if the choice is a move. menu: the menu's key."""
        if moved := moves.get(st.session_state[menu]):
            self._move(*moved)

    def undo(self, stands: str = "") -> None:
        """Shows the new place of a moved claim, with Undo and the other places, once: where the claim stood, else in
        its list, else below all lists. Earlier changes can be undone there. stands: a list, row or claim's key."""
        if not self._is_owner or not any(note.kind == "corrected" for note in self.answer.notes):
            return
        run_id, words, left, at, stood = st.session_state.get("moved", ("", "", "", "", ""))
        if run_id == self.run.id and stands in ("", left, stood) and not self.told:
            self.told.append(stands)
            with st.container(horizontal=True, vertical_alignment="center", key="undo-places"):
                html.small(tr("Moved to {place}: {claim}", place=self._places[at], claim=label(words, 60)))
                st.button(tr("Undo"), "undo-move", on_click=self._undo, args=(words,), type="tertiary")
                for to, name in self._places.items():
                    if to not in (at, left):
                        said, moved = tr("Move it to {place}", place=name), (words, left, to, stood)
                        st.button(said, f"undo-to-{to}", None, self._move, moved, type="tertiary")
        elif not stands and self.service.corrections(self.run.id).own_moves(self.run.id):
            st.button(tr("Undo the last move of a quotation"), "undo-last", on_click=self._undo, type="tertiary")

    @property
    def _is_owner(self) -> bool:
        person = self.service.person
        return self.run.person == person and not permissions.by_shared_link(person, self.run.thread)

    @cached_property
    def _places(self) -> dict[str, str]:
        """Maps each place (a side's id, `ALSO` or `OFF_QUESTION`) to its name on the page."""
        sides = {s.id: f"‘{escaped(label(wording.side_name(self.answer, s)))}’" for s in self.answer.perspectives}
        return sides | {ALSO: tr("‘Also on this question’"), OFF_QUESTION: tr("‘Not on this question’")}

    @cached_property
    def _moved(self) -> set[str]:
        """The texts of the claims that the owner moved."""
        if not any(note.kind == "corrected" for note in self.answer.notes):
            return set()
        made = self.service.corrections(self.run.id)
        return {m.claim.text for m in moved_claims(made.original(self.run.id), made.own_moves(self.run.id))}

    def _move(self, words: str, left: str, to: str, stood: str) -> None:
        with permissions.told():
            # Set before the change, because Streamlit may restart the script whenever its state is used.
            st.session_state["moved"] = self.run.id, words, left, to, stood
            focus.then(focus=".st-key-undo-move button", clear=".st-key-undo-places")
            self.service.corrections(self.run.id).add(self.run.id, to, self.service.person, text=words)

    def _undo(self, words: str = "") -> None:
        """Moves the claim with these words back, or the claim that was moved last."""
        with permissions.told():
            st.session_state.pop("moved", None)
            focus.then(focus="h1")
            self.service.corrections(self.run.id).undo(self.run.id, words)


def line(answer: Answer, words: str, claim: AnswerClaim, key: str) -> None:
    """Shows text and its citation numbers. A number opens its source, with the claim's words marked."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap=None):
        st.html(words, width="content")
        for number in claim.citations:
            _number(answer, claim, number, f"cite-{key}-{number}")


def claims(by: Corrector, of: Sequence[AnswerClaim], key: str, opened: int = _OPEN) -> None:
    """Shows claims, and folds all but the first `opened`."""
    for number, claim in enumerate(of[:opened]):
        one(by, claim, f"{key}-{number}")
    if len(of) > opened:
        with st.expander(f":small[+ {tr('{number} more', number=len(of) - opened)}]", key=f"folded-{key}"):
            for number, claim in enumerate(of[opened:], start=opened):
                one(by, claim, f"{key}-{number}")
    by.undo(key)


def one(by: Corrector, claim: AnswerClaim, key: str, row: str = "") -> None:
    """Shows a claim. row: the key of the claim's row, which shows the reason; empty for a claim in a list."""
    why = "" if row or not claim.reason else text(wording.reason_label(claim))
    reason = f'<span class="sm-reason why">{why}</span> ' if why else ""
    with speaking(by.answer.language):
        answers = text(wording.citation_numbers((), claim.answers, met_words(by.answer, claim)))
    met = f' <span class="sm-reason">{answers.replace(" ", "&nbsp;", 1)}</span>' if claim.answers else ""
    said, role = text(wording.claim_text(claim, speaker="")), "" if row else claim.role
    if not row:
        by.undo(key)
    sourced(by, f'<p class="sm-claim {role}">{reason}{said}{met}</p>', claim, key, row)


def sourced(
    by: Corrector, words: str, claim: AnswerClaim, key: str, row: str = "", cited: Sequence[int] | None = None
) -> None:
    """Shows a claim with one line for each source below (number, speaker, publisher, kind, date and page), then the
    ways to go on from the claim. cited: the sources to show below a reply, which has no moves; None for an answer."""
    with st.container(gap=None, key=f"claim-{key}"):
        st.html(words)
        if claim.quoted and (foreign := wording.translation_line(by.answer, wording.shown_sentence(claim))):
            html.small(foreign)
        lines = {n: told for n, told in source_lines(by.answer, claim) if cited is None or n in cited}
        for number, told in lines.items():
            with st.container(horizontal=True, gap=None, wrap=False):
                _number(by.answer, claim, number, f"cite-{key}-{number}")
                st.html(f'<p class="sm-small">{text(told)}</p>')
        if not lines:
            return
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            stands = ALSO if claim.role == "also" else key.rpartition("-")[0]
            moves = by.buttons(claim, stands, key, row or key) if cited is None else {}
            _follow_up(by, claim, list(lines), key, moves)
            for place, (name, (side, reply)) in enumerate(repliers(by.answer, claim).items() if cited is None else ()):
                said = escaped(tr("Answered by {source}", source=name))
                to = dict.fromkeys(("focus", "clear"), _selector(side, reply))
                st.button(said, f"answered-{key}-{place}", None, focus.then, kwargs=to, type="tertiary", wrap=True)


def _follow_up(by: Corrector, claim: AnswerClaim, numbers: Sequence[int], key: str, moves: dict[str, _Move]) -> None:
    """Offers what speaks against the claim, more like it, what else each of its sources says, and moves."""
    against, like, only = tr("What speaks against this"), tr("More like this"), tr("Only this source")
    answer, several = by.answer, len(numbers) > 1
    sources = {rf"{only} \[{number}\]" if several else only: number for number in numbers}
    # The key begins like those of the moves: a printed page shows none of them.
    options, key = [against, like, *sources, *moves], f"move-on-{key}"
    chosen = st.menu_button(tr("Follow up"), options, key=key, on_click=by.chosen, args=(key, moves), type="tertiary")
    if chosen == against:
        ask_view.begin(by.service, followups.counter_question(answer, claim), thread=by.run.id)
    elif chosen == like:
        source = next(c for c in answer.citations if c.number == numbers[0])
        with st.spinner(tr("Searching for similar sentences …")):
            told = by.service.more_like(by.run, answer, (*quotes_behind(claim, source), source.quote)[0])
        ask_view.carry_out(by.service, answer, f"{like} [{source.number}]", told)
    elif chosen in sources:
        number = sources[chosen]
        ask_view.carry_out(by.service, answer, f"{only} [{number}]", followups.single_source(answer, str(number)))


def _selector(side: AnswerPerspective, claim: AnswerClaim) -> str:
    """Returns the CSS selector of a claim's place on the page."""
    lists = {side.id: wording.claims_below_heading(side), f"{side.id}-against": side.objections}
    found = (f"{name}-{listed.index(claim)}" for name, listed in lists.items() if claim in listed)
    return f".st-key-claim-{next(found, f'{side.id}-head')}"


def _number(answer: Answer, claim: AnswerClaim, number: int, key: str) -> None:
    source = next((c for c in answer.citations if c.number == number), None)
    opened = answer.run_id, number, tuple(quotes_behind(claim, source)) if source else (), key
    st.button(rf"\[{number}\]", key=key, type="tertiary", on_click=_open, args=(opened, "close-source"))


def _open(source: _Opened, button: str) -> None:
    """Shows the source; `_NONE` closes the open source. button: key of the button that gets the focus."""
    st.session_state[ask_view.SOURCE] = source
    focus.then(focus=f".st-key-{button} button", clear=f".st-key-{source[3]} button" if source[3] else "")


def opened(answer: Answer) -> Citation | None:
    """Returns the open source of this answer, or None."""
    run_id, number, *_ = st.session_state.get(ask_view.SOURCE, _NONE)
    return next((c for c in answer.citations if c.number == number), None) if run_id == answer.run_id else None


def source(service: PageService, answer: Answer, citation: Citation) -> None:
    """Shows the open source: its passage, and a button for the whole document."""
    *_, words, opener = st.session_state[ask_view.SOURCE]
    passages = service.passages([q.passage_id for q in citation.quotations])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f"<b>[{citation.number}]</b>")
        st.button(tr("Close"), "close-source", type="tertiary", shortcut="Esc", on_click=_open, args=(_NONE, opener))
    with speaking(answer.language):
        st.html(source_view.card(citation, passages, words))
    for foreign in filter(None, (wording.translation_line(answer, wording.balanced_marks(quote)) for quote in words)):
        html.small(foreign)
    if st.button(tr("Whole document"), key="whole-document", type="tertiary"):
        whole = service.store.document_passages(citation.passage_id)
        source_view.open_document(document_title(citation, citation.document_id), whole, words)
