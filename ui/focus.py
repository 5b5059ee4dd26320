"""Moves the focus and scrolls after Streamlit has drawn the page, and closes the sidebar on a phone. Tells the browser
the page's language."""

import json
import time

import streamlit as st

from tools.translation import spoken_language, tr

_NEXT = "moves"
_SCRIPT = """<script>{
document.currentScript.remove();  // none is to be found on the page
const {focus, gently, shown, clear, top, print, at} = %s, sought = focus || shown || clear;
const stop = () => clearInterval(window.steelmanMoves);
stop();  // what was to be done before
if (top) {
  document.querySelector('.stMain')?.scrollTo(0, 0);
  if (innerWidth <= 768) document.querySelector('[data-testid=stSidebarCollapseButton] button')?.click();
}
// Once: the same script may be inserted again, and a second click within two seconds is a double click.
if (print && !(at - window.printed < 2e9)) setTimeout(() => window.print(), 500, window.printed = at);
let seen = 0, drawn = 0, looks = 0, unfolded;
window.steelmanMoves = sought && setInterval(() => {
  const found = document.querySelector(sought), has = document.activeElement, free = has === document.body;
  const fold = found?.closest('details:not([open])');
  if (fold && fold !== unfolded) return (unfolded = fold).querySelector('summary').click();
  if (found && focus && (free || !gently && !seen) && !has.value) {  // who is typing goes on
    if (found.tabIndex < 0) found.tabIndex = -1;  // a heading
    found.focus({preventScroll: true});
  }
  if (found && shown && !seen) found.scrollIntoView({block: 'center'});
  const kept = found && clear && document.querySelector(clear);
  if (kept) {
    const [used, at] = window.steelmanAt ?? [], moved = kept.contains(used) ? used.getBoundingClientRect().top - at : 0;
    const sheet = found.closest('.stColumn'), box = kept.getBoundingClientRect();
    const low = sheet && getComputedStyle(sheet).position === 'fixed' ? sheet : document.querySelector('.stBottom');
    const over = box.bottom + 16 - (low?.getBoundingClientRect().top ?? innerHeight);
    document.querySelector('.stMain').scrollBy(0, Math.min(Math.max(moved, over), box.top - 70));
    const panel = found.closest('.st-key-source'), mark = panel?.querySelector('mark')?.getBoundingClientRect();
    if (mark) panel.scrollTop += Math.max(0, mark.bottom + 16 - panel.getBoundingClientRect().bottom);
  }
  if (found) seen++;
  // While the page is being drawn, what was found may be drawn anew, without the focus, or grow.
  if (!document.querySelector('[data-test-script-state=running]')) drawn++;
  if (drawn > (seen ? 15 : 60) || ++looks > 600) stop();
}, 50);
}</script>"""

_WATCH = """<script>document.currentScript.remove();
document.documentElement.lang = %s;
Object.assign(document.querySelector('[data-testid=stSkipToContent]') ?? {}, {textContent: %s});  // Streamlit's link
onkeydown = onpointerdown = onwheel = ({target, key, isComposing}) => {  // from here on a person moves
  const asking = key === 'Enter' && !isComposing && target.matches('input') && target.closest('.st-key-asking');
  if (asking) setTimeout(() => asking.querySelector('button').click());  // after Streamlit has taken the text
  clearInterval(window.steelmanMoves);
  window.steelmanAt = [target, target.getBoundingClientRect().top];
}</script>"""


def then(*, focus: str = "", clear: str = "", top: bool = False, to_print: bool = False) -> None:
    """Sets what happens after the next drawing. focus: CSS selector of the element that gets the focus. clear: selector
    of an element that must stay visible: the open source and the field at the lower edge may not cover the element. If
    the element was clicked, it also stays in place.
    top: scrolls to the top of another view. to_print: opens the print dialog."""
    st.session_state[_NEXT] = {"focus": focus, "clear": clear, "top": top, "print": to_print, "at": time.time_ns()}


def print_button() -> None:
    """Shows a button that prints the page without its controls."""
    st.button(tr("Print"), "print", on_click=then, kwargs={"to_print": True}, type="tertiary")


def due() -> str:
    """Returns the scripts that watch a person's moves, set the page's language and take the actions of `then`."""
    watch = _WATCH % (json.dumps(spoken_language()), json.dumps(tr("Skip to the content")))
    return watch + (_script(wanted) if (wanted := st.session_state.pop(_NEXT, None)) else "")


def now(*, focus: str = "", shown: str = "") -> str:
    """Returns a script that gives an element the focus unless another has it, or scrolls an element into view."""
    return _script({"focus": focus, "gently": True, "shown": shown})


def _script(wanted: dict[str, object]) -> str:
    """Returns the script with these values as JSON, escaped so that it cannot end the script element."""
    return _SCRIPT % json.dumps(wanted).replace("<", r"\u003c")
