"""The news suite's report as text."""

import math
from collections.abc import Sequence

from evals.metrics import diversity as measure
from evals.reports.records import Record

_DIVERSITY = ("distance", "density", "coverage", "coverage_without_noise")


def table(report: Record) -> str:
    """Two blocks a k, in percent with 95 % intervals over events in brackets; then the seconds of stage II.

    Those of the events that are held out follow in the same form.
    """
    config = report["config"]
    lines = [
        "* the paired interval of the difference to dense leaves zero out",
        "× a method's figure / dense retrieval's, in brackets the paper's ratio on its own clusters and encoder",
        "",
    ]
    for data in config["sizes"]:
        lines += _lines_of(report, data)
    by = config["reranker"] or "its cosine"
    lines += [f"{reading}: {_calibration(one)}" for reading, one in config.get("fitted", {}).items()]
    pairs_shown = f"encoder {config['encoder']}; greedyplus by {by}; enough {config['enough']}; seed {config['seed']}"
    return "\n".join([*lines, f"{report['seconds']['total']:.1f} s; {pairs_shown}"]) + "\n"


def _calibration(fitted: dict[str, float] | None) -> str:
    return f"slope {fitted['slope']}, midpoint {fitted['midpoint']}" if fitted else "no midpoint reaches the aims"


def _lines_of(report: Record, data: str) -> list[str]:
    config, size = report["config"], report["config"]["sizes"][data]
    lines = [
        f"{data}: {size['questions']} of {size['annotated']} annotated events; {size['paragraphs']} paragraphs from "
        f"{size['sources']} sources on {size['events']} events, {size['without_text']} without text left out",
        "",
    ]
    for k in config["k"]:
        relevance = [f"{reading}{m}@{k}" for reading in ("", "published_") for m in ("precision", "recall", "f1")]
        titles = [*(f"{t}@{k}" for t in ("P", "R", "F1")), *(f"published {t}@{k}" for t in ("P", "R", "F1"))]
        lines += _block(config, titles, [_figure_cells(report, data, name, relevance) for name in config["methods"]])
        diversity, compared = [[f"{m}@{k}" for m in of] for of in (_DIVERSITY, measure.COMPARED)]
        titles = [f"{t}@{k}" for t in ("D", "I", "C", "C without noise")]
        titles += [f"{t}@{k} ×" for t in ("F1", "D", "I", "C")]
        figures_of = [_figure_cells(report, data, name, diversity) for name in config["methods"]]
        ratios_of = [_ratio_cells(report, data, name, compared) for name in config["methods"]]
        lines += _block(config, titles, [a + b for a, b in zip(figures_of, ratios_of, strict=True)])
    spread = [report["stage_two"][data][name] for name in config["methods"]]
    rows = [[f"{s['median']:.4f}", f"{s['p95']:.4f}"] for s in spread]
    return lines + _block(config, ["stage II: s an event, median", "95th percentile"], rows)


def _block(config: Record, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as what is in them; a line's name is its method."""
    widths = [max(map(len, column)) + 2 for column in zip(titles, *rows, strict=True)]
    first = max(map(len, config["methods"]))
    named_rows = zip(["", *config["methods"]], [titles, *rows], strict=True)
    return [*(f"{n:{first}}" + "".join(map(str.rjust, cells, widths)) for n, cells in named_rows), ""]


def _figure_cells(report: Record, data: str, name: str, measures: Sequence[str]) -> list[str]:
    cells = []
    for m in measures:
        value, (low, high) = report["metrics"][data][name][m], report["intervals"][data][name][m]
        first, last = report["paired"][data].get(name, {}).get(m, {"interval": (0.0, 0.0)})["interval"]
        sure = "*" if first > 0 or last < 0 else ""
        cells.append("–" if math.isnan(value) else f"{100 * value:.1f}{sure} [{100 * low:.0f}, {100 * high:.0f}]")
    return cells


def _ratio_cells(report: Record, data: str, name: str, measures: Sequence[str]) -> list[str]:
    ratios = report["ratios"][data].get(name)
    if ratios is None:  # dense itself
        return ["×1"] * len(measures)
    pairs_shown = [(ratios[m]["here"], ratios[m]["paper"]) for m in measures]
    return [f"{_ratio(here)} ({_ratio(paper)})" for here, paper in pairs_shown]


def _ratio(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"
