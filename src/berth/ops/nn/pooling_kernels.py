"""Kernels of max and average pooling and their gradients, a few images at a time.

Largest elements and sums are found along rows first, then along columns, which takes fewer
combinations than windows have elements.

A window's gradient goes to its largest element, and to the first of several. To find it, the
taps are compared with the maximum in order, and a mask records where it was found.

TensorFlow begins a maximum with the lowest finite number, and replaces it by what is larger:
so NaN and -inf are never the result. The position begins with the first element, whatever it
is, and moves to what is larger: so a NaN that comes first gets the gradient, a later one not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """Return the lowest finite value of a type."""
    return np.finfo(dtype).min if dtype.kind == "f" else dtype.type(np.iinfo(dtype).min)


def bind_max(launch: Launch) -> Parts | None:
    """Bind max pooling. Scratch: the intermediate result between rows and columns."""
    least = lowest(launch.outputs[0].dtype)
    return _bind_search(launch, least, is_finite=True)


def _bind_search(launch: Launch, least: Any, is_finite: bool) -> Parts | None:
    """Bind the search for the largest elements; `is_finite` if it is at least `least`."""
    xp, attrs = launch.xp, launch.attrs
    images, out = (channels_last(a, attrs) for a in (launch.inputs[0], launch.outputs[0]))
    if out.size == 0:
        return None
    pool = pool_of(launch.inputs[0].shape, attrs, launch.n_threads)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        source, target = images[which], out[which]
        if pool.rows.n_taps > 1 or pool.rows.step > 1:
            between = cut(launch.scratch[0], which, thread)
            yield from along(xp, 1, pool.rows, source, between, xp.fmax, least)
            source = between
        yield from along(xp, 2, pool.columns, source, target, xp.fmax, least)
        if is_finite and out.dtype.kind == "f":
            yield xp.fmax, (target, least, target)

    return in_slices(pool, calls_of)


class _Reach(NamedTuple):
    """One tap of all windows: the windows that have it, and its elements."""

    windows: tuple[slice, slice, slice]
    places: tuple[slice, slice, slice]
    offset: tuple[int, int]
    n_first: tuple[int, int]
    """So many rows and columns of these windows begin with it."""

    def beginning(self) -> _Reach | None:
        """Return the part for the windows that begin with this tap, if there are any."""
        if not all(self.n_first):
            return None
        n_rows, n_columns = self.n_first
        windows, places = (
            (images, _shortened(rows, n_rows), _shortened(columns, n_columns))
            for images, rows, columns in (self.windows, self.places)
        )
        return self._replace(windows=windows, places=places)


def _shortened(which: slice, length: int) -> slice:
    """Index the first elements of a slice."""
    step = which.step or 1
    return slice(which.start, which.start + (length - 1) * step + 1, which.step)


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
            (row.n_first, column.n_first),
        )
        for row in taps_of(pool.rows)
        for column in taps_of(pool.columns)
    ]


def _first_largest(
    xp: Any,
    pool: Pool,
    arrays: tuple[Any, Any],
    masks: Sequence[Any],
    give: Callable[[_Reach, Any], Iterable[Call]],
) -> Iterator[Call]:
    """Find the windows whose first maximum each tap is; `give` makes calls for their mask.

    The arrays are images and their largest elements.
    """
    (images, largest), (found, is_it) = arrays, masks
    is_float = images.dtype.kind == "f"
    reaches = _reaches(pool)
    beginnings = [begin for reach in reaches if (begin := reach.beginning())]
    for position, reach in enumerate(reaches):
        mine, before = is_it[reach.windows], found[reach.windows]
        yield xp.equal, (largest[reach.windows], images[reach.places], mine)
        begin = reach.beginning() if is_float else None
        if begin is not None:  # neither less: equal, or NaN
            first = is_it[begin.windows]
            yield xp.less, (images[begin.places], largest[begin.windows], first)
            yield xp.logical_not, (first, first)
        if position == 0:
            yield found.fill, (False,)
            yield xp.copyto, (before, mine)
        else:  # True > False: found now, and not before
            yield xp.greater, (mine, before, mine)
            yield xp.logical_or, (before, mine, before)
        yield from give(reach, mine)
    if is_float:
        rest: list[Call] = []
        for begin in beginnings:
            mine = is_it[begin.windows]
            rest += [(xp.logical_not, (found[begin.windows], mine)), *give(begin, mine)]
        yield _unless_all, (found, rest)


def _unless_all(found: Any, calls: Sequence[Call]) -> None:
    """Make calls for windows without a maximum: all elements are -inf, or later ones NaN."""
    if not found.all():
        make_calls(calls)


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

        def give(reach: _Reach, mask: Any) -> Iterator[Call]:
            places, part = mine[reach.places], gated[reach.windows]
            opening = lattices.open({1: reach.places[1], 2: reach.places[2]})
            if opening is not None:
                yield from opening
                yield xp.multiply, (arrived[reach.windows], mask, places)
                return
            yield xp.multiply, (arrived[reach.windows], mask, part)
            yield xp.add, (places, part, places)

        yield from _first_largest(xp, pool, (images[which], largest[which]), masks, give)
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

        def give(reach: _Reach, mask: Any) -> Iterator[Call]:
            part = gated[reach.windows]
            yield xp.multiply, (given[reach.places], mask, part)
            yield xp.add, (mine[reach.windows], part, mine[reach.windows])

        yield mine.fill, (0,)
        yield from _first_largest(xp, pool, (images[which], largest[which]), masks, give)

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

        def give(reach: _Reach, mask: Any) -> Iterator[Call]:
            part, places = gated[reach.windows], out[which][reach.windows]
            offset = (reach.offset[0] * n_columns + reach.offset[1]) * n_channels
            yield xp.multiply, (mask, part.dtype.type(offset), part)
            yield xp.add, (places, part, places)

        if images.dtype.kind == "f":
            yield from _keep_first_nan(xp, pool, (images[which], largest[which]), masks[1])
        yield from _first_largest(xp, pool, (images[which], largest[which]), masks, give)

    least = -np.inf if images.dtype.kind == "f" else lowest(images.dtype)
    alone = launch._replace(outputs=launch.outputs[:1], scratch=launch.scratch[:1])
    search = _bind_search(alone, least, is_finite=False)
    assert search is not None
    both = zip(search.calls, in_slices(pool, calls_of).calls, strict=True)
    return Parts([(make_calls, (pair,)) for pair in both])


def _keep_first_nan(xp: Any, pool: Pool, arrays: tuple[Any, Any], mask: Any) -> Iterator[Call]:
    """Write NaN as the largest element of windows that begin with it."""
    images, largest = arrays
    for reach in _reaches(pool):
        begin = reach.beginning()
        if begin is not None:
            values, is_nan = images[begin.places], mask[begin.windows]
            yield xp.isnan, (values, is_nan)
            yield _copy_where, (xp, largest[begin.windows], values, is_nan)


def _copy_where(xp: Any, target: Any, values: Any, mask: Any) -> None:
    xp.copyto(target, values, where=mask)


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
