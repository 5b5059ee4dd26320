"""The coverage ledger: which passage supports which side, as a picture."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from agent.answer.model import Answer
from agent.answer.retrieved import Evidence
from agent.answer.words import called
from ui import say
from ui.shown import label
from ui.style import INK, STANCES

MOST_PASSAGES = 40
COUNTS, COUNTS_NOT = "counts for the side", "does not count"
_CAPTION = (
    "Each passage and each side. A column is a passage; the larger its dot, the surer the judge is that the passage as "
    "a whole argues for the side. Filled: it counts for the side. Without a dot: not judged."
)
_LONGEST_NAME = 26
_ROW = 34  # pixels of a side
Spec = dict[str, Any]
"""A chart, or a part of one, in Vega-Lite; or a row of its data."""


def show(answer: Answer, evidence: Sequence[Evidence]) -> None:
    """The whole ledger, under a heading of its own."""
    st.html('<h2 class="sm-screen">The evidence</h2>')
    if evidence:
        matrix = _matrix(answer, rows := dots(answer, evidence))
        drawn, judged = len({row["column"] for row in rows}), len({e.passage.id for e in evidence})
        fewer = f" Of {judged} passages the {drawn} surest are drawn." if judged > drawn else ""
        st.html(f'<p class="sm-small sm-screen">{_CAPTION}{fewer}</p>')
        st.vega_lite_chart(spec=matrix, width="stretch", alt="Which passage supports which side, as judged")
    else:
        say.small("What was judged in this run is not kept any more, so its passages cannot be drawn.")


def names(answer: Answer) -> dict[str, str]:
    """A short name for each side, all of them different."""
    found: dict[str, str] = {}
    for side in answer.perspectives:
        short = label(called(answer, side), _LONGEST_NAME)
        found[side.id] = short if short not in found.values() else f"{short} ({side.id})"
    return found


def dots(answer: Answer, evidence: Sequence[Evidence]) -> list[Spec]:
    """A row for each judged pair: a passage (a column, counted from 1) and a side. The passages that count for a side
    come first, then those that came nearest to it."""
    sides, stances = names(answer), {s.id: s.stance for s in answer.perspectives}
    known = [e for e in evidence if e.side in sides]
    best: dict[int, tuple[bool, float]] = {}
    for pair in known:
        best[pair.passage.id] = max(best.get(pair.passage.id, (False, 0.0)), (pair.counts, pair.support))
    column = {i: n for n, i in enumerate(sorted(best, key=lambda i: (best[i], -i), reverse=True)[:MOST_PASSAGES], 1)}
    cited = _cited(answer)
    return [
        {
            "side": sides[pair.side],
            "stance": stances[pair.side],
            "column": column[pair.passage.id],
            "passage": label(pair.passage.title or pair.passage.document_id, 80),
            "publisher": label(", ".join(filter(None, (pair.passage.said_by, pair.passage.publisher))), 60),
            "kind": pair.passage.kind,
            "support": round(pair.support, 2),
            "verdict": COUNTS if pair.counts else COUNTS_NOT,
            "cited": cited.get((pair.side, pair.passage.id), ""),
        }
        for pair in known
        if pair.passage.id in column
    ]


def _cited(answer: Answer) -> dict[tuple[str, int], str]:
    """'[3]' for the (side, passage) pairs that a claim of the side cites."""
    passages = {c.number: {c.passage_id, *(q.passage_id for q in c.more)} for c in answer.citations}
    return {
        (side.id, passage): f"[{number}]"
        for side in answer.perspectives
        for claim in side.claims
        for number in claim.citations
        for passage in passages[number]
    }


def _nominal(*fields: str) -> list[Spec]:
    return [{"field": field, "type": "nominal"} for field in fields]


def _matrix(answer: Answer, rows: Sequence[Spec]) -> Spec:
    drawn = len({row["column"] for row in rows})
    largest = {"expr": f"min(240, 0.8 * pow(width / {max(1, drawn)}, 2))"}  # no wider than a column, on a phone too
    scale = {"domain": list(STANCES), "range": list(STANCES.values())}
    stance = {"field": "stance", "type": "nominal", "scale": scale, "legend": None}
    support = {"field": "support", "type": "quantitative"}
    encoding = {
        "color": stance,
        "stroke": stance,
        "size": {**support, "scale": {"domain": [0, 1], "rangeMin": 4, "rangeMax": largest}, "legend": None},
        "fillOpacity": {"condition": {"test": f"datum.verdict === '{COUNTS}'", "value": 0.9}, "value": 0.0},
        "tooltip": [*_nominal("passage", "publisher", "kind"), {**support, "format": ".2f"}, *_nominal("verdict")],
    }
    ink = INK.get(st.context.theme.type or "light", INK["light"])
    layers: tuple[Spec, ...] = (
        {"mark": {"type": "circle", "strokeWidth": 1, "opacity": 1}, "encoding": encoding},
        {
            "mark": {"type": "text", "fontSize": 11, "dy": -14},
            "encoding": {"text": _nominal("cited")[0], "color": {"value": ink}},
        },
    )
    axis = {"labelLimit": 190, "labelColor": ink, "ticks": False, "domain": False}
    y = {"field": "side", "type": "nominal", "sort": list(names(answer).values()), "title": None, "axis": axis}
    x = {"field": "column", "type": "ordinal", "axis": None}
    data, height = {"values": list(rows)}, {"step": _ROW}
    return {"data": data, "height": height, "encoding": {"y": y, "x": x}, "layer": list(layers)}
