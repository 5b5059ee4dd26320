"""The coverage ledger as a picture: who says it, what supports whom, what kind of sources, and what was not found."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from agent.answer.model import Answer
from agent.answer.retrieved import Evidence
from agent.answer.words import cased, line_of, looked_for, strength_of
from ui import ledger, say
from ui.shown import text
from ui.style import INK, STANCES

Spec = dict[str, Any]
"""A chart, or a part of one, in Vega-Lite."""
_ROW = 34  # pixels of a side
_KINDS = ["academic", "government", "news", "reference", "advocacy", "company", "forum", "personal", "unknown"]
_TINTS = ["#27476b", "#4c7096", "#7d9cb8", "#adc3d6", "#c9b48b", "#a98f5b", "#8a6d3b", "#8d8497", "#c9c5cf"]
_STANCE: Spec = {
    "field": "stance",
    "type": "nominal",
    "scale": {"domain": list(STANCES), "range": list(STANCES.values())},
    "legend": None,
}


def show(answer: Answer, evidence: Sequence[Evidence]) -> None:
    """The whole ledger, under a heading of its own."""
    st.html("<h2>The evidence</h2>")
    if answer.perspectives:
        _charts(answer, evidence)
    if missing := _not_found(answer):
        st.html(missing)


def _charts(answer: Answer, evidence: Sequence[Evidence]) -> None:
    bars, kinds, dots = ledger.evidence_bars(answer), ledger.kind_bars(answer, evidence), ledger.dots(answer, evidence)
    left, right = st.columns(2, gap="large")
    with left:
        _draw(_bars(answer, bars), "Evidence for each side: " + _said(bars))
    if kinds:
        with right:
            _draw(_by_kind(answer, kinds), "Sources by kind: " + _said(kinds))
            st.html(_legend(kinds))
    if dots:
        passages = len({e.passage_id for e in evidence})
        _draw(matrix(answer, dots, passages), "Which passage supports which side, as judged")
    else:
        say.small("What was judged in this run is not kept any more, so its passages cannot be drawn.")


def _draw(spec: Spec, words: str) -> None:
    st.vega_lite_chart(spec=spec, width="stretch", alt=words)


def _legend(rows: Sequence[ledger.Bar]) -> str:
    """The kinds with their tints, in words that wrap."""
    shown = [(k, t) for k, t in zip(_KINDS, _TINTS, strict=True) if any(r.part == k for r in rows)]
    return (
        '<p class="sm-legend">' + "".join(f'<span><i style="background:{t}"></i>{k}</span>' for k, t in shown) + "</p>"
    )


def _said(bars: Sequence[ledger.Bar]) -> str:
    return "; ".join(f"{b.side}: {b.words}" for b in bars)


def _chart(answer: Answer, title: object, rows: Sequence[Any], *layers: Spec, x: Spec | None = None) -> Spec:
    """A chart with a row for each side; `x` is what all layers have in common besides."""
    axis = {"labelLimit": 190, "labelColor": INK, "ticks": False, "domain": False}
    y = {"field": "side", "type": "nominal", "sort": list(ledger.names(answer).values()), "title": None, "axis": axis}
    return {
        "title": title,
        "data": {"values": [asdict(row) for row in rows]},
        "height": {"step": _ROW},
        "encoding": {"y": y} | ({"x": x} if x else {}),
        "layer": list(layers),
    }


def _mark(kind: str, encoding: Spec, **how: Any) -> Spec:
    return {"mark": {"type": kind, **how}, "encoding": encoding}


def _nominal(*fields: str) -> list[Spec]:
    return [{"field": field, "type": "nominal"} for field in fields]


def _bars(answer: Answer, rows: Sequence[ledger.Bar]) -> Spec:
    most = max([r.amount for r in rows] + [1])
    x = {"field": "amount", "type": "quantitative", "title": None, "axis": None, "scale": {"domain": [0, most]}}
    bar = {"x": x, "color": _STANCE, "tooltip": _nominal("side", "words")}
    words = {"x": {"value": 0}, "text": _nominal("words")[0]}
    layers = (_mark("bar", bar, height=9, yOffset=6), _mark("text", words, align="left", dy=-6))
    return _chart(answer, "Who says it", rows, *layers)


def _by_kind(answer: Answer, rows: Sequence[ledger.Bar]) -> Spec:
    present = [k for k in _KINDS if any(r.part == k for r in rows)]
    axis = {"tickMinStep": 1, "format": "d", "grid": False, "labelColor": INK}
    x = {"field": "amount", "type": "quantitative", "title": None, "axis": axis}
    shades = {"domain": present, "range": [_TINTS[_KINDS.index(k)] for k in present]}
    bar = {"color": {"field": "part", "type": "nominal", "scale": shades, "legend": None}}
    tooltip = [*_nominal("side", "part"), {"field": "amount", "type": "quantitative", "title": "sources"}]
    layer = _mark("bar", {**bar, "tooltip": tooltip}, height=14)
    return _chart(answer, "Independent sources by kind", rows, layer, x=x)


def matrix(answer: Answer, rows: Sequence[ledger.Dot], judged: int) -> Spec:
    """judged: how many passages the run judged, of which those with a dot may be fewer."""
    drawn = len({row.column for row in rows})
    left_out = [f"Of {judged} passages the {drawn} surest are drawn."] if judged > drawn else []
    subtitle = [
        "A column is a passage; the larger its dot, the surer the judge.",
        "Filled: it counts for the side. Without a dot: not judged.",
        *left_out,
    ]
    largest = {"expr": f"min(240, 0.8 * pow(width / {drawn}, 2))"}  # no wider than a column, on a phone too
    size = {"domain": [0, 1], "rangeMin": 4, "rangeMax": largest}
    support = {"field": "support", "type": "quantitative"}
    filled = {"condition": {"test": f"datum.verdict === '{ledger.COUNTS}'", "value": 0.9}, "value": 0.0}
    probability = {**support, "title": "probability", "format": ".2f"}
    dot = {
        "color": _STANCE,
        "stroke": _STANCE,
        "size": {**support, "scale": size, "legend": None},
        "fillOpacity": filled,
        "tooltip": [*_nominal("passage", "publisher", "kind"), probability, *_nominal("verdict")],
    }
    layers = (
        _mark("circle", dot, strokeWidth=1, opacity=1),
        _mark("text", {"text": _nominal("cited")[0]}, fontSize=11, dy=-14),
    )
    title = {"text": "Each passage and each side", "subtitle": subtitle}
    return _chart(answer, title, rows, *layers, x={"field": "column", "type": "ordinal", "axis": None})


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
