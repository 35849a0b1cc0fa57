"""Convolutions with fewer products, after Toom, Cook and Winograd.

Along a row, the results of a filter of k taps are computed in tiles of ``9 - k``. A tile is
a product of polynomials, one of the filter and one of 8 places of the row; both are evaluated
at 8 points, multiplied there, and the result is interpolated. That takes 8 products for a
tile, instead of ``(9 - k) * k``: 2.5 times fewer for 5 taps.

    results = INTERPOLATE @ ((EVALUATE @ filter) * (SPREAD @ places))

Each of the three is one small matrix for all channels and tiles, and products at one point
are a matrix product over channels. With these points (0, ±1, ±2, ±1/2 and infinity) the
error grows by a factor of two or three beside summing up in float32, as long as this is
done along one axis only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import DType, float32
from berth.ops.nn.convolution_blocks import (
    Block,
    Division,
    Gathered,
    Memory,
    Order,
    Walk,
    blocks,
    divide,
    gather,
    meetings_of,
    shaped,
)
from berth.ops.nn.windows import Windows
from berth.ops.opdef import Call

N_POINTS = 8
POINTS = (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2))
"""All but the last, which is infinity."""
GATHERED = 2**18
"""About how many elements are gathered at a time."""
FEWEST = 16
"""Products over fewer channels or features are too slow to gain anything."""
AT_LEAST = 2**22
"""From so many multiplications on; below, results of small numbers are as exact as sums."""
GAIN = 1.4
"""How many times fewer products it must take, tiles at the end of rows counted whole."""

Array = np.ndarray[Any, Any]


class Transforms(NamedTuple):
    """The matrices for filters of one length."""

    interpolate: Array
    evaluate: Array
    spread: Array


@cache
def transforms(n_taps: int) -> Transforms:
    """Make the matrices for a filter of so many taps."""
    tile = N_POINTS + 1 - n_taps
    interpolate = np.array(_powers(tile), float).T
    evaluate = np.array(_powers(n_taps), float)
    spread = np.array(_inverse(_powers(N_POINTS)), float).T
    # Rows that belong together get about the same size: powers of two cost nothing.
    for row in range(N_POINTS):
        ratio = np.linalg.norm(evaluate[row]) / np.linalg.norm(spread[row])
        factor = 2.0 ** np.round(np.log2(ratio) / 2)
        spread[row] *= factor
        evaluate[row] /= factor
    return Transforms(*(m.astype(np.float32) for m in (interpolate, evaluate, spread)))


def _powers(n_coefficients: int) -> list[list[Fraction]]:
    """Return the matrix that evaluates a polynomial at the points, infinity last."""
    rows = [[Fraction(point) ** k for k in range(n_coefficients)] for point in POINTS]
    return [*rows, [Fraction(int(k == n_coefficients - 1)) for k in range(n_coefficients)]]


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Invert a matrix exactly."""
    size = len(matrix)
    rows = [
        [*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)
    ]
    for column in range(size):
        pivot = next(row for row in range(column, size) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(size):
            if other != column:
                factor = rows[other][column]
                pairs = zip(rows[other], rows[column], strict=True)
                rows[other] = [a - factor * b for a, b in pairs]
    return [row[size:] for row in rows]


# --- when, and how much memory ------------------------------------------------------------


def suits(walk: Walk, dtype: DType) -> bool:
    """Tell whether a walk takes fewer products in tiles, and is large enough to gain by it."""
    columns = walk.columns
    if dtype is not float32 or columns.step != 1 or columns.gap != 1 or walk.rows.step != 1:
        return False
    if not 3 <= columns.n_taps <= 7 or min(walk.n_channels, walk.n_features) < FEWEST:
        return False
    n_tiles = _in_tiles(walk).columns.n_out
    gain = columns.n_out * columns.n_taps / max(n_tiles * N_POINTS, 1)
    n_windows = walk.n_images * walk.rows.n_out * columns.n_out
    size = walk.rows.n_taps * columns.n_taps * walk.n_channels * walk.n_features
    return gain >= GAIN and n_windows * size >= AT_LEAST


def _in_tiles(walk: Walk) -> Walk:
    """Return the walk whose windows are the places that tiles need."""
    columns = walk.columns
    tile = N_POINTS + 1 - columns.n_taps
    n_tiles = -(-columns.n_out // tile)
    windows = Windows(columns.n_in, n_tiles, N_POINTS, tile, columns.start, 1)
    return walk._replace(columns=windows)


def _divide(walk: Walk, n_threads: int) -> tuple[Walk, Division]:
    tiled = _in_tiles(walk)
    return tiled, divide(tiled, n_threads, GATHERED)


def n_elements(walk: Walk, n_threads: int) -> int:
    """Return how much scratch memory a thread needs."""
    _, division = _divide(walk, n_threads)
    return division.n_elements + division.gathered + 2 * N_POINTS * division.product


class _Room:
    """One thread's memory, beside that for gathering: everything at all points."""

    def __init__(self, flat: Any, division: Division) -> None:
        self.memory = Memory(flat, division)
        rest, gathered = self.memory.rest, division.gathered
        size = N_POINTS * division.product
        self._spread = rest[:gathered]
        self._total = rest[gathered : gathered + size]
        self._product = rest[gathered + size : gathered + 2 * size]
        self.rest = rest[gathered + 2 * size :]

    def spread(self, dims: Sequence[int]) -> Any:
        return shaped(self._spread, dims)

    def total(self, dims: Sequence[int]) -> Any:
        return shaped(self._total, dims)

    def product(self, dims: Sequence[int]) -> Any:
        return shaped(self._product, dims)


def _spread(
    xp: Any, source: Any, tiled: Walk, block: Block, room: _Room, matrix: Any
) -> tuple[Gathered, list[Call]]:
    """Bind the places of tiles, evaluated: points, rows, images, tiles, channels."""
    gathered = gather(xp, source, tiled, block, room.memory, Order.TAPS_FIRST)
    places = gathered.array
    out = room.spread(places.shape)
    call = xp.matmul, (matrix, places.reshape(N_POINTS, -1), out.reshape(N_POINTS, -1))
    return gathered._replace(array=out), [*gathered.calls, call]


# --- forwards -----------------------------------------------------------------------------


def evaluated(xp: Any, kernel: Any, flat: Any) -> tuple[Any, list[Call]]:
    """Bind the evaluation of a filter: points, rows, channels, features.

    `kernel` may be any view; `flat` is the memory for this, see `evaluated_size`.
    """
    n_rows, n_taps, n_channels, n_features = kernel.shape
    columns_first = shaped(flat, (n_taps, n_rows, n_channels, n_features))
    dims = (N_POINTS, n_rows, n_channels, n_features)
    out = shaped(flat[columns_first.size :], dims)
    matrix = xp.asarray(transforms(n_taps).evaluate)
    flat_filter = columns_first.reshape(n_taps, -1)
    return out, [
        (xp.copyto, (columns_first, kernel.swapaxes(0, 1))),
        (xp.matmul, (matrix, flat_filter, out.reshape(N_POINTS, -1))),
    ]


def evaluated_size(walk: Walk) -> int:
    """Return how much memory `evaluated` needs."""
    one = walk.rows.n_taps * walk.n_channels * walk.n_features
    return one * (walk.columns.n_taps + N_POINTS)


def correlate(
    xp: Any, source: Any, kernel: Any, target: Any, walk: Walk, scratch: Sequence[Any]
) -> list[list[Call]]:
    """Fill `target` with the products of windows and an evaluated filter, by threads."""
    n_threads = len(scratch)
    tiled, division = _divide(walk, n_threads)
    matrices = [xp.asarray(m) for m in transforms(walk.columns.n_taps)]
    calls: list[list[Call]] = []
    for own, flat in zip(blocks(tiled, division, n_threads), scratch, strict=True):
        room = _Room(flat, division)
        calls.append([])
        for block in own:
            calls[-1] += _block(xp, source, kernel, target, tiled, block, room, matrices)
    return calls


def _block(
    xp: Any,
    source: Any,
    kernel: Any,
    target: Any,
    tiled: Walk,
    block: Block,
    room: _Room,
    matrices: Sequence[Any],
) -> Iterator[Call]:
    interpolate, _, spread = matrices
    places, calls = _spread(xp, source, tiled, block, room, spread)
    yield from calls
    n_images, n_rows = places.array.shape[2], block.last - block.first
    n_tiles, n_features = tiled.columns.n_out, tiled.n_features
    total = room.total((N_POINTS, n_rows, n_images, n_tiles, n_features))
    meetings = meetings_of(tiled.rows, block, places.low)
    is_filled = bool(meetings) and meetings[0].meets_all
    if not is_filled:
        yield total.fill, (0,)
    for position, (tap, given, met, _) in enumerate(meetings):
        sums = total[:, met].reshape(N_POINTS, -1, n_features)
        factors = places.array[:, given].reshape(N_POINTS, -1, tiled.n_channels)
        if position == 0 and is_filled:
            yield xp.matmul, (factors, kernel[:, tap], sums)
            continue
        product = room.product(sums.shape)
        yield xp.matmul, (factors, kernel[:, tap], product)
        yield xp.add, (sums, product, sums)
    tile = tiled.columns.step
    results = room.product((tile, *total.shape[1:]))
    yield xp.matmul, (interpolate, total.reshape(N_POINTS, -1), results.reshape(tile, -1))
    out = target[block.images, block.first : block.last]
    for place in range(min(tile, out.shape[2])):
        own = out[:, :, place::tile]
        yield xp.copyto, (own.swapaxes(0, 1), results[place, :, :, : own.shape[2]])


# --- back to the filter -------------------------------------------------------------------


def products(
    xp: Any, source: Any, grads: Any, shares: Any, walk: Walk, scratch: Sequence[Any]
) -> list[list[Call]]:
    """Add up what goes back to an evaluated filter in each thread's share; list its calls.

    Threads need memory for another share, after the rest.
    """
    n_threads = len(scratch)
    tiled, division = _divide(walk, n_threads)
    matrices = [xp.asarray(m) for m in transforms(walk.columns.n_taps)]
    calls: list[list[Call]] = []
    mine = zip(blocks(tiled, division, n_threads), scratch, shares, strict=True)
    for own, flat, share in mine:
        room = _Room(flat, division)
        spare = shaped(room.rest, share.shape)
        calls.append([] if own else [(share.fill, (0,))])
        for position, block in enumerate(own):
            to = spare if position else share
            calls[-1] += _block_products(xp, source, grads, to, tiled, block, room, matrices)
            if position:
                calls[-1].append((xp.add, (share, spare, share)))
    return calls


def _block_products(
    xp: Any,
    source: Any,
    grads: Any,
    target: Any,
    tiled: Walk,
    block: Block,
    room: _Room,
    matrices: Sequence[Any],
) -> Iterator[Call]:
    interpolate, _, spread = matrices
    places, calls = _spread(xp, source, tiled, block, room, spread)
    yield from calls
    arrived = grads[block.images, block.first : block.last].swapaxes(0, 1)
    tile, n_features = tiled.columns.step, tiled.n_features
    dims = (*arrived.shape[:2], tiled.columns.n_out, n_features)
    by_place = room.product((tile, *dims))
    for place in range(tile):
        own = arrived[:, :, place::tile]
        n_here = own.shape[2]
        yield xp.copyto, (by_place[place, :, :, :n_here], own)
        if n_here < dims[2]:
            yield by_place[place, :, :, n_here:].fill, (0,)
    at_points = room.total((N_POINTS, *dims))
    flat = by_place.reshape(tile, -1)
    yield xp.matmul, (interpolate.T, flat, at_points.reshape(N_POINTS, -1))
    meetings = meetings_of(tiled.rows, block, places.low)
    for tap in set(range(tiled.rows.n_taps)) - {meeting.tap for meeting in meetings}:
        yield target[:, tap].fill, (0,)
    for tap, given, met, _ in meetings:
        windows = places.array[:, given].reshape(N_POINTS, -1, tiled.n_channels)
        results = at_points[:, met].reshape(N_POINTS, -1, n_features)
        yield xp.matmul, (windows.swapaxes(1, 2), results, target[:, tap])


def interpolated(xp: Any, share: Any, out: Any, flat: Any) -> list[Call]:
    """Bind the way from an evaluated filter's gradient to the filter's."""
    n_rows, n_taps, n_channels, n_features = out.shape
    columns_first = shaped(flat, (n_taps, n_rows, n_channels, n_features))
    matrix = xp.asarray(np.ascontiguousarray(transforms(n_taps).evaluate.T))
    return [
        (xp.matmul, (matrix, share.reshape(N_POINTS, -1), columns_first.reshape(n_taps, -1))),
        (xp.copyto, (out, columns_first.swapaxes(0, 1))),
    ]
