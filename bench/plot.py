"""A small plot as SVG: lines over a logarithmic axis, in panels side by side.

The lines carry their names at their right ends, moved apart where they would overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 52, 92, 64, 52
"""What is around a panel's axes: numbers, the names of the lines, the title, more numbers."""
COLOURS = ("#0072b2", "#d55e00", "#00785a")
INK, GRID, PAPER = "#24292f", "#d8dee4", "#ffffff"
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
APART = 17
"""How far names must be from each other to be read."""


class Line(NamedTuple):
    """One line: its name, and its points."""

    name: str
    points: Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    lines: Sequence[Line]


class Scale(NamedTuple):
    """Where numbers are on the paper: the same in all panels."""

    first: int
    """The power of ten at which the horizontal axis begins."""
    last: int
    top: float
    step: float

    @classmethod
    def of(cls, panels: Sequence[Panel]) -> Scale:
        points = [point for panel in panels for line in panel.lines for point in line.points]
        powers = [math.log10(x) for x, _ in points]
        most = max(y for _, y in points)
        step = next(s for s in _round_numbers() if most / s <= 6)
        return cls(
            math.floor(min(powers)), math.ceil(max(powers)), step * math.ceil(most / step), step
        )

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.first) / (self.last - self.first)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)


def _round_numbers() -> Iterator[float]:
    power = 0.01
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def draw(y_name: str, x_name: str, panels: Sequence[Panel]) -> str:
    """Draw panels side by side; return the file's text."""
    scale = Scale.of(panels)
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}" font-family="{FONT}" font-size="13" fill="{INK}">',
        f'<rect width="{width}" height="{HEIGHT}" fill="{PAPER}"/>',
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * WIDTH} 0)">')
        parts += _axes(panel.title, y_name, x_name, scale)
        parts += _lines(panel.lines, scale)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _axes(title: str, y_name: str, x_name: str, scale: Scale) -> Iterator[str]:
    left, right = scale.x(10**scale.first), scale.x(10**scale.last)
    yield _text(left, 24, title, 'font-size="16" font-weight="600"')
    yield _text(left, TOP - 14, y_name)
    for k in range(round(scale.top / scale.step) + 1):
        y = scale.y(k * scale.step)
        colour = GRID if k else INK
        yield f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{colour}"/>'
        yield _text(left - 8, y + 4.5, f"{k * scale.step:g}", 'text-anchor="end"')
    for power in range(scale.first, scale.last + 1):
        x, y = scale.x(10**power), HEIGHT - BOTTOM
        yield f'<path d="M{x:.1f} {y}v5" stroke="{INK}"/>'
        yield _text(x, y + 21, f"{10**power:,}", 'text-anchor="middle"')
    yield _text((left + right) / 2, HEIGHT - 12, x_name, 'text-anchor="middle"')


def _lines(lines: Sequence[Line], scale: Scale) -> Iterator[str]:
    ends = [scale.y(line.points[-1][1]) for line in lines]
    for line, colour, label_y in zip(lines, COLOURS, _moved_apart(ends), strict=False):
        places = [(scale.x(x), scale.y(y)) for x, y in line.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in places:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        text = f"{line.name} {line.points[-1][1]:.1f}"
        style = f'fill="{colour}" font-weight="600"'
        yield _text(places[-1][0] + 10, label_y + 4.5, text, style)


def _moved_apart(places: Sequence[float]) -> list[float]:
    """Move heights until none is too near to another: down from the topmost.

    >>> _moved_apart([100, 50, 104])
    [100, 50, 117]
    """
    moved = list(places)
    order = sorted(range(len(places)), key=lambda k: places[k])
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + APART)
    return moved


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'
