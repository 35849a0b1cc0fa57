"""Kernels of depthwise convolution, a few images at a time.

It is no matrix product. Windows are a view of the padded images, with columns and
channels in one axis; weights are repeated along the columns to fit it. So the sums of
products, one einsum, are made of long rows, and a row of results stays in the cache until
all that belongs to it is added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import DType
from berth.ops.nn.conv2d_binders import computed_in
from berth.ops.nn.windows import Windows, channels_last, falling, reversed_windows, windows_of
from berth.ops.opdef import Attrs, Call, Launch, OutputType, Parts, Typed, make_calls
from berth.ops.shape import Known

AT_ONCE = 2**17
"""About how many elements are worked on at a time."""

# --- how the work is divided --------------------------------------------------------------


class _Work(NamedTuple):
    """Windows over images with a number of channels, by slices of images."""

    n_images: int
    rows: Windows
    columns: Windows
    n_channels: int
    n_threads: int
    at_once: int

    @property
    def padded(self) -> Known:
        """The shape of one image with zeros around it."""
        return max(self.rows.span, 1), max(self.columns.span, 1), self.n_channels

    @property
    def out(self) -> Known:
        """The shape of one result."""
        return self.rows.n_out, self.columns.n_out, self.n_channels

    def slices(self) -> list[list[slice]]:
        """List which images each thread works on, and how many at a time."""
        every = [
            slice(n, min(n + self.at_once, self.n_images))
            for n in range(0, self.n_images, self.at_once)
        ]
        share = -(-len(every) // self.n_threads)
        return [every[k * share : (k + 1) * share] for k in range(self.n_threads)]


def _work(image_dims: Known, filter_dims: Known, attrs: Attrs, n_threads: int) -> _Work:
    rows, columns = windows_of(image_dims, filter_dims[:2], attrs)
    n_elements = math.prod(image_dims) * filter_dims[0] * filter_dims[1]
    n_threads = n_threads if n_elements > AT_ONCE else 1
    share = max(-(-image_dims[0] // n_threads), 1)
    size = max(math.prod(image_dims[1:]), 1)
    at_once = min(share, max(AT_ONCE // size, 1))
    return _Work(image_dims[0], rows, columns, filter_dims[2], n_threads, at_once)


def _back(work: _Work) -> list[tuple[slice, range, slice, range, _Work]]:
    """List the walks of the gradient of the input: positions, taps and windows."""
    walks = []
    for first_row, row_taps, rows in reversed_windows(work.rows):
        for first_column, column_taps, columns in reversed_windows(work.columns):
            walks.append(
                (
                    slice(first_row, None, work.rows.step),
                    row_taps,
                    slice(first_column, None, work.columns.step),
                    column_taps,
                    work._replace(rows=rows, columns=columns),
                )
            )
    return walks


def _memory(dtype: DType, works: Sequence[_Work], n_weights: int) -> Sequence[OutputType]:
    """Scratch memory: padded images, a product and a sum per thread, and repeated weights."""
    wide, n_threads = computed_in(dtype), works[0].n_threads
    padded = max(work.at_once * math.prod(work.padded) for work in works)
    product = max(work.at_once * math.prod(work.out) for work in works)
    repeated = n_weights * max(work.columns.n_out for work in works)
    return ((wide, (n_threads, padded + 2 * product)), (wide, (max(repeated, 1),)))


class _Scratch:
    """One thread's scratch memory for images at a time."""

    def __init__(self, flat: Any, work: _Work, images: slice) -> None:
        n_images = images.stop - images.start
        n_padded, n_out = n_images * math.prod(work.padded), n_images * math.prod(work.out)
        self.padded = flat[:n_padded].reshape(n_images, *work.padded)
        self.product = flat[n_padded : n_padded + n_out].reshape(n_images, *work.out)
        rest = flat[n_padded + n_out : n_padded + 2 * n_out]
        self.total = rest.reshape(n_images, *work.out)


# --- calls --------------------------------------------------------------------------------


def _pad(xp: Any, images: Any, work: _Work, scratch: _Scratch) -> Iterator[Call]:
    """Copy images into zero padding."""
    yield scratch.padded.fill, (0,)
    inner, given = [], []
    for windows, span in ((work.rows, work.padded[0]), (work.columns, work.padded[1])):
        first, last = max(windows.start, 0), min(windows.start + span, windows.n_in)
        given.append(slice(first, max(last, first)))
        inner.append(slice(first - windows.start, max(last, first) - windows.start))
    target = scratch.padded[:, inner[0], inner[1]]
    if target.size:
        yield xp.copyto, (target, images[:, given[0], given[1]])


def _windows(xp: Any, work: _Work, scratch: _Scratch) -> Any:
    """View padded images as windows: images, rows, taps, and columns with channels."""
    rows, columns = work.rows, work.columns
    n, h, w, c = scratch.padded.strides
    dims: Known = (scratch.padded.shape[0], rows.n_out, rows.n_taps, columns.n_taps)
    strides: Known = (n, h * rows.step, h * rows.gap, w * columns.gap)
    if columns.step == 1:
        dims, strides = (*dims, columns.n_out * work.n_channels), (*strides, c)
    else:
        dims = (*dims, columns.n_out, work.n_channels)
        strides = (*strides, w * columns.step, c)
    return xp.lib.stride_tricks.as_strided(scratch.padded, dims, strides)


def _contraction(xp: Any, axes: str, windows: Any, other: Any, out: Any, work: _Work) -> Call:
    """Bind a sum of products. In `axes`, m is columns with channels: one axis, or two."""
    if work.columns.step == 1:
        other, out = (array.reshape(*array.shape[:-2], -1) for array in (other, out))
    else:
        axes = axes.replace("m", "wc")
    return _contract, (xp, axes, windows, other, out)


def _contract(xp: Any, axes: str, a: Any, b: Any, out: Any) -> None:
    if xp is np:
        np.einsum(axes, a, b, out=out)
    else:  # others take no `out`
        xp.copyto(out, xp.einsum(axes, a, b))


def _sums(
    xp: Any, work: _Work, scratch: _Scratch, weights: Any, is_more: bool
) -> Iterator[Call]:
    """Write windows times weights to the scratch memory's total, or add them to it."""
    out, windows = scratch.product if is_more else scratch.total, _windows(xp, work, scratch)
    yield _contraction(xp, "nhabm,abm->nhm", windows, weights, out, work)
    if is_more:
        yield xp.add, (scratch.total, scratch.product, scratch.total)


def _repeated(xp: Any, weights: Any, work: _Work, flat: Any, start: int) -> tuple[Any, Call]:
    """Bind the repetition of weights (rows, columns, channels) along the columns of images."""
    n_rows, n_columns, n_channels = weights.shape
    dims = n_rows, n_columns, work.columns.n_out, n_channels
    target = flat[start : start + math.prod(dims)].reshape(dims)
    return target, (xp.copyto, (target, weights[:, :, None]))


def _parts(
    work: _Work,
    calls_of: Callable[[int, slice], Iterator[Call]],
    first: Sequence[Call] = (),
    then: Sequence[Call] = (),
) -> Parts:
    calls = [
        (make_calls, ([call for images in own for call in calls_of(thread, images)],))
        for thread, own in enumerate(work.slices())
    ]
    return Parts(calls, then, first)


# --- forwards -----------------------------------------------------------------------------


def forward_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: images, products and sums of each thread, and repeated weights."""
    images, filters = inputs
    work = _work(images.dims, filters.dims, attrs, n_threads)  # type: ignore[arg-type]
    return _memory(images.dtype, [work], math.prod(filters.dims))  # type: ignore[arg-type]


def bind_forward(launch: Launch) -> Parts | None:
    """Bind a depthwise convolution."""
    xp, attrs, (images, filters) = launch.xp, launch.attrs, launch.inputs
    if launch.outputs[0].size == 0:
        return None
    work = _work(images.shape, filters.shape, attrs, launch.n_threads)
    source = channels_last(images, attrs)
    out = channels_last(launch.outputs[0], attrs)
    multiplier = filters.shape[3]
    repeated, start, first = [], 0, []
    for k in range(multiplier):
        weights, call = _repeated(xp, filters[..., k], work, launch.scratch[1], start)
        start += weights.size
        repeated.append(weights)
        first.append(call)

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        scratch = _Scratch(launch.scratch[0][thread], work, which)
        yield from _pad(xp, source[which], work, scratch)
        for k in range(multiplier):
            yield from _sums(xp, work, scratch, repeated[k], is_more=False)
            yield xp.copyto, (out[which][..., k::multiplier], scratch.total)

    return _parts(work, calls_of, first)


# --- back to the input --------------------------------------------------------------------


def input_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: gradients, products and sums of each thread, and repeated weights."""
    filters, (dtype, dims) = inputs[1], outputs[0]
    work = _work(dims, filters.dims, attrs, n_threads)  # type: ignore[arg-type]
    n_weights = math.prod(filters.dims)  # type: ignore[arg-type]
    return _memory(dtype, [walk[-1] for walk in _back(work)], n_weights)


def bind_input(launch: Launch) -> Parts | None:
    """Bind the gradient by the input: flipped weights over the gradients of the output."""
    xp, attrs, (_, filters, grads) = launch.xp, launch.attrs, launch.inputs
    out = launch.outputs[0]
    if out.size == 0:
        return None
    work = _work(out.shape, filters.shape, attrs, launch.n_threads)
    arrived, target = channels_last(grads, attrs), channels_last(out, attrs)
    multiplier = filters.shape[3]
    first: list[Call] = []
    walks, start = [], 0
    for rows, row_taps, columns, column_taps, walk in _back(work):
        repeated = []
        for k in range(multiplier):
            flipped = filters[falling(row_taps), falling(column_taps), :, k]
            weights, call = _repeated(xp, flipped, walk, launch.scratch[1], start)
            start += weights.size
            repeated.append(weights)
            first.append(call)
        walks.append((target[:, rows, columns], walk, repeated))

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        for places, walk, repeated in walks:
            if 0 in (walk.rows.n_taps, walk.columns.n_taps, arrived.size):
                yield places[which].fill, (0,)
                continue
            scratch = _Scratch(launch.scratch[0][thread], walk, which)
            for k in range(multiplier):
                yield from _pad(xp, arrived[which][..., k::multiplier], walk, scratch)
                yield from _sums(xp, walk, scratch, repeated[k], is_more=k > 0)
            yield xp.copyto, (places[which], scratch.total)

    return _parts(work, calls_of, first)


# --- back to the filter -------------------------------------------------------------------


def filter_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: images and products of each thread, and its partial sums."""
    images, dims = inputs[0], outputs[0][1]
    work = _work(images.dims, dims, attrs, n_threads)  # type: ignore[arg-type]
    scratches, _ = _memory(images.dtype, [work], 0)
    n_rows, n_columns, n_channels, multiplier = dims or (0, 0, 0, 0)
    line = (work.n_threads, n_rows, n_columns, work.columns.n_out, n_channels)
    sums = (work.n_threads, (multiplier or 0) + 1, n_rows, n_columns, n_channels)
    return scratches, (scratches[0], line), (scratches[0], sums)


def bind_filter(launch: Launch) -> Parts | Call | None:
    """Bind the gradient by the filter: images times the gradients of the output, summed."""
    xp, attrs, (images, _, grads) = launch.xp, launch.attrs, launch.inputs
    out = launch.outputs[0]
    if out.size == 0:
        return None
    if grads.size == 0:
        return out.fill, (0,)
    work = _work(images.shape, out.shape, attrs, launch.n_threads)
    source, arrived = channels_last(images, attrs), channels_last(grads, attrs)
    multiplier = out.shape[3]
    scratches, lines, sums = launch.scratch

    def calls_of(thread: int, which: slice) -> Iterator[Call]:
        scratch, line = _Scratch(scratches[thread], work, which), lines[thread]
        yield from _pad(xp, source[which], work, scratch)
        spare, windows = sums[thread, multiplier], _windows(xp, work, scratch)
        for k in range(multiplier):
            yield xp.copyto, (scratch.total, arrived[which][..., k::multiplier])
            for a, b in product(range(work.rows.n_taps), range(work.columns.n_taps)):
                view, sums_here = windows[:, :, a, b], line[a, b]
                yield _contraction(xp, "nhm,nhm->m", view, scratch.total, sums_here, work)
            yield xp.sum, (line, 2, None, spare)
            yield xp.add, (sums[thread, k], spare, sums[thread, k])

    total = sums[0, :multiplier]
    then: list[Call] = [(xp.add, (total, other[:multiplier], total)) for other in sums[1:]]
    then.append((xp.copyto, (out, total.transpose(1, 2, 3, 0))))
    return _parts(work, calls_of, [(sums.fill, (0,))], then)
