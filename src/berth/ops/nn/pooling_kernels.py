"""Kernels of max and average pooling and their gradients, a few images at a time.

Largest elements and sums are found along rows first, then along columns, which takes fewer
combinations than windows have elements.

A window's gradient goes to its largest element, and to the first of several. To find it, the
taps are compared with the maximum in order, and a mask records where it was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.ops.nn.pooling_slices import (
    Lattices,
    Pool,
    along,
    back_along,
    cut,
    in_slices,
    pool_of,
    taps_of,
)
from berth.ops.nn.windows import channels_last
from berth.ops.opdef import Call, Launch, Parts, make_calls

# --- largest elements ---------------------------------------------------------------------


def lowest(dtype: Any) -> Any:
    """Return the lowest value of a type: -inf for floats."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def bind_max(launch: Launch) -> Parts | None:
    """Bind max pooling. Scratch: the intermediate result between rows and columns."""
    xp, attrs = launch.xp, launch.attrs
    images, out = (channels_last(a, attrs) for a in (launch.inputs[0], launch.outputs[0]))
    if out.size == 0:
        return None
    pool = pool_of(launch.inputs[0].shape, attrs, launch.n_threads)
    least = lowest(out.dtype)

    def larger(a: Any, b: Any, result: Any) -> None:
        xp.maximum(a, b, out=result)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        source, target = images[which], out[which]
        if pool.rows.n_taps > 1 or pool.rows.step > 1:
            between = cut(launch.scratch[0], which, thread)
            yield from along(xp, 1, pool.rows, source, between, larger, least)
            source = between
        yield from along(xp, 2, pool.columns, source, target, larger, least)

    return in_slices(pool, calls_of)


class _Reach(NamedTuple):
    """One tap of all windows: the windows that have it, and its elements."""

    windows: tuple[slice, slice, slice]
    places: tuple[slice, slice, slice]
    offset: tuple[int, int]


def _reaches(pool: Pool) -> list[_Reach]:
    """List the taps of windows, row by row."""
    everything = slice(None)
    return [
        _Reach(
            (everything, row.windows, column.windows),
            (everything, row.places, column.places),
            (
                row.places.start - row.windows.start * pool.rows.step,
                column.places.start - column.windows.start * pool.columns.step,
            ),
        )
        for row in taps_of(pool.rows)
        for column in taps_of(pool.columns)
    ]


def _first_largest(
    xp: Any, pool: Pool, images: Any, largest: Any, masks: Sequence[Any]
) -> Iterator[tuple[_Reach, Any, list[Call]]]:
    """For each tap: a mask of the windows whose first maximum it is, and its calls."""
    found, is_it = masks
    reaches = _reaches(pool)
    for position, reach in enumerate(reaches):
        mine, before = is_it[reach.windows], found[reach.windows]
        calls: list[Call] = [(xp.equal, (largest[reach.windows], images[reach.places], mine))]
        if position == 0:
            calls += [(found.fill, (False,)), (xp.copyto, (before, mine))]
        else:  # True > False: found now, and not before
            calls.append((xp.greater, (mine, before, mine)))
            if position < len(reaches) - 1:
                calls.append((xp.logical_or, (before, mine, before)))
        yield reach, mine, calls


def bind_max_gradient(launch: Launch) -> Parts | None:
    """Bind the gradient of max pooling. Scratch: two masks, a product."""
    xp, attrs, out = launch.xp, launch.attrs, launch.outputs[0]
    if out.size == 0:
        return None
    images, largest, grads = (channels_last(array, attrs) for array in launch.inputs)
    pool = pool_of(launch.inputs[0].shape, attrs, launch.n_threads)
    target = channels_last(out, attrs)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        *masks, gated = (cut(array, which, thread) for array in launch.scratch)
        mine, arrived = target[which], grads[which]
        lattices = Lattices(mine, {1: pool.rows, 2: pool.columns})
        for reach, mask, calls in _first_largest(
            xp, pool, images[which], largest[which], masks
        ):
            yield from calls
            places, part = mine[reach.places], gated[reach.windows]
            opening = lattices.open({1: reach.places[1], 2: reach.places[2]})
            if opening is not None:
                yield from opening
                yield xp.multiply, (arrived[reach.windows], mask, places)
                continue
            yield xp.multiply, (arrived[reach.windows], mask, part)
            yield xp.add, (places, part, places)
        yield from lattices.close()

    return in_slices(pool, calls_of)


def bind_max_gradient_gradient(launch: Launch) -> Parts | None:
    """Bind the gradient of max pooling's gradient: values at the maxima. Scratch as above."""
    xp, attrs, out = launch.xp, launch.attrs, launch.outputs[0]
    if out.size == 0:
        return None
    images, largest, grads = (channels_last(array, attrs) for array in launch.inputs)
    pool = pool_of(launch.inputs[0].shape, attrs, launch.n_threads)
    target = channels_last(out, attrs)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        *masks, gated = (cut(array, which, thread) for array in launch.scratch)
        mine, given = target[which], grads[which]
        yield mine.fill, (0,)
        for reach, mask, calls in _first_largest(
            xp, pool, images[which], largest[which], masks
        ):
            yield from calls
            part = gated[reach.windows]
            yield xp.multiply, (given[reach.places], mask, part)
            yield xp.add, (mine[reach.windows], part, mine[reach.windows])

    return in_slices(pool, calls_of)


def bind_positions(launch: Launch) -> Parts | None:
    """Bind the indices of the maxima. Scratch: two masks, a product."""
    xp, attrs, out = launch.xp, launch.attrs, launch.outputs[1]
    if out.size == 0:
        return None
    (images,), largest = launch.inputs, launch.outputs[0]
    pool = pool_of(images.shape, attrs, launch.n_threads)
    _, n_rows, n_columns, n_channels = images.shape
    rows = xp.arange(pool.rows.n_out)[:, None, None] * pool.rows.step
    columns = xp.arange(pool.columns.n_out)[:, None] * pool.columns.step
    base = (rows * n_columns + columns) * n_channels + xp.arange(n_channels)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        *masks, gated = (cut(array, which, thread) for array in launch.scratch[1:])
        yield xp.copyto, (out[which], base)
        if attrs["include_batch_in_index"]:
            numbers = xp.arange(which.start, which.stop) * (n_rows * n_columns * n_channels)
            yield xp.add, (out[which], numbers[:, None, None, None], out[which])
        for reach, mask, calls in _first_largest(
            xp, pool, images[which], largest[which], masks
        ):
            yield from calls
            part, places = gated[reach.windows], out[which][reach.windows]
            offset = (reach.offset[0] * n_columns + reach.offset[1]) * n_channels
            yield xp.multiply, (mask, part.dtype.type(offset), part)
            yield xp.add, (places, part, places)

    search = bind_max(launch._replace(outputs=launch.outputs[:1], scratch=launch.scratch[:1]))
    assert search is not None
    both = zip(search.calls, in_slices(pool, calls_of).calls, strict=True)
    return Parts([(make_calls, (pair,)) for pair in both])


# --- means --------------------------------------------------------------------------------


def _counts(xp: Any, pool: Pool, dtype: Any) -> Any:
    """Count the elements of windows that are not padding."""
    per_axis = []
    for windows in (pool.rows, pool.columns):
        counts = np.zeros(windows.n_out)
        for tap in taps_of(windows):
            counts[tap.windows] += 1
        per_axis.append(np.maximum(counts, 1))
    return xp.asarray(np.outer(*per_axis)[..., None].astype(dtype))


def bind_mean(launch: Launch) -> Parts | None:
    """Bind average pooling. Scratch: intermediate, sums."""
    xp, attrs = launch.xp, launch.attrs
    images, out = (channels_last(a, attrs) for a in (launch.inputs[0], launch.outputs[0]))
    if out.size == 0:
        return None
    pool = pool_of(launch.inputs[0].shape, attrs, launch.n_threads)
    counts = _counts(xp, pool, launch.scratch[1].dtype)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        between, sums = (cut(array, which, thread) for array in launch.scratch)
        yield from along(xp, 1, pool.rows, images[which], between, xp.add, 0)
        yield from along(xp, 2, pool.columns, between, sums, xp.add, 0)
        yield _divide, (xp, sums, counts, out[which])

    return in_slices(pool, calls_of)


def _divide(xp: Any, sums: Any, counts: Any, out: Any) -> None:
    xp.true_divide(sums, counts, out=out, casting="same_kind")


def bind_mean_gradient(launch: Launch) -> Parts | None:
    """Bind the gradient of average pooling. Scratch: intermediate, quotients, sums."""
    xp, attrs, out = launch.xp, launch.attrs, launch.outputs[0]
    if out.size == 0:
        return None
    grads, target = channels_last(launch.inputs[1], attrs), channels_last(out, attrs)
    pool = pool_of(out.shape, attrs, launch.n_threads)
    counts = _counts(xp, pool, launch.scratch[1].dtype)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        between, quotients, *wide = (cut(array, which, thread) for array in launch.scratch)
        total = wide[0] if wide else target[which]
        yield _divide, (xp, grads[which], counts, quotients)
        yield from back_along(xp, 2, pool.columns, quotients, between)
        yield from back_along(xp, 1, pool.rows, between, total)
        if wide:
            yield xp.copyto, (target[which], total)

    return in_slices(pool, calls_of)
