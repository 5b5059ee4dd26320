"""The picture of the architecture, drawn from the code: `python -m evals architecture` writes docs/architecture.svg.

Floors and their rooms are the packages and their folders, each with the opening of its docstring; arrows are imports,
read from the sources; the stages and their edges are those of the compiled graph. The same code gives the same file,
and a test compares them.
"""

import argparse
import ast
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import cast

import agent
from agent.graph import build_graph
from agent.seams import Providers
from tools.errors import InputError

ROOT = Path(agent.__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
FLOORS = (("ui", "api", "evals"), ("agent",), ("tools",), ("prompts",))
"""From top to bottom; a package imports from lower floors only, which tests/test_layout.py holds."""
_STAGES = "nodes"
_WIRING = ("graph", "routing")
"""Modules of the agent that are drawn with the stages: what imports the graph reaches the stages through it."""

WIDTH = 800.0
_EDGE, _PAD, _GAP = 10.0, 14.0, 24.0
_ROW, _STRIP, _HEAD = 26.0, 142.0, 50.0
_NAME = 98.0  # how far the text of a row stands from its left edge
_ARCS = WIDTH - _EDGE - _PAD - 84  # where the rows end and the arcs begin, in pixels from the left of the picture
_LETTERS = 80  # of 13 pixels: what a row has room for
_NOTES = (
    "Arcs and arrows between floors are imports; arrows between stages are the ways that a run can take.",
    "Dashed is what points back. Drawn from the code by python -m evals architecture.",
)
_STYLE = """
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:#1f2328}
.name{font:600 13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#0a3069}
.names{font-size:12px}.big{font-size:16px}.soft{fill:#59636e}.mid{text-anchor:middle}
.paper{fill:#fff}.floor{fill:#f6f8fa;stroke:#d1d9e0}.row{fill:#fff;stroke:#e4e8ec}.stage{fill:#ddf4ff;stroke:#54aeff}
.aside{fill:#fff8c5;stroke:#d4a72c}.arc,.way,.back,.floors{fill:none;stroke:#0969da}.arc{opacity:.6}
.way{stroke-width:1.5}.back{stroke:#bc4c00;stroke-dasharray:4 3;stroke-width:1.3}
.floors{stroke-width:2.5;stroke:#59636e}
.tip{fill:#0969da}.tipback{fill:#bc4c00}.tipfloors{fill:#59636e}
@media(prefers-color-scheme:dark){
text{fill:#e6edf3}.name{fill:#a5d6ff}.soft{fill:#9da7b1}
.paper{fill:#0d1117}.floor{fill:#151b23;stroke:#3d444d}.row{fill:#0d1117;stroke:#2a313c}.stage{fill:#0c2d6b;stroke:#388bfd}
.aside{fill:#3b2e00;stroke:#9e6a03}.arc,.way{stroke:#4493f8}.back{stroke:#f0883e}.floors{stroke:#9da7b1}
.tip{fill:#4493f8}.tipback{fill:#f0883e}.tipfloors{fill:#9da7b1}}
"""

Arrows = Counter[tuple[str, str]]
"""(importing, imported) -> how many modules of the one import from the other."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument("--out", type=Path, default=PICTURE, metavar="FILE", help="docs/architecture.svg, unless said")


def run(args: argparse.Namespace) -> int:
    """Writes the picture. Raises InputError where that is no place for a file."""
    try:
        args.out.write_text(drawing(ROOT), encoding="utf-8")
    except OSError as exc:
        raise InputError(f"{args.out} cannot be written: {exc.strerror}. Name another file with --out.") from exc
    print(args.out)
    return 0


# What the code says


@dataclass(frozen=True)
class Floor:
    """A package: its rooms (folders) from the top down, the arrows between them, and the modules beside the folders."""

    name: str
    text: str
    rooms: dict[str, str]
    arrows: Arrows
    modules: tuple[str, ...]


def imports(file: Path) -> Iterator[str]:
    """Dotted names that a module imports: for `from a import b` both `a` and `a.b`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def opening(package: Path, letters: int = _LETTERS) -> str:
    """The first sentence of a package's docstring, or as many of its clauses as have room in so many letters."""
    documented = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    text = " ".join(documented.split("\n\n")[0].split()).replace("`", "").partition(". ")[0].rstrip(".")
    if len(text) > letters:
        ends = [at for mark in ":;," if (at := text.rfind(mark, 0, letters - 1)) > 0]
        text = text[: max(ends)] if ends else textwrap.shorten(text, letters, placeholder=" …")
        clause, _, listed = text.rpartition(":")
        text = clause if clause and len(listed.split()) < 3 else text  # the beginning of a list says nothing
    return text


def floor(root: Path, package: str) -> Floor:
    """A package as it is read from the files below `root`."""
    folder = root / package
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    arrows: Arrows = Counter()
    for file in sorted(folder.rglob("*.py")):
        own = _room(file.relative_to(root).with_suffix("").parts, rooms)
        names = {_room(tuple(name.split(".")), rooms) for name in imports(file) if name.startswith(f"{package}.")}
        arrows.update((own, other) for other in names if own in rooms and other in rooms and other != own)
    modules = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("__"))
    return Floor(
        name=package,
        text=opening(folder, 96),
        rooms={room: opening(folder / room) for room in ordered(sorted(rooms), arrows)},
        arrows=arrows,
        modules=tuple(name for name in modules if name not in _WIRING),
    )


def _room(parts: Sequence[str], rooms: set[str]) -> str:
    """The folder of a module of a package, by the parts of its name; '' for a module beside the folders."""
    if len(parts) > 1 and parts[1] in _WIRING and _STAGES in rooms:
        return _STAGES
    return parts[1] if len(parts) > 1 and parts[1] in rooms else ""


def ordered(rooms: Sequence[str], arrows: Arrows) -> list[str]:
    """Rooms from the top down: as few imports as can be point up, then the arrows are short, then names decide.

    The best order of every subset is made from the best orders of the subsets without one room (2ⁿ · n steps).
    """
    best: dict[frozenset[str], tuple[int, int, list[str]]] = {frozenset(): (0, 0, [])}
    for _ in rooms:
        longer: dict[frozenset[str], tuple[int, int, list[str]]] = {}
        for above, (up, length, order) in best.items():
            for room in (name for name in rooms if name not in above):
                inside = above | {room}
                upward = sum(arrows[room, other] for other in above)
                crossing = sum((a in inside) != (b in inside) for a, b in arrows)
                found = (up + upward, length + crossing, [*order, room])
                longer[inside] = min(found, longer.get(inside, found))
        best = longer
    return best[frozenset(rooms)][2]


def stage_edges() -> list[tuple[str, str]]:
    """The edges between stages of the compiled graph; its wiring needs no provider."""
    graph = build_graph(cast(Providers, None)).get_graph()
    return sorted({(edge.source, edge.target) for edge in graph.edges if "__" not in edge.source + edge.target})


def main_line(edges: Sequence[tuple[str, str]]) -> list[str]:
    """The longest way through the stages in which no direct edge goes around a single stage."""

    def ways(walked: list[str]) -> Iterator[list[str]]:
        yield walked
        for source, target in edges:
            if source == walked[-1] and target not in walked and (*walked[-2:-1], target) not in edges:
                yield from ways([*walked, target])

    starts = sorted({a for a, _ in edges} - {b for _, b in edges})
    return max((way for start in starts for way in ways([start])), key=len)


# The drawing


def drawing(root: Path) -> str:
    """The picture of the code below `root`, as SVG."""
    parts: list[str] = []
    top = _EDGE
    for above, names in zip(((), *FLOORS), FLOORS, strict=False):
        if above:
            parts += _between(root, above, names, top)
            top += _GAP
        if len(names) > 1:
            drawn, height = _side_by_side(root, names, top)
        elif names == ("prompts",):
            drawn, height = _prompts(root, top)
        else:
            drawn, height = _stack(floor(root, names[0]), top)
        parts += drawn
        top += height
    parts += [_text(WIDTH / 2, top + 22 + 18 * number, note, "soft mid") for number, note in enumerate(_NOTES)]
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" markerHeight="{size}" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="{name}" d="M0 0 8 4 0 8z"/></marker>'
        for name, size in (("tip", 8), ("tipback", 8), ("tipfloors", 11))
    )
    size = f'width="{WIDTH:g}" height="{top + 52:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {top + 52:g}" {size} role="img">',
        "<title>The architecture: ui, api and evals stand on the agent, the agent on tools, both on prompts</title>",
        f"<style>{_STYLE}</style><defs>{heads}</defs>",
        f'<rect class="paper" {size} rx="10"/>',
        *parts,
    ]
    return "\n".join(lines) + "\n</svg>\n"


def _text(x: float, y: float, words: str, kind: str = "plain") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words, quote=False)}</text>'


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'


def _line(kind: str, tip: str, path: str, thick: float = 0) -> str:
    width = f' stroke-width="{thick:g}"' if thick else ""
    return f'<path class="{kind}" d="{path}"{width} marker-end="url(#{tip})"/>'


def _columns(count: int) -> list[tuple[float, float]]:
    """Left edge and width of packages that stand beside each other."""
    width = (WIDTH - 2 * _EDGE - (count - 1) * _PAD) / count
    return [(_EDGE + n * (width + _PAD), width) for n in range(count)]


def _between(root: Path, above: Sequence[str], below: Sequence[str], top: float) -> list[str]:
    """One arrow for each package of a floor that imports from the next one."""
    drawn = []
    for package, (x, width) in zip(above, _columns(len(above)), strict=True):
        names = {name.partition(".")[0] for file in (root / package).rglob("*.py") for name in imports(file)}
        if names & set(below):
            drawn.append(_line("floors", "tipfloors", f"M{x + width / 2:g} {top + 1:g}V{top + _GAP - 2:g}"))
    return drawn


def _side_by_side(root: Path, names: Sequence[str], top: float) -> tuple[list[str], float]:
    drawn, height = [], 70.0
    for name, (x, width) in zip(names, _columns(len(names)), strict=True):
        drawn += [_box(x, top, width, height, "floor"), _text(x + _PAD, top + 23, name, "name big")]
        for number, line in enumerate(textwrap.wrap(opening(root / name, 68), 34)):
            drawn.append(_text(x + _PAD, top + 42 + 17 * number, line, "soft"))
    return drawn, height


def _prompts(root: Path, top: float) -> tuple[list[str], float]:
    left, height = _EDGE + _PAD, 58.0
    drawn = [_box(_EDGE, top, WIDTH - 2 * _EDGE, height, "floor"), _text(left, top + 24, "prompts", "name big")]
    drawn.append(_text(left + _NAME, top + 24, opening(root / "prompts"), "soft"))
    files = " · ".join(sorted(path.stem for path in (root / "prompts").glob("*.md")))
    return [*drawn, _text(left + _NAME, top + 44, files, "names")], height


def _stack(of: Floor, top: float) -> tuple[list[str], float]:
    """A package as a stack of its rooms, and its height: a row for each room, an arc for each import between two."""
    heights = {room: _ROW + (_STRIP if of.name == "agent" and room == _STAGES else 0) for room in of.rooms}
    height = _HEAD - 12 + sum(heights.values()) + 4 * len(heights) + 34
    left = _EDGE + _PAD
    parts = [_box(_EDGE, top, WIDTH - 2 * _EDGE, height, "floor"), _text(left, top + 25, of.name, "name big")]
    parts.append(_text(left + _NAME, top + 25, of.text, "soft"))
    y = top + _HEAD - 12
    middles: dict[str, float] = {}
    for room, text in of.rooms.items():
        parts += [_box(left, y, _ARCS - left, heights[room], "row"), _text(left + 10, y + 18, room, "name")]
        parts.append(_text(left + _NAME, y + 18, text))
        if heights[room] > _ROW:
            parts += _strip(left + 12, y + _ROW, _ARCS - left - 24)
        middles[room] = y + _ROW / 2
        y += heights[room] + 4
    parts += _arcs(of.arrows, middles)
    parts += [_text(left + 10, y + 17, "modules", "soft"), _text(left + _NAME, y + 17, " · ".join(of.modules), "names")]
    return parts, height


def _arcs(arrows: Arrows, middles: dict[str, float]) -> list[str]:
    """Imports as arcs to the right of the rows, wider where more modules import; dashed where they point up."""
    longest = max(abs(middles[a] - middles[b]) for a, b in arrows)
    drawn = []
    for (source, target), modules in sorted(arrows.items()):
        start, end = middles[source], middles[target]
        out = _ARCS + 26 + 76 * abs(end - start) / longest
        apart = 4 if end > start else -5  # what leaves a row and what comes in do not lie on each other
        start, end, out = start + apart, end - apart, out + (0 if end > start else 7)
        path = f"M{_ARCS:g} {start:g}C{out:.0f} {start:g} {out:.0f} {end:g} {_ARCS + 1:g} {end:g}"
        thick = round(min(3, 0.8 + modules**0.5 / 2), 1)
        drawn.append(_line("arc", "tip", path, thick) if end > start else _line("back", "tipback", path))
    return drawn


# The stages


@dataclass(frozen=True)
class _Pill:
    """A stage in the strip: its middle and half its width, its height being the same for all."""

    name: str
    x: float
    y: float
    half: float
    kind: str = "stage"

    TALL = 13.0

    def drawn(self) -> list[str]:
        box = _box(self.x - self.half, self.y - self.TALL, 2 * self.half, 2 * self.TALL, self.kind)
        return [box.replace('rx="6"', 'rx="13"'), _text(self.x, self.y + 4.5, self.name, "mid")]


def _strip(left: float, top: float, width: float) -> list[str]:
    """The stages: the main line from left to right, what goes around it above, what goes back below."""
    edges = stage_edges()
    line = main_line(edges)
    step = (width + 14) / len(line)
    half = (step - 14) / 2
    pills = {name: _Pill(name, left + half + n * step, top + 74, half) for n, name in enumerate(line)}
    for name in sorted({stage for edge in edges for stage in edge} - set(line)):
        before = min(line.index(a) for a, b in edges if b == name and a in line)
        loops = any(a == name and b in line and line.index(b) <= before for a, b in edges)
        x = pills[line[before]].x + (0 if loops else step)
        pills[name] = _Pill(name, x, top + (125 if loops else 18), half, "aside")
    drawn = [_edge(pills[a], pills[b], line) for a, b in edges]
    return drawn + [part for pill in pills.values() for part in pill.drawn()]


def _edge(a: _Pill, b: _Pill, line: Sequence[str]) -> str:
    """One edge: straight between neighbours, else in right angles above (forward) or below (back) the main line."""
    over, under = a.y - a.TALL, a.y + a.TALL
    if a.name not in line and b.name not in line:
        raise InputError(
            f"the picture has no place for an edge from {a.name} to {b.name}: mend evals/suites/architecture.py."
        )
    if a.name not in line:
        side = a.half if b.x > a.x else -a.half
        end = b.y + (b.TALL if a.y > b.y else -b.TALL)
        return _line("way", "tip", f"M{a.x + side:g} {a.y:g}H{b.x:g}V{end:g}")
    if b.name not in line:
        if a.x == b.x:
            return _line("way", "tip", f"M{a.x:g} {under:g}V{b.y - b.TALL:g}")
        return _line("way", "tip", f"M{a.x:g} {over:g}V{b.y:g}H{b.x - b.half:g}")
    if (a.name, b.name) in pairwise(line):
        return _line("way", "tip", f"M{a.x + a.half:g} {a.y:g}H{b.x - b.half:g}")
    if b.x > a.x:
        return _line("way", "tip", f"M{a.x + 10:g} {over:g}V{over - 16:g}H{b.x - 10:g}V{over:g}")
    return _line("back", "tipback", f"M{a.x:g} {under:g}V{under + 13:g}H{b.x + 20:g}V{under:g}")
