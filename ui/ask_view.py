"""The field for questions with its options, and the empty page with the topics of the samples."""

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Literal
from urllib.parse import quote, unquote

import streamlit as st

from agent.answer.followups import CommandReply, CommandSearch, run_slash_command
from agent.answer.model import Answer
from agent.answer.wording import named_row
from agent.options import EXAMPLE, Depth
from agent.samples import FOLDER, sample_questions
from tools.errors import GreetingError
from tools.store.store import SAMPLES
from tools.translation import grouped, in_marks, labelled, mark, tr, translated
from ui import focus, html, permissions
from ui.escaping import escaped, label, text
from ui.service import PageService

GONE = mark("There is no answer at this address. It may have been deleted.")
_PLACES = "steelman_places"  # a cookie, so that a reloaded page looks where its last question looked
_KEEP = "<script>document.cookie = '{name}={value}; path=/; max-age=31536000; samesite=strict'</script>"
SOURCE = "source"  # the session's open source; a reply closes it, because it hides the reply in narrow windows
_DEPTHS = {
    "quick": (mark("quick"), mark("one search")),
    "normal": (mark("normal"), mark("searches again for what is missing")),
    "deep": (mark("deep"), mark("searches longest")),
}
KINDS = {
    "mine": mark("my documents"),
    "web": mark("the web"),
    "studies": mark("studies"),
    "news": mark("news"),
    "discussion": mark("discussion"),
    "encyclopedia": mark("encyclopedia"),
}


def home(open_service: Callable[[], PageService]) -> None:
    """Shows the empty page: an introduction, the field, a small real answer and all topics of the samples."""
    lead()
    form(open_service)
    if SAMPLES in _scope(service := open_service()):
        _example()
    _topics(service)


_ARGUED = mark(
    "Ask a question that these documents argue about: {titles}. For example: “Should …?” or “Who should pay for …?”"
)
_LEAD = mark(
    "Ask something that people disagree on. Steelman searches for every side, and shows the strongest case that its "
    "sources make for each, in their own words."
)


def lead() -> None:
    html.title("Steelman")
    st.html(f'<p class="sm-lead">{text(tr(_LEAD))}</p>')


def form(open_service: Callable[[], PageService], thread: str | None = None, shown: str = "") -> None:
    """Shows the field, before the service is open. thread: a run that the question may follow up on. shown: the run on
    the screen. The field then stays at the lower edge, and text typed for another run is removed. An address with
    `?q=` fills the field but does not ask the question."""
    st.session_state["field"] = key = f"question{shown}"
    kept_for, kept = st.session_state.pop("typed", ("", ""))
    if st.session_state.pop("told", False):  # an answered text leaves the field
        st.session_state[key] = ""
    elif kept_for == key:
        st.session_state[key] = kept
    elif asked := st.query_params.get("q"):
        st.session_state.setdefault(key, asked)
    asked_for = tr("Follow up, or ask something new") if thread else tr("Ask something that people disagree on")
    example = tr("Ask a follow-up …") if thread else tr("Ask something else …") if shown else EXAMPLE
    seen: Literal["collapsed", "visible"] = "collapsed" if shown else "visible"
    row = partial(st.container, horizontal=True, wrap=False, vertical_alignment="center")
    with st.bottom if shown else nullcontext(), row(key="asking") if shown else st.container(key="asking"):
        # The text is sent with the next click, wherever it is, so that it is not lost. Enter clicks Ask (`focus`).
        question = st.text_input(asked_for, key=key, placeholder=example, label_visibility=seen, on_change="ignore")
        with nullcontext() if shown else row():
            pressed = st.button(tr("Ask"), "ask", type="primary")
            options = _options(service := open_service(), thread, shown)
        if pressed:
            ask(service, question, thread, options)
    if not shown:
        st.html(focus.now(focus=".st-key-question input"), unsafe_allow_javascript=True)


def keep_typed() -> None:
    """Keeps what was typed but not asked while a view is shown that has no field."""
    if "view" in st.query_params and (key := st.session_state.get("field", "question")) in st.session_state:
        st.session_state["typed"] = key, st.session_state[key]


def kept_places(service: PageService) -> dict[str, Any]:
    """Returns where the last question of this browser looked: collections that still exist, and whether in the web."""
    if "places" not in st.session_state:
        found: Any = {}
        with suppress(ValueError):
            found = json.loads(unquote(st.context.cookies.get(_PLACES, "")))
        given = found if isinstance(found, dict) else {}  # whoever visits may have changed it
        looked = given.get("collections")
        names = [c.name for c in service.store.collections() if isinstance(looked, list) and c.name in looked]
        web = {"web": given["web"]} if isinstance(given.get("web"), bool) else {}
        st.session_state["places"] = ({"collections": tuple(names)} if names else {}) | web
    return dict(st.session_state["places"])


def keep_places() -> None:
    """Keeps the places that somebody chose in a cookie. Called after the options were drawn."""
    places = st.session_state.get("places", {}) | st.session_state.get("chosen", {})
    places = {name: given for name, given in places.items() if name in ("collections", "web")}
    if places or st.context.cookies.get(_PLACES):
        st.html(_KEEP.format(name=_PLACES, value=quote(json.dumps(places))), unsafe_allow_javascript=True)


def _options(service: PageService, thread: str | None, shown: str) -> dict[str, Any]:
    """Returns the chosen options of RunOptions. The next question keeps them. A follow-up starts with the places of its
    answer, a new question with those of the last one, unless others were chosen and not yet asked with."""
    usual, chosen = service.places(thread), st.session_state.setdefault("chosen", {})
    places = usual | ({} if thread else kept_places(service)) | chosen
    with st.popover(tr("Options"), type="tertiary"):
        depths = {name: tr(called) for name, (called, _) in _DEPTHS.items()}
        how = " · ".join(labelled(tr(called), tr(what)) for called, what in _DEPTHS.values())
        asked, before, told = tr("How thorough"), chosen.get("depth", "normal"), depths.__getitem__
        depth = st.segmented_control(asked, list(depths), default=before, format_func=told, help=how, key="depth")
        names = [c.name for c in service.store.collections()] or [SAMPLES]
        at_first = [name for name in names if name in places["collections"]]
        called = {name: escaped(service.called(name)) for name in names}
        told, key = called.__getitem__, f"where{thread}{shown}"
        where = st.pills(tr("Look in"), names, selection_mode="multi", default=at_first, format_func=told, key=key)
        web = with_web = places.get("web", True)
        if service.kinds:
            web = st.checkbox(tr("Search the web too"), with_web, key=f"web{thread}{shown}")
        else:
            how = f" {tr('Settings tell how to turn one on.')}" if permissions.may_set() else ""
            html.small(f"{tr('The web is not searched: no search engine is on.')}{how}")
        picked = _sources(service, places, f"{thread}{shown}") if web else {}
        review = st.checkbox(tr("Let me edit the sides first"), chosen.get("review", False), key="review")
    chosen |= {"depth": depth or "normal", "review": review} | ({"web": web} if web != with_web else {})
    chosen |= {"collections": where} if where and set(where) != set(at_first) else {}
    differs = where and set(where) != set(usual["collections"])
    chosen |= {name: given for name, given in picked.items() if given != places.get(name, ())}
    named = {name: given for name, given in picked.items() if given or usual.get(name)}
    named |= {"collections": tuple(where)} if differs else {}
    return {"depth": chosen["depth"], "web": web, "review": review} | named


def _sources(service: PageService, places: dict[str, Any], key: str) -> dict[str, tuple[str, ...]]:
    """Returns the chosen kinds of sources (none: all that are on) and the pages to read. places: what is usual."""
    kinds: list[str] = ["mine", *service.kinds]
    chosen = kinds
    if len(kinds) > 2:
        usual = [kind for kind in kinds if kind in places.get("sources", kinds)] or kinds
        named = {kind: tr(KINDS[kind]) for kind in kinds}.__getitem__
        name, key_of = tr("Kinds of sources"), f"kinds{key}"
        chosen = st.pills(name, kinds, selection_mode="multi", default=usual, format_func=named, key=key_of)
    before, how = "\n".join(places.get("urls", ())), tr("Nothing else is then searched.")
    name, key_of = tr("Read only these web pages, one address a line"), f"urls{key}"
    pages = st.text_area(name, before, help=how, key=key_of, height=68).split()
    return {"sources": tuple(chosen) if set(chosen) < set(kinds) and not pages else (), "urls": tuple(pages)}


def _scope(service: PageService) -> Sequence[str]:
    """Shows which collections and kinds of sources the next question searches. Returns the collections."""
    held = {c.name: c.passages for c in service.store.collections()}
    known = {SAMPLES: tr("sample passages, written for this project")}
    chosen = service.places(None) | kept_places(service) | st.session_state.get("chosen", {})
    kinds = chosen.get("sources") or ("mine", *service.kinds)
    places = chosen["collections"] if "mine" in kinds else ()
    others = {p: tr("passages in ‘{collection}’", collection=service.called(p)) for p in places}
    parts = [f"{grouped(held.get(p, 0))} {(others | known)[p]}" for p in places]
    parts += [tr(KINDS[kind]) for kind in service.kinds if kind in kinds and chosen.get("web", True)]
    with st.container(horizontal=True, vertical_alignment="center"):
        html.small(tr("A question searches: {places}. Options change that.", places=", ".join(parts)))
        link(tr("Add your documents"), "add-documents", view="documents")
    return places


def _example() -> None:
    """Shows one quotation for each side of one sample question."""
    shown = json.loads((FOLDER / "example.json").read_text(encoding="utf-8"))
    sides = ""
    for side in shown["sides"]:
        answer, quote, source = (text(side[part]) for part in ("answer", "quote", "source"))
        sides += f'<p><b>{answer}</b> “{quote}” <span class="sm-small">{source}</span></p>'
    st.html(f'<div class="sm-sample"><p class="sm-small">{text(shown["question"])}</p>{sides}</div>')


def _topics(service: PageService) -> None:
    """Offers every question that the samples answer."""
    html.small(tr("Or ask the sample texts that come with Steelman, on one of thirty topics:"))
    names = {
        question: topic.replace("-", " ").replace("ai ", "AI ").replace("gm ", "GM ")
        for topic, question in sample_questions().items()
    }
    told = names.__getitem__
    if chosen := st.pills(tr("Topics"), list(names), format_func=told, label_visibility="collapsed", key="topic"):
        begin(service, chosen, collections=(SAMPLES,))


def ask(service: PageService, typed: str, thread: str | None, options: dict[str, Any]) -> None:
    """Starts a run, or carries out a command such as '/against 2' that follows up on an answer."""
    st.session_state["chosen"] = {name: options[name] for name in ("depth", "review")}
    if not thread:
        kept = ("collections", "web", "sources")
        st.session_state["places"] = {name: options[name] for name in kept if name in options}
    before = service.rows.get(thread).answer if thread and typed.strip().startswith("/") else None
    if before is None:
        begin(service, typed, thread=thread, **options)
        return
    with permissions.told():
        carry_out(service, before, typed, run_slash_command(typed, before), **options)


def carry_out(
    service: PageService, answer: Answer, asked: str, made: CommandReply | CommandSearch, **options: Any
) -> None:
    """Shows the command's reply below the answer. If the command needs a run, starts the run instead."""
    if isinstance(made, CommandSearch):
        options |= {"depth": made.depth} if made.depth else {}
        typed = asked.casefold().startswith("/against")
        begin(service, asked if typed else made.question, thread=answer.run_id, **options)
        return
    replies = st.session_state.setdefault(f"replies-{answer.run_id}", [])
    replies.append((asked, made))
    st.session_state["told"] = True
    reply, typed = f".st-key-reply-{len(replies)}", asked.startswith("/")  # who typed goes on typing
    focus.then(focus=reply if st.session_state.pop(SOURCE, None) or not typed else "", clear=reply)
    st.rerun()


def begin(
    service: PageService, question: str, depth: Depth = "normal", *, thread: str | None = None, **options: Any
) -> None:
    """Starts the run and opens its address. With the option `beside` (another run, and the new run's name in the
    history) opens the comparison of both runs. A follow-up to an answer of a shared link opens a thread of its own.
    Shows an error for a question that cannot be asked."""
    visitor = str(id(st.session_state.setdefault("visitor", object())))
    beside, named = options.pop("beside", ("", ""))
    with permissions.told():
        apart = bool(thread) and permissions.by_shared_link(service.person, service.rows.get(thread or "").thread)
        try:
            with st.spinner(tr("Reading the question …")):
                run_id = service.start(question, depth, thread=thread, apart=apart, visitor=visitor, **options)
        except GreetingError as exc:
            _greet(service, exc, options.get("collections") or service.places(thread)["collections"])
            return
        st.session_state.setdefault("asked", set()).add(run_id)  # a new thread has its first run's id
        if named and (apart or not thread):
            service.threads.name_thread(run_id, named)
        go(**({"run": beside, "view": "compare", "with": run_id} if beside else {"run": run_id}))
        st.rerun()


def _greet(service: PageService, greeting: GreetingError, places: Sequence[str]) -> None:
    """Replies with an example on the samples, or with titles of a person's own documents. places: what is searched."""
    rows = [row for place in places for row in service.store.documents(place, 3)]
    titles = dict.fromkeys(str(row.title) or named_row(row) for row in rows)
    if SAMPLES in places or not titles:
        html.warning(translated(str(greeting)))
        st.button(tr("Ask: {question}", question=EXAMPLE), key="example", on_click=_ask_example)
        return
    named = ", ".join(in_marks(label(title), "‘{}’") for title in [*titles][:3])
    html.warning(f"{greeting.reply} {tr(_ARGUED, titles=named)}")


def _ask_example() -> None:
    st.session_state["topic"] = EXAMPLE
    go()


def link(words: str, key: str, **query: str) -> None:
    """Shows a button that looks like a link to another view."""
    st.button(words, key=key, type="tertiary", on_click=go, kwargs=query)


def go(**query: str) -> None:
    """Opens another view at its own address.

    As a button's callback, `go` runs before the page is drawn. Anywhere else, call `st.rerun` after `go`.
    """
    st.query_params.from_dict(query | ({"shared": "1"} if "shared" in st.query_params else {}))
    focus.then(top=True)
