"""Text that wants to be more than text: as sources, replies and answers; and a look at what a page made of it."""

from typing import Any

from toll_run import toll_answer
from visitors import Visitor

from agent.answer.model import Answer, Note
from tools.passages import SourceDocument

MARKUP = (
    "<script>window.hacked=1;alert(1)</script><iframe src='https://evil.example/'></iframe>"
    "<img src='https://evil.example/x.png' onerror='window.hacked=1'><svg onload='window.hacked=1'></svg>"
    "<style>body{display:none}</style><form action='https://evil.example/'><input name=q></form>"
    "<b onmouseover='window.hacked=1'>bold</b>"
)
MARKDOWN = (
    "![](https://evil.example/y.png) [go](javascript:alert(1)) [away](https://evil.example/z) <https://evil.example/> "
    "https://evil.example/bare www.evil.example write@evil.example `code` **strong** ~~struck~~"
)
STREAMLIT = (
    ":red[red] :blue-background[blue] :green-badge[green] :small[small] :rainbow[bow] :material/delete: :streamlit: "
    ":smile: $x^2$ $$y^3$$ st.markdown('<hr>', unsafe_allow_html=True)"
)
HIDDEN = "\u202etfel ot thgir\u202c \u2066\u200b\u0007"
HOSTILE = f"{MARKUP} {MARKDOWN} {STREAMLIT} {HIDDEN}"
ADDRESSES = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    'https://source.example/" onmouseover="window.hacked=1" x="',
    "https://source.example/'><script>window.hacked=1</script>",
    " javascript:alert(1)//https://source.example",
    "mailto:write@evil.example",
    "file:///etc/passwd",
)
SHOWN = ("<script>window.hacked=1", "![](https://evil.example/y.png)", ":red[red]", ":material/delete:", "$x^2$")
"""Parts that the page has to show letter by letter."""

_WORDED = set(
    "text name statement title publisher date quote shown reason summary question focus neutral_question".split()
)
_LOOK = """() => {
  const app = document.body;  // cards and tooltips lie beside the page's own element
  const all = [...app.querySelectorAll('*')];
  const found = [];
  const say = (what, e) => found.push(what + ': ' + e.outerHTML.slice(0, 160));
  const active = 'script,iframe,object,embed,audio,video,base,meta,link,img,form[action],input[name=q],svg[onload]';
  const own = '.stMarkdownColoredText,.stMarkdownColoredBackground,.stMarkdownBadge,.katex,del,code';
  app.querySelectorAll(active).forEach(e => say('an element', e));
  app.querySelectorAll(own).forEach(e => say('markup', e));
  all.filter(e => e.tagName === 'STYLE' && !e.textContent.includes('.sm-')).forEach(e => say('a style', e));
  all.filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).forEach(e => say('a handler', e));
  app.querySelectorAll('[data-testid=stIconMaterial],[role=img]').forEach(e => {
    if (e.textContent.trim() === 'delete') say('an icon', e); });
  app.querySelectorAll('a[href]').forEach(e => {
    if (!/^https?:$/.test(e.protocol) || /evil/.test(e.hostname)) say('a link', e); });
  if (window.hacked) found.push('a script ran');
  if (/[\\u202a-\\u202e\\u2066-\\u2069\\u0007]/.test(app.innerText)) found.push('a direction or control mark');
  for (const e of [document.documentElement, ...app.querySelectorAll('[data-testid=stMain]')])
    if (e.scrollWidth > e.clientWidth + 1) found.push(`${e.tagName} is ${e.scrollWidth} pixels wide`);
  return found;
}"""


def check_harmless(visitor: Visitor) -> None:
    """Raises AssertionError with what the text has become on the page that is not text."""
    did = sorted({*visitor.page.evaluate(_LOOK), *visitor.complaints})
    assert not did, "\n".join(did)


def document() -> SourceDocument:
    return SourceDocument(
        "<b>1</b>", HOSTILE, title=HOSTILE, url=ADDRESSES[0], publisher=HOSTILE, date=f"2026-03-12{MARKUP}"
    )


def hostile_answer(run: str, passage: int) -> Answer:
    """An answer that says these words wherever an answer says something."""
    told = _worded(toll_answer().model_dump()) | {"run_id": run, "nearest_questions": [HOSTILE]}
    for n, citation in enumerate(told["citations"]):
        citation |= {"url": ADDRESSES[n % len(ADDRESSES)], "passage_id": passage}
    told["notes"] = [Note(kind="failed", text=HOSTILE)]
    told["providers"] = {"write": HOSTILE, "judge": HOSTILE}
    return Answer.model_validate(told)


def _worded(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _worded(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_worded(part, field) for part in value]
    return HOSTILE if field in _WORDED and value else value
