"""A small figure as SVG, drawn by hand: no library that is installed draws one without a browser."""

from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[str, float, float]
"""Label, x, y."""

_WIDE, _HIGH, _EDGE = 760, 460, 56
_COLOURS = ("#1b6ca8", "#c8553d", "#2a9d5c", "#7b4fa3", "#b8860b", "#444444", "#d16ba5", "#008b8b")


def line_figure(series: Mapping[str, Sequence[Point]], x_title: str, y_title: str) -> str:
    """The SVG of a line a series through its points in their order, with a legend; a point's label is its tooltip."""
    points = [(x, y) for of in series.values() for _, x, y in of] or [(0.0, 0.0)]
    (left, right), (low, high) = (_span(values) for values in zip(*points, strict=True))

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = (x - left) / (right - left), (y - low) / (high - low)
        return _EDGE + across * (_WIDE - 4.5 * _EDGE), _HIGH - _EDGE - up * (_HIGH - 2 * _EDGE)

    box = f'viewBox="0 0 {_WIDE} {_HIGH}" font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>\n<rect width="{_WIDE}" height="{_HIGH}" fill="white"/>',
        _text(_WIDE / 2.4, _HIGH - 12, x_title),
        f'<g transform="rotate(-90 14 {_HIGH / 2})">{_text(14, _HIGH / 2, y_title)}</g>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = left + share * (right - left), low + share * (high - low)
        (x1, y1), (x2, y2) = place(left, y), place(right, y)
        parts += [_text(place(x, low)[0], _HIGH - _EDGE + 18, f"{x:.0f}"), _text(_EDGE - 18, y1, f"{y:.0f}")]
        parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>')
    for n, (name, of) in enumerate(series.items()):
        colour, at = _COLOURS[n % len(_COLOURS)], [(label, *place(x, y)) for label, x, y in of]
        path = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in at)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
        for label, x, y in at:
            tip = f"<title>{escape(f'{name} {label}'.strip())}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">{tip}</circle>')
            parts.append(_text(x + 5, y - 4, label, colour, "start"))
        parts.append(_text(_WIDE - 3.2 * _EDGE, _EDGE + 16 * n, name, colour, "start"))
    return "\n".join([*parts, "</svg>", ""])


def _span(values: Sequence[float]) -> tuple[float, float]:
    """A little more than from the least to the most."""
    room = (max(values) - min(values)) * 0.05 or 1.0
    return min(values) - room, max(values) + room


def _text(x: float, y: float, text: str, colour: str = "#222", anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'
