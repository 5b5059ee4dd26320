"""The coverage ledger as a picture: who says it, what supports whom, what kind of sources, and what was not found."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from agent.answer.model import Answer
from agent.answer.retrieved import Evidence
from agent.answer.words import cased, line_of, looked_for, strength_of
from ui import ledger, say
from ui.shown import text
from ui.style import INK, STANCES

if TYPE_CHECKING:
    import altair as alt

_ROW = 34  # pixels of a side
_KINDS = ["academic", "government", "news", "reference", "advocacy", "company", "forum", "personal", "unknown"]
_TINTS = ["#27476b", "#4c7096", "#7d9cb8", "#adc3d6", "#c9b48b", "#a98f5b", "#8a6d3b", "#8d8497", "#c9c5cf"]


def show(answer: Answer, evidence: Sequence[Evidence]) -> None:
    """The whole ledger, under a heading of its own."""
    st.html("<h2>The evidence</h2>")
    if answer.perspectives:
        _charts(answer, evidence)
    if missing := _not_found(answer):
        st.html(missing)


def _charts(answer: Answer, evidence: Sequence[Evidence]) -> None:
    bars, kinds, matrix = _specs(answer.run_id, len(evidence), answer, evidence)
    left, right = st.columns(2, gap="large")
    with left:
        _draw(bars, "Evidence for each side: " + _said(ledger.evidence_bars(answer)))
    if kinds is not None:
        with right:
            rows = ledger.kind_bars(answer, evidence)
            _draw(kinds, "Sources by kind: " + _said(rows))
            st.html(_legend(rows))
    if matrix is not None:
        _draw(matrix, "Which passage supports which side, as judged")
    else:
        say.small("What was judged in this run is not kept any more, so its passages cannot be drawn.")


@st.cache_data(max_entries=64, show_spinner=False)
def _specs(run_id: str, judged: int, _answer: Answer, _evidence: Sequence[Evidence]) -> list[dict[str, Any] | None]:
    """The three charts as Vega-Lite, kept by run: an answer never changes, and Altair checks each chart for 40 ms."""
    kinds, dots = ledger.kind_bars(_answer, _evidence), ledger.dots(_answer, _evidence)
    passages = len({e.passage_id for e in _evidence})
    matrix = _matrix(_answer, dots, passages) if dots else None
    charts = (_bars(_answer), _kinds(_answer, kinds) if kinds else None, matrix)
    return [None if chart is None else chart.to_dict() for chart in charts]


def _draw(spec: dict[str, Any] | None, words: str) -> None:
    st.vega_lite_chart(spec=spec, width="stretch", alt=words)


def _legend(rows: Sequence[ledger.Bar]) -> str:
    """The kinds with their tints, in words that wrap."""
    shown = [(k, t) for k, t in zip(_KINDS, _TINTS, strict=True) if any(r.part == k for r in rows)]
    return (
        '<p class="sm-legend">' + "".join(f'<span><i style="background:{t}"></i>{k}</span>' for k, t in shown) + "</p>"
    )


def _said(bars: Sequence[ledger.Bar]) -> str:
    return "; ".join(f"{b.side}: {b.words}" for b in bars)


def _values(rows: Sequence[Any]) -> "alt.Data":
    import altair as alt

    return alt.Data(values=[asdict(r) for r in rows])  # type: ignore[no-untyped-call]  # Altair types its schema classes not


def _side(answer: Answer) -> "alt.Y":
    import altair as alt

    order = list(ledger.names(answer).values())
    return alt.Y(
        "side:N", sort=order, title=None, axis=alt.Axis(labelLimit=190, labelColor=INK, ticks=False, domain=False)
    )


def _stances() -> "alt.Scale":
    import altair as alt

    return alt.Scale(domain=list(STANCES), range=list(STANCES.values()))


def _bars(answer: Answer) -> "alt.LayerChart":
    import altair as alt

    rows = ledger.evidence_bars(answer)
    base = alt.Chart(_values(rows), title="Who says it").encode(y=_side(answer))
    most = max([r.amount for r in rows] + [1])
    axis = alt.X("amount:Q", title=None, axis=None, scale=alt.Scale(domain=[0, most]))
    bars = base.mark_bar(height=9, yOffset=6).encode(
        x=axis, color=alt.Color("stance:N", scale=_stances(), legend=None), tooltip=["side:N", "words:N"]
    )
    words = base.mark_text(align="left", dy=-6).encode(x=alt.value(0), text="words:N")
    return cast("alt.LayerChart", alt.layer(bars, words).properties(height=alt.Step(_ROW)))


def _kinds(answer: Answer, rows: Sequence[ledger.Bar]) -> "alt.Chart":
    import altair as alt

    present = [k for k in _KINDS if any(r.part == k for r in rows)]
    shade = alt.Color(
        "part:N", scale=alt.Scale(domain=present, range=[_TINTS[_KINDS.index(k)] for k in present]), legend=None
    )
    chart = alt.Chart(_values(rows), title="Independent sources by kind").mark_bar(height=14)
    encoded: alt.Chart = chart.encode(
        x=alt.X("amount:Q", title=None, axis=alt.Axis(tickMinStep=1, format="d", grid=False, labelColor=INK)),
        y=_side(answer),
        color=shade,
        tooltip=["side:N", alt.Tooltip("part:N", title="kind"), alt.Tooltip("amount:Q", title="sources")],
    ).properties(height=alt.Step(_ROW))
    return encoded


def _matrix(answer: Answer, rows: Sequence[ledger.Dot], judged: int) -> "alt.LayerChart":
    """judged: how many passages the run judged, of which those with a dot may be fewer."""
    import altair as alt

    drawn = len({row.column for row in rows})
    largest = alt.ExprRef(f"min(240, 0.8 * pow(width / {drawn}, 2))")  # no wider than a column, on a phone too
    base = alt.Chart(
        _values(rows),
        title=alt.Title(
            "Each passage and each side",
            subtitle=[
                "A column is a passage; the larger its dot, the surer the judge.",
                "Filled: it counts for the side. Without a dot: not judged.",
                *([f"Of {judged} passages the {drawn} surest are drawn."] if judged > drawn else []),
            ],
        ),
    ).encode(
        x=alt.X("column:O", axis=None),
        y=_side(answer),
        tooltip=[
            alt.Tooltip("passage:N"),
            alt.Tooltip("publisher:N"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("support:Q", title="probability", format=".2f"),
            alt.Tooltip("verdict:N"),
        ],
    )
    filled = alt.condition(f"datum.verdict === '{ledger.COUNTS}'", alt.value(0.9), alt.value(0.0))
    circles = base.mark_circle(strokeWidth=1, opacity=1).encode(
        color=alt.Color("stance:N", scale=_stances(), legend=None),
        stroke=alt.Stroke("stance:N", scale=_stances(), legend=None),
        size=alt.Size("support:Q", scale=alt.Scale(domain=[0, 1], rangeMin=4, rangeMax=largest), legend=None),
        fillOpacity=filled,
    )
    cited = base.mark_text(fontSize=11, dy=-14).encode(text="cited:N")
    return cast("alt.LayerChart", alt.layer(circles, cited).properties(height=alt.Step(_ROW)))


def _not_found(answer: Answer) -> str:
    """What was not found and what was tried, in words."""
    lines = []
    for side in answer.perspectives:
        line = line_of(answer, side)
        if line.status != "supported":
            strength = strength_of(line, cased(side))
            tried = f"<br>{text(looked_for(answer, side, line))}" if looked_for(answer, side, line) else ""
            lines.append(f"<li><b>{text(side.statement)}</b> {text(strength)}{tried}</li>")
    if not answer.perspectives:
        queries = dict.fromkeys(q for line in answer.coverage for q in line.queries)
        lines += [f"<li>{text(q)}</li>" for q in queries]
    heading = "What was not found" if answer.perspectives else "What was looked for"
    return f"<h4>{heading}</h4><ul>{''.join(lines)}</ul>" if lines else ""
