"""Convolutions of many small images, column by column, without gathering windows.

Images are copied once, rows first: the windows of one column of the output then have each row
of theirs in one piece, at equal distances for all rows and images. So a row of the filter
and a column of the output take one matrix product, of arrays that overlap in memory, and
padding is left out on all sides. It is worth it where many rows and images make a tall
matrix; `berth.ops.nn.conv2d_kernels` does the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from berth.ops.linalg.gemm import multiply, multiply_add
from berth.ops.nn.conv2d_blocks import Block, Overlap, Walk, evenly, overlaps_of, shaped
from berth.ops.opdef import Call

AT_ONCE = 2**20
"""About how many elements of images and results are worked on at a time."""
TALL = 128
"""Products of matrices with fewer rows spend too much on preparing the filter."""


class Strips(NamedTuple):
    """How many images are worked on at a time, and the scratch memory for them."""

    n_images: int
    images: int
    results: int
    product: int

    @property
    def n_elements(self) -> int:
        """How much scratch memory a thread needs."""
        return self.images + self.results + self.product


def divide_strips(walk: Walk, n_threads: int) -> Strips | None:
    """Divide a walk by images; None if it should be done in another way."""
    rows, columns = walk.rows, walk.columns
    if walk.is_whole or columns.n_taps == 1 or columns.gap > 1:
        return None
    an_image = rows.n_in * columns.n_in * walk.n_channels
    a_result = rows.n_out * columns.n_out * walk.n_features
    at_once = AT_ONCE // max(an_image + a_result, 1)
    n_images = evenly(-(-walk.n_images // n_threads), at_once)
    if not at_once or n_images * rows.n_out < TALL:
        return None
    column = n_images * rows.n_out * walk.n_features
    a_row = walk.length * walk.n_features
    return Strips(n_images, n_images * an_image, n_images * a_result, max(column, a_row))


class _Memory:
    """One thread's scratch memory for some images."""

    def __init__(self, flat: Any, strips: Strips, walk: Walk, n_images: int) -> None:
        rows, columns = walk.rows, walk.columns
        dims = (rows.n_in, n_images, columns.n_in, walk.n_channels)
        self.images = shaped(flat, dims)
        self.results = flat[strips.images : strips.images + strips.results]
        self.product = flat[strips.images + strips.results : strips.n_elements]


def _shares(walk: Walk, strips: Strips, n_threads: int) -> list[list[slice]]:
    """List the images of each thread, and how many at a time."""
    share = -(-walk.n_images // n_threads)
    return [
        [slice(n, min(n + strips.n_images, last)) for n in range(first, last, strips.n_images)]
        for first in range(0, share * n_threads, share)
        for last in (min(first + share, walk.n_images),)
    ]


def _columns(walk: Walk) -> Iterator[tuple[int, slice, slice]]:
    """List the columns of the output: the taps inside, and their elements of a row."""
    columns, n_channels = walk.columns, walk.n_channels
    for column in range(columns.n_out):
        place = columns.place(column, 0)
        first = min(max(-place, 0), columns.n_taps)
        last = max(min(columns.n_taps, columns.n_in - place), first)
        inside = slice((place + first) * n_channels, (place + last) * n_channels)
        yield column, slice(first, last), inside


def _overlaps(walk: Walk) -> list[Overlap]:
    return overlaps_of(walk.rows, Block(slice(None), 0, walk.rows.n_out), 0)


# --- forwards -----------------------------------------------------------------------------


def correlate_strips(
    xp: Any,
    arrays: tuple[Any, Any, Any],
    walk: Walk,
    strips: Strips,
    scratch: Sequence[Any],
) -> list[list[Call]]:
    """Write the products of windows and a filter; list the calls of each thread.

    The arrays are images, the filter and the output.
    """
    source, kernel, target = arrays
    calls: list[list[Call]] = []
    for own, flat in zip(_shares(walk, strips, len(scratch)), scratch, strict=True):
        calls.append([])
        for images in own:
            n_images = images.stop - images.start
            memory = _Memory(flat, strips, walk, n_images)
            _, n_rows, n_columns, n_features = walk.dims
            dims = n_columns, n_rows, n_images, n_features
            total = shaped(memory.results, dims)
            calls[-1].append((xp.copyto, (memory.images, source[images].swapaxes(0, 1))))
            calls[-1] += _products(xp, memory, kernel, total, walk)
            calls[-1].append((xp.copyto, (target[images], total.transpose(2, 1, 0, 3))))
    return calls


def _products(xp: Any, memory: _Memory, kernel: Any, total: Any, walk: Walk) -> Iterator[Call]:
    """Multiply each column's windows by each row of the filter, and accumulate."""
    flat_rows = memory.images.reshape(*memory.images.shape[:2], -1)
    overlaps = _overlaps(walk)
    for column, taps, inside in _columns(walk):
        sums = total[column]
        is_empty = taps.start == taps.stop
        is_filled = bool(overlaps) and overlaps[0].covers_all and not is_empty
        if not is_filled:
            yield sums.fill, (0,)
        if is_empty:
            continue
        for position, (tap, given, met, _) in enumerate(overlaps):
            factors = flat_rows[given, :, inside].reshape(-1, inside.stop - inside.start)
            matrix = kernel[tap, taps].reshape(-1, walk.n_features)
            out = sums[met].reshape(-1, walk.n_features)
            if position == 0 and is_filled:
                yield multiply(xp, factors, matrix, out)
                continue
            product = shaped(memory.product, out.shape)
            yield from multiply_add(xp, factors, matrix, out, product)


# --- back to the filter -------------------------------------------------------------------


def filter_products_strips(
    xp: Any,
    arrays: tuple[Any, Any, Any],
    walk: Walk,
    strips: Strips,
    scratch: Sequence[Any],
) -> list[list[Call]]:
    """Sum the products of windows and gradients; list the calls of each thread.

    The arrays are images, gradients, and a filter for each thread to add to.
    """
    source, grads, shares = arrays
    calls: list[list[Call]] = []
    by_thread = zip(_shares(walk, strips, len(scratch)), scratch, shares, strict=True)
    for own, flat, share in by_thread:
        calls.append([(share.fill, (0,))])
        for images in own:
            n_images = images.stop - images.start
            memory = _Memory(flat, strips, walk, n_images)
            _, n_rows, n_columns, n_features = walk.dims
            arrived = shaped(memory.results, (n_rows, n_images, n_columns, n_features))
            calls[-1].append((xp.copyto, (memory.images, source[images].swapaxes(0, 1))))
            calls[-1].append((xp.copyto, (arrived, grads[images].swapaxes(0, 1))))
            calls[-1] += _filter_products(xp, memory, arrived, share, walk)
    return calls


def _filter_products(
    xp: Any, memory: _Memory, arrived: Any, share: Any, walk: Walk
) -> Iterator[Call]:
    flat_rows = memory.images.reshape(*memory.images.shape[:2], -1)
    for column, taps, inside in _columns(walk):
        if taps.start == taps.stop:
            continue
        for tap, given, met, _ in _overlaps(walk):
            factors = flat_rows[given, :, inside].reshape(-1, inside.stop - inside.start)
            grads = arrived[met, :, column].reshape(-1, walk.n_features)
            sums = share[tap, taps].reshape(-1, walk.n_features)
            product = shaped(memory.product, sums.shape)
            yield from multiply_add(xp, factors.T, grads, sums, product)
