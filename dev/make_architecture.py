"""Draws docs/architecture.svg: the folders of berth, and which imports which.

    make reference

The folders and their imports are read by `tests/architecture/test_layers.py`, which keeps the
order. A folder is drawn one row above the highest of those that it imports, so every arrow
points down. An import that follows from others is left out: with arrows from A to B and from
B to C, there is none from A to C.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import import_module
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
sys.path.insert(0, str(ROOT))

# Not an import: mypy looks at what is imported, and does not check the tests.
layers = import_module("tests.architecture.test_layers")

ABOUT = {
    "base": "errors, dtypes, units, caches",
    "backends": "host, simulated GPUs, ledger",
    "memory": "arenas: integers only",
    "devices": "names, numbering, limits",
    "ops": "definitions, kernels, gradients",
    "graph": "operations and tensors",
    "variables": "variables, scopes, initializers",
    "autodiff": "backpropagation, tapes",
    "control_flow": "conditions and loops",
    "plan": "placement and compilation",
    "run": "bindings, executor, threads",
    "front": "context, options, scopes",
    "eager": "tensors, dispatch cache",
    "autograph": "control flow on tensors",
    "functions": "tf.function",
    "session": "sessions, feeds, fetches",
    "public": "berth, berth.compat.v1, config",
    "data": "input pipelines, records",
    "layers": "layers, losses, metrics",
    "summary": "event files for TensorBoard",
    "train": "optimizers, checkpoints",
    "distribute": "strategies, replicas",
    "keras": "Keras support",
    "tools": "the berth command",
}
BOX_WIDTH, BOX_HEIGHT, GAP, ROW = 196, 44, 32, 78
MARGIN = 12
STYLE = """\
  <style>
    rect { fill: #f6f8fa; stroke: #57606a }
    path { fill: none; stroke: #8c959f; stroke-width: 1.2 }
    marker path { fill: #8c959f; stroke: none }
    text { font-family: system-ui, sans-serif; text-anchor: middle; fill: #57606a }
    .name { font-weight: 600; font-size: 14px; fill: #24292f }
    .about { font-size: 11px }
    @media (prefers-color-scheme: dark) {
      rect { fill: #21262d; stroke: #8b949e }
      path { stroke: #6e7681 }
      marker path { fill: #6e7681 }
      text { fill: #9da7b1 }
      .name { fill: #e6edf3 }
    }
  </style>"""


def imports() -> dict[str, set[str]]:
    """Map each folder to those that its modules import."""
    found: dict[str, set[str]] = {
        layers.layer_of(layers.module_name(path)): set() for path in layers.MODULES
    }
    for module, (_, imported, _) in layers.all_imports():
        if imported.split(".")[0] == "berth":
            found[layers.layer_of(module)].add(layers.layer_of(imported))
    return {own: theirs - {own} for own, theirs in found.items()}


def arrows(graph: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """List the imports that do not follow from others, from above to below."""

    @cache
    def below(folder: str) -> frozenset[str]:
        return frozenset(graph[folder]).union(*(below(each) for each in graph[folder]))

    return [
        (own, each)
        for own in layers.LAYERS
        if own in graph
        for each in sorted(graph[own])
        if not any(each in below(other) for other in graph[own] - {each})
    ]


def rows(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Divide the folders into rows, the lowest first."""
    height: dict[str, int] = {}
    for folder in layers.LAYERS:  # imports point to earlier ones
        if folder in graph:
            height[folder] = 1 + max((height[each] for each in graph[folder]), default=-1)
    return [
        [folder for folder in height if height[folder] == row]
        for row in range(max(height.values()) + 1)
    ]


def paths(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """List the arrows, each with the points by which it passes the rows between its ends."""
    height = {folder: row for row, line in enumerate(rows(graph)) for folder in line}
    return [
        [above, *(f"{above}-{below}-{row}" for row in _between(height, above, below)), below]
        for above, below in arrows(graph)
    ]


def _between(height: Mapping[str, int], above: str, below: str) -> range:
    return range(height[above] - 1, height[below], -1)


def middles(graph: Mapping[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Place the boxes and the points of arrows: near what they point to, each row centred."""
    lines = rows(graph)
    for path in paths(graph):
        for point in path[1:-1]:
            lines[int(point.rpartition("-")[2])].append(point)
    below = {
        step: [p[i + 1] for p in paths(graph) for i in _places(p, step)] for step in _all(lines)
    }
    widths = {step: (BOX_WIDTH if step in graph else 0) + GAP for step in below}
    half = max(sum(widths[step] for step in line) for line in lines) / 2 + MARGIN
    found: dict[str, tuple[float, float]] = {}

    def wanted(step: str) -> float:
        near = [found[each][0] for each in below[step]]
        return sum(near) / len(near) if near else half

    for number, line in enumerate(lines):
        y = MARGIN + BOX_HEIGHT / 2 + (len(lines) - 1 - number) * ROW
        x = half - sum(widths[step] for step in line) / 2
        for step in sorted(line, key=wanted):
            found[step] = (x + widths[step] / 2, y)
            x += widths[step]
    return found


def _places(path: list[str], step: str) -> list[int]:
    return [path.index(step)] if step in path[:-1] else []


def _all(lines: list[list[str]]) -> list[str]:
    return [step for line in lines for step in line]


def picture() -> str:
    """Return the SVG."""
    graph = imports()
    places = middles(graph)
    width = max(x for x, _ in places.values()) + BOX_WIDTH / 2 + GAP / 2 + MARGIN
    height = max(y for _, y in places.values()) + BOX_HEIGHT / 2 + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}">',
            "  <title>The folders of berth; arrows point to what a folder imports</title>",
            STYLE,
            '  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8"',
            '    markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
            *(_arrow([places[step] for step in path]) for path in paths(graph)),
            *(_box(folder, *places[folder]) for folder in graph),
            "</svg>\n",
        ]
    )


def _arrow(points: list[tuple[float, float]]) -> str:
    """Draw an arrow through points: straight down beside boxes, and curved between rows."""
    half, bend = BOX_HEIGHT / 2, (ROW - BOX_HEIGHT) / 2
    steps = [f"M{points[0][0]:g} {points[0][1] + half:g}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        start, end = y1 + half, y2 - half
        steps.append(f"V{start:g}C{x1:g} {start + bend:g} {x2:g} {end - bend:g} {x2:g} {end:g}")
    return f'  <path marker-end="url(#head)" d="{"".join(steps)}"/>'


def _box(folder: str, x: float, y: float) -> str:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    return (
        f'  <rect x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>\n'
        f'  <text class="name" x="{x:g}" y="{y - 3:g}">{escape(folder)}</text>\n'
        f'  <text class="about" x="{x:g}" y="{y + 13:g}">{escape(ABOUT[folder])}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture())
