"""Walks of windows over images, divided into blocks that stay in the cache.

A `Walk` moves windows over images: forwards over the input, backwards over the gradients of
the output, which is the same with a flipped filter. A block is some images, or some rows of
one. Its windows' elements are gathered side by side, with zeros for padding: either all of a
window's (*whole*), or those of one of its rows, if windows advance row by row and share
them. Threads have blocks and scratch memory of their own, and share nothing that is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from berth.ops.nn.windows import Windows
from berth.ops.opdef import Call

GATHERED = 2**19
"""About how many elements are gathered at a time."""
SHORT = 96
"""Products of rows shorter than this are slow."""


class Walk(NamedTuple):
    """Windows over the rows and columns of images, with channels in and features out."""

    n_images: int
    rows: Windows
    columns: Windows
    n_channels: int
    n_features: int

    @property
    def is_whole(self) -> bool:
        """Whether windows are gathered whole, and not along columns only."""
        is_short = self.columns.n_taps * self.n_channels < SHORT
        return self.rows.step > 1 or (is_short and self.rows.n_taps > 1)

    @property
    def length(self) -> int:
        """How many elements are gathered side by side."""
        n_taps = self.columns.n_taps * (self.rows.n_taps if self.is_whole else 1)
        return n_taps * self.n_channels

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """The shape of what comes out."""
        return self.n_images, self.rows.n_out, self.columns.n_out, self.n_features


class Block(NamedTuple):
    """Some windows: those of these images, whose first elements are in these rows."""

    images: slice
    first: int
    last: int


class Division(NamedTuple):
    """How a walk is divided into blocks, and the most that one of them needs."""

    n_images: int
    n_rows: int
    padded: int
    gathered: int
    product: int

    @property
    def n_elements(self) -> int:
        """How much scratch memory a thread needs."""
        return self.padded + self.gathered + 2 * self.product


def rows_needed(walk: Walk, first: int, last: int) -> tuple[int, int]:
    """Return the range of rows that windows need; if gathered whole, with padding."""
    rows = walk.rows
    low, high = rows.place(first, 0), rows.place(last - 1, rows.n_taps - 1) + 1
    if walk.is_whole:
        return low, high
    low = min(max(low, 0), rows.n_in)
    return low, max(min(high, rows.n_in), low)


def divide(walk: Walk, n_threads: int) -> Division:
    """Divide a walk into blocks of about `GATHERED` elements, as many for each thread."""
    n_images, rows, columns = walk.n_images, walk.rows, walk.columns
    a_row = max(columns.n_out * walk.length, 1)
    halo = 0 if walk.is_whole else (rows.n_taps - 1) * rows.gap
    most_rows = max(GATHERED // a_row - halo, halo, 1)
    share = -(-n_images // n_threads)
    if n_images and most_rows >= rows.n_out:
        at_once = max(GATHERED // (a_row * max(rows.n_out + halo, 1)), 1)
        per_block = evenly(share, at_once)
    else:
        per_block = 1
    n_shares = -(-n_threads // max(n_images, 1))
    per_part = evenly(max(-(-rows.n_out // n_shares), 1), most_rows)
    span = (per_part - 1) * rows.step + (rows.n_taps - 1) * rows.gap + 1
    n_rows = span if walk.is_whole else min(span, rows.n_in)
    return Division(
        per_block,
        per_part,
        per_block * n_rows * max(columns.span, 1) * walk.n_channels,
        per_block * (per_part if walk.is_whole else n_rows) * a_row,
        per_block * per_part * columns.n_out * walk.n_features,
    )


def evenly(total: int, most: int) -> int:
    """Cut a total into as few pieces as possible, all of about one size."""
    n_pieces = max(-(-total // max(most, 1)), 1)
    return max(-(-total // n_pieces), 1)


def blocks(walk: Walk, division: Division, n_threads: int) -> list[list[Block]]:
    """List the blocks of each thread."""
    every = [
        Block(slice(n, min(n + division.n_images, walk.n_images)), row, last)
        for n in range(0, walk.n_images, division.n_images)
        for row in range(0, walk.rows.n_out, division.n_rows)
        for last in (min(row + division.n_rows, walk.rows.n_out),)
    ]
    share = -(-len(every) // n_threads)
    return [every[k * share : (k + 1) * share] for k in range(n_threads)]


class Overlap(NamedTuple):
    """Where a row of the filter overlaps images, and not padding."""

    tap: int
    given: slice
    """The rows of the images, from the first that was gathered."""
    met: slice
    """The rows of windows, from the first of the block."""
    covers_all: bool


def overlaps_of(rows: Windows, block: Block, low: int) -> list[Overlap]:
    """List where the filter's rows overlap images; those that overlap every row come first.

    Then the output need not be set to zero first.
    """
    found = []
    for tap in range(rows.n_taps):
        first, last = rows.inside(tap)
        first, last = max(first, block.first), min(last, block.last)
        if first < last:
            start = rows.place(first, tap) - low
            found.append(
                Overlap(
                    tap,
                    slice(start, start + last - first),
                    slice(first - block.first, last - block.first),
                    last - first == block.last - block.first,
                )
            )
    return sorted(found, key=lambda overlap: not overlap.covers_all)


class Memory:
    """One thread's scratch memory, cut into arrays."""

    def __init__(self, flat: Any, division: Division) -> None:
        sizes = (division.padded, division.gathered, division.product, division.product)
        self._parts = []
        start = 0
        for size in sizes:
            self._parts.append(flat[start : start + size])
            start += size
        self.rest = flat[start:]
        """What is left beyond a division's own."""
        self.views: dict[Any, Any] = {}
        """Windows over what was padded: blocks of one size have the same."""

    def padded(self, dims: Sequence[int]) -> Any:
        return shaped(self._parts[0], dims)

    def gathered(self, dims: Sequence[int]) -> Any:
        return shaped(self._parts[1], dims)

    def product(self, dims: Sequence[int]) -> Any:
        return shaped(self._parts[2], dims)

    def total(self, dims: Sequence[int]) -> Any:
        return shaped(self._parts[3], dims)


def shaped(flat: Any, dims: Sequence[int]) -> Any:
    """Return the beginning of flat memory as an array."""
    size = 1
    for n in dims:
        size *= n
    return flat[:size].reshape(dims)


# --- gathering ----------------------------------------------------------------------------


class Order(Enum):
    """Axis order of gathered windows; channels are always last."""

    IMAGES_FIRST = (0, 1, 2, 3, 4)
    ROWS_FIRST = (1, 0, 2, 3, 4)


class Gathered(NamedTuple):
    """The elements of a block's windows, side by side in the last axis."""

    array: Any
    low: int
    """The first row, where windows are gathered along columns."""
    calls: list[Call]


def gather(
    xp: Any,
    source: Any,
    walk: Walk,
    block: Block,
    memory: Memory,
    order: Order = Order.IMAGES_FIRST,
) -> Gathered:
    """Lay out the elements of a block's windows, with zeros for padding."""
    columns = walk.columns
    low, high = rows_needed(walk, block.first, block.last)
    if order is Order.IMAGES_FIRST and _is_laid_out(source, walk, memory):
        return Gathered(source[block.images, low:high], low, [])
    calls: list[Call] = []
    left = columns.start
    is_padded = columns.is_padded or low < 0 or high > walk.rows.n_in
    if is_padded:
        images, calls = _pad(xp, source[block.images], (low, high), walk, memory)
    else:
        images = source[block.images, low:high, left : left + columns.span]
    key = (images.shape, block.last - block.first)
    view = memory.views.get(key) if is_padded else None
    if view is None:
        view = _windows_of(xp, images, walk, block)
        view = view if walk.is_whole else view.transpose(order.value)
    if is_padded:
        memory.views[key] = view
    array = memory.gathered(view.shape)
    calls.append((xp.copyto, (array, view)))
    return Gathered(array.reshape(*array.shape[:3], walk.length), low, calls)


def _is_laid_out(source: Any, walk: Walk, memory: Memory) -> bool:
    """Return whether windows of one column can be used in place."""
    columns = walk.columns
    return (
        not walk.is_whole
        and columns.n_taps == columns.step == 1
        and columns.start == 0
        and columns.n_out == columns.n_in
        and bool(source.flags.c_contiguous)
        and source.dtype == memory.padded((0,)).dtype
    )


def _pad(
    xp: Any, images: Any, rows: tuple[int, int], walk: Walk, memory: Memory
) -> tuple[Any, list[Call]]:
    """Copy rows of images into zero padding."""
    columns, (low, high) = walk.columns, rows
    array = memory.padded((images.shape[0], high - low, columns.span, walk.n_channels))
    top, bottom = _intersect(low, high, walk.rows.n_in)
    left, right = _intersect(columns.start, columns.start + columns.span, columns.n_in)
    inner = array[:, top:bottom, left:right]
    borders = (array[:, :top], array[:, bottom:], array[:, :, :left], array[:, :, right:])
    calls: list[Call] = [(border.fill, (0,)) for border in borders if border.size]
    if inner.size:
        below, beside = low + top, columns.start + left
        given = images[:, below : below + bottom - top, beside : beside + right - left]
        calls.append((xp.copyto, (inner, given)))
    return array, calls


def _intersect(low: int, high: int, size: int) -> tuple[int, int]:
    """Intersect the range from low to high with a size, relative to low."""
    first = min(max(-low, 0), high - low)
    return first, max(min(high, size) - low, first)


def _windows_of(xp: Any, images: Any, walk: Walk, block: Block) -> Any:
    """View images as overlapping windows."""
    rows, columns = walk.rows, walk.columns
    n, h, w, c = images.strides
    n_images, n_rows = images.shape[0], images.shape[1]
    if walk.is_whole:
        dims = (n_images, block.last - block.first, columns.n_out, rows.n_taps, columns.n_taps)
        strides = (n, h * rows.step, w * columns.step, h * rows.gap, w * columns.gap)
    else:
        dims = (n_images, n_rows, columns.n_out, columns.n_taps)  # type: ignore[assignment]
        strides = (n, h, w * columns.step, w * columns.gap)  # type: ignore[assignment]
    return xp.lib.stride_tricks.as_strided(images, (*dims, images.shape[3]), (*strides, c))
