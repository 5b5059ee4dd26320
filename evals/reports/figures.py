"""The figures of a report: bars with intervals, coverage against k, calibration."""

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
_MOST = 8  # measures in one picture of bars


def draw(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Writes the pictures that the lines allow and returns their files. Raises SettingsError without matplotlib."""
    plot = _matplotlib()
    pictures = []
    for (suite, data), group in grouped(lines).items():
        for kind, job in {"bars": _bars, "coverage": _coverage, "calibration": _calibration}.items():
            figure, axes = plot.subplots(figsize=(7, 4.2), layout="constrained")
            if job(axes, group):
                axes.set_title(f"{suite} on {data}", loc="left", fontsize=11)
                pictures.append(folder / f"{suite}-{_file(data)}-{kind}.png")
                figure.savefig(pictures[-1], dpi=110)
            plot.close(figure)
    return pictures


def _bars(axes: "Axes", group: Sequence[Line]) -> bool:
    known = [m for m in _MAIN.get(group[0].suite, shown(group)) if any(m in line.intervals for line in group)]
    measures, width = known[:_MOST], 0.8 / len(group)
    for place, line in enumerate(group):
        drawn = [(i, line.metrics[m], *line.intervals[m]) for i, m in enumerate(measures) if m in line.intervals]
        where = [i + (place - (len(group) - 1) / 2) * width for i, *_ in drawn]
        spread = [[max(0.0, v - low) for _, v, low, _ in drawn], [max(0.0, high - v) for _, v, _, high in drawn]]
        values = [v for _, v, *_ in drawn]
        axes.bar(where, values, width * 0.92, yerr=spread, capsize=2, label=line.name, error_kw={"lw": 0.9})
    axes.set_xticks(range(len(measures)), measures, rotation=0 if len(measures) < 4 else 30)
    if len(group) > 1:
        _legend(axes)
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
        _legend(axes)
    return drawn


def _calibration(axes: "Axes", group: Sequence[Line]) -> bool:
    curves = [line for line in group if line.reliability]
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for line in curves:
        rows = line.reliability
        (drawn,) = axes.plot([r["mean"] for r in rows], [r["positive"] for r in rows], "-o", ms=4, label=line.name)
        for row in rows:
            point: Any = (row["mean"], row["positive"])
            where: Any = {"xytext": (5, 4), "textcoords": "offset points"}
            axes.annotate(f"{row['pairs']:.0f}", point, fontsize=7, color=drawn.get_color(), **where)
    axes.set(xlabel="probability (numbers: pairs)", ylabel="share that supports", xlim=(0, 1), ylim=(0, 1))
    if curves:
        _legend(axes)
    return bool(curves)


def _legend(axes: "Axes") -> None:
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


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
