"""Text that wants to be more than text: as sources, replies and answers; and a look at what a page made of it."""

from typing import Any

from visitors import Visitor
from written_answers import answer, cited, stands

from agent.answer.model import Answer, AnswerClaim, DocumentResponse, Note, Quotation, ResponseGroup, ResponseSentence
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
SHORT = (
    "<script>window.hacked=1</script> <img src=x onerror='window.hacked=1'> [go](javascript:alert(1)) www.evil.example "
    ":red[red] :material/delete: $x^2$ <b>bold</b>"
)
"""Without a mark that ends a sentence, so that it can be quoted."""
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
"""Parts that have to be read on the page, letter by letter, wherever the whole of it stands."""

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
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push('the document is ' + wide + ' pixels wide');
  for (const e of app.querySelectorAll('[data-testid=stMain], [data-testid=stSidebarContent]'))
    if (e.clientWidth > 200 && e.scrollWidth > e.clientWidth + 1)
      found.push(e.dataset.testid + ' is ' + e.scrollWidth + ' pixels wide');
  return found;
}"""


def what_it_did(visitor: Visitor) -> list[str]:
    """What the text has become on the page that is not text; empty on a good day."""
    return sorted({*visitor.page.evaluate(_LOOK), *visitor.complaints})


def check_harmless(visitor: Visitor) -> None:
    """Raises AssertionError with what the text did."""
    did = what_it_did(visitor)
    assert not did, "\n".join(did)


def hidden(visitor: Visitor, parts: tuple[str, ...] = SHOWN) -> list[str]:
    """Those of the parts that cannot be read on the page."""
    said = visitor.page.get_by_test_id("stMain").inner_text()
    return [part for part in parts if part not in said]


def documents() -> list[SourceDocument]:
    """Six sources, for and against in turns, hostile in every field."""
    return [
        SourceDocument(
            f"<b>{n}</b>",
            prose(n, name, SHORT),
            title=f"Bridges for {name} <img src=x onerror='window.hacked=1'> :red[red]",
            url=ADDRESSES[n % len(ADDRESSES)],
            publisher=f"{name} {MARKUP} {STREAMLIT}",
            date=f"2026-03-12{MARKUP}",
        )
        for n, name in enumerate("Arden Brill Corby Dunmow Ewell Frome".split())
    ]


def prose(number: int, name: str, words: str) -> str:
    """Sentences on bridges, near enough to the question to be found, with the words in the first."""
    sort = "stone iron timber steel rope brick chain swing lifting floating".split()[number]
    return (
        f"Towns should {'not ' * (number % 2)}build bridges {words} says the council of {name}. "
        f"A {sort} bridge joins both banks of a town. Whether towns should build bridges is asked in {name} each May. "
        f"Towns with a {sort} bridge in {name} county know what bridges cost, and what towns without bridges lose."
    )


def answer_of(words: str, passages: list[int]) -> Answer:
    """An answer that says these words wherever an answer says something."""
    numbers = list(range(1, len(ADDRESSES) + 1))
    everywhere = dict.fromkeys(("document_id", "collection", "quote", "publisher", "date"), words)
    citations = [
        cited(
            number,
            **everywhere,
            passage_id=passages[number % len(passages)],
            title=f"{number} {words}",
            url=ADDRESSES[number - 1],
            more=[Quotation(passage_id=passages[0], quote=words, support=0.8)],
        )
        for number in numbers
    ]
    reply: dict[str, Any] = {"reason": words, "answered_by": [f"1 {words}"]}
    claims = [
        AnswerClaim(
            text=f"{n} {words}", citations=[n], quoted=n % 2 > 0, shown=f"{n} [{words}]" if n % 3 else "", **reply
        )
        for n in numbers
    ]
    sentence = ResponseSentence(text=words, shown=f"[{words}]", passage_id=passages[0], support=0.9)
    response = DocumentResponse(
        document_id="d",
        collection="mine",
        title=words,
        publisher=words,
        url=ADDRESSES[0],
        citation=1,
        thesis=ResponseSentence(text=words, passage_id=passages[0], support=0.9),
        evidence=[sentence],
    )
    groups = [ResponseGroup(sources=2, responses=[response])]
    sides = [
        stands("p1", "supports", words, *claims, name=words, groups=groups),
        stands("p2", "opposes", words, claims[0], name=words, status="thin"),
        stands("p3", "other", words, name=words, status="not_found"),
    ]
    return answer(
        words,
        *sides,
        run_id="0",
        neutral_question=f"{words} at all",
        focus=words,
        summary=words,
        also=[c.model_copy(update={"role": "also"}) for c in claims[:6]],
        citations=citations,
        notes=[Note(kind="failed", text=words)],
        nearest_questions=[words],
        providers={"write": words, "judge": words},
    )
