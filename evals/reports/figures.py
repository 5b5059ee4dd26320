"""The figures of a report: bars with intervals, coverage against k, calibration, quality against speed."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.reports.lines import Line
from evals.reports.table import grouped, shown
from tools.errors import SettingsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAIN = {
    "judge": ("f1", "accuracy", "auc"),
    "retrieval": ("mrecall@5", "coverage@5", "precision@5"),
    "answers": (
        *("all_sides_cited", "citations_right", "wrong_of_known", "one_sided", "smaller_side_share"),
        *("claims_supported", "missing_admitted", "same_evidence"),
    ),
}
_QUALITY = {"judge": "auc", "retrieval": "coverage@5"}
_MOST = 8  # measures in one picture of bars


def draw(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Writes the pictures that the lines allow and returns their files. Raises SettingsError without matplotlib."""
    plot = _matplotlib()
    pictures = []
    for (suite, data), group in grouped(lines).items():
        jobs = {"bars": _bars, "coverage": _coverage, "calibration": _calibration, "speed": _speed}
        for kind, job in jobs.items():
            figure, axes = plot.subplots(figsize=(7, 4.2), layout="constrained")
            if job(axes, group):
                axes.set_title(f"{suite} on {data}", loc="left", fontsize=11)
                pictures.append(folder / f"{suite}-{_file(data)}-{kind}.png")
                figure.savefig(pictures[-1], dpi=110)
            plot.close(figure)
    return pictures


def _bars(axes: "Axes", group: Sequence[Line]) -> bool:
    measures = [m for m in _MAIN.get(group[0].suite, shown(group)) if any(m in line.intervals for line in group)]
    width = 0.8 / len(group)
    for place, line in enumerate(group):
        drawn_bars = [(i, m) for i, m in enumerate(measures[:_MOST]) if m in line.intervals]
        values = [line.metrics[m] for _, m in drawn_bars]
        ends = [line.intervals[m] for _, m in drawn_bars]
        spread = [
            [max(0.0, v - low) for v, (low, _) in zip(values, ends, strict=True)],
            [max(0.0, high - v) for v, (_, high) in zip(values, ends, strict=True)],
        ]
        where = [i + (place - (len(group) - 1) / 2) * width for i, _ in drawn_bars]
        axes.bar(where, values, width * 0.92, yerr=spread, capsize=2, label=line.name, error_kw={"lw": 0.9})
    axes.set_xticks(range(len(measures[:_MOST])), measures[:_MOST], rotation=0 if len(measures) < 4 else 30)
    if len(group) > 1:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return bool(measures)


def _coverage(axes: "Axes", group: Sequence[Line]) -> bool:
    """Coverage@k, and MRecall@k dashed, over the cut-offs that were asked for."""
    drawn = False
    for line in group:
        for kind, style in (("coverage", "-o"), ("mrecall", "--s")):
            ks = sorted(int(m.partition("@")[2]) for m in line.metrics if m.startswith(f"{kind}@"))
            if len(ks) > 1:
                colour = axes.lines[-1].get_color() if kind == "mrecall" else None
                label = line.name if kind == "coverage" else None
                axes.plot(ks, [line.metrics[f"{kind}@{k}"] for k in ks], style, color=colour, label=label, ms=4)
                drawn = True
    axes.set(xlabel="k (MRecall@k dashed)", ylabel="coverage@k", ylim=(0, 1.03))
    if drawn:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


def _calibration(axes: "Axes", group: Sequence[Line]) -> bool:
    curves = [line for line in group if line.reliability]
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for line in curves:
        rows = line.reliability
        (drawn,) = axes.plot([r["mean"] for r in rows], [r["positive"] for r in rows], "-o", ms=4, label=line.name)
        for row in rows:
            _beside(axes, f"{row['pairs']:.0f}", (row["mean"], row["positive"]), fontsize=7, color=drawn.get_color())
    axes.set(xlabel="probability (numbers: pairs)", ylabel="share that supports", xlim=(0, 1), ylim=(0, 1))
    if curves:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return bool(curves)


def _speed(axes: "Axes", group: Sequence[Line]) -> bool:
    measure = _QUALITY.get(group[0].suite, "")
    timed = [line for line in group if line.per_second > 0 and not math.isnan(line.metrics.get(measure, math.nan))]
    for line in timed:
        axes.plot(line.per_second, line.metrics[measure], "o")
        _beside(axes, line.name, (line.per_second, line.metrics[measure]), fontsize=8)
    unit = "pairs" if group[0].suite == "judge" else "questions"
    axes.set(xlabel=f"{unit} a second", ylabel=measure, xscale="log", ylim=(0, 1.03))
    if timed:
        speeds = [line.per_second for line in timed]
        axes.set_xlim(min(1, min(speeds) / 3), 10 * max(speeds))  # a name stands to the right of its point
    return len(timed) > 1


def _beside(axes: "Axes", text: str, point: tuple[float, float], **look: Any) -> None:
    axes.annotate(text, point, xytext=(5, 4), textcoords="offset points", **look)


def _file(data: str) -> str:
    return re.sub(r"[^\w.]+", "-", data).strip("-.") or "data"


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as exc:
        raise SettingsError(
            f"figures need the extra 'evals' ({exc}). Install it: `.venv/bin/pip install matplotlib`."
        ) from exc
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
