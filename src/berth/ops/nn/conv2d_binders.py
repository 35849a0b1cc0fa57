"""Kernels of 2-D convolution and of its gradients by input and filter.

Where the input has several times the filter's channels, channels and features form groups
that are independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from berth.dtypes import DType, float16, float32
from berth.ops.convert import dtype_of
from berth.ops.nn.conv2d_blocks import Walk
from berth.ops.nn.conv2d_filter_gradient import products
from berth.ops.nn.conv2d_kernels import correlate, scratch_elements
from berth.ops.nn.windows import (
    Windows,
    channel_axis,
    channels_last,
    falling,
    reversed_windows,
    windows_of,
)
from berth.ops.opdef import Attrs, Call, Launch, OutputType, Parts, Typed, make_calls
from berth.ops.shape import Known

FEW = 2**20
"""Below this number of multiplications, a second thread is not worth its start."""


def computed_in(dtype: DType) -> DType:
    """Return the type that products are computed in: wider than float16."""
    return float32 if dtype.base_dtype is float16 else dtype.base_dtype


class Shapes(NamedTuple):
    """The sizes of a convolution."""

    n_images: int
    rows: Windows
    columns: Windows
    n_channels: int
    """Of the filter: the input may have several times as many."""
    n_features: int
    """Of one group."""
    n_groups: int

    @property
    def forwards(self) -> Walk:
        """The walk over the input, of one group."""
        return Walk(self.n_images, self.rows, self.columns, self.n_channels, self.n_features)

    def useful_threads(self, n_threads: int) -> int:
        """Return the number of threads to use."""
        n_windows = self.n_images * self.rows.n_out * self.columns.n_out * self.n_groups
        size = self.rows.n_taps * self.columns.n_taps * self.n_channels * self.n_features
        return n_threads if n_windows * size > FEW else 1


def shapes_of(image_dims: Known, filter_dims: Known, attrs: Attrs) -> Shapes:
    """Read the sizes of a convolution from the shapes of its input and filter."""
    rows, columns = windows_of(image_dims, filter_dims[:2], attrs)
    n_groups = image_dims[channel_axis(attrs)] // max(filter_dims[2], 1)
    n_features = filter_dims[3] // max(n_groups, 1)
    return Shapes(image_dims[0], rows, columns, filter_dims[2], n_features, n_groups)


def _shares(calls: Sequence[Sequence[Sequence[Call]]]) -> list[Call]:
    """Make one call for each thread from the calls of its walks."""
    by_thread = zip(*calls, strict=True)
    return [(make_calls, ([call for walk in own for call in walk],)) for own in by_thread]


def _group(array: Any, number: int, size: int) -> Any:
    return array[..., number * size : (number + 1) * size]


# --- filters ------------------------------------------------------------------------------


def _kernel_size(walk: Walk) -> int:
    """Return the number of elements of the filter of a walk."""
    return walk.rows.n_taps * walk.columns.n_taps * walk.n_channels * walk.n_features


def _contiguous(xp: Any, kernel: Any, flat: Any, dtype: DType) -> tuple[Any, list[Call]]:
    """Bind the copy of a filter that is not contiguous, or of another type."""
    if kernel.flags.c_contiguous and kernel.dtype == dtype.np_dtype:
        return kernel, []
    copy = flat[: kernel.size].reshape(kernel.shape)
    return copy, [(xp.copyto, (copy, kernel))]


# --- forwards -----------------------------------------------------------------------------


def forward_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: blocks of each thread, and a contiguous filter."""
    images, filters = inputs
    shapes = shapes_of(images.dims, filters.dims, attrs)  # type: ignore[arg-type]
    n_threads = shapes.useful_threads(n_threads)
    dtype, walk = computed_in(images.dtype), shapes.forwards
    is_plain = shapes.n_groups == 1 and dtype is filters.dtype.base_dtype
    kernel = 0 if is_plain else _kernel_size(walk)
    room = scratch_elements(walk, n_threads)
    return ((dtype, (n_threads, room)), (dtype, (shapes.n_groups, kernel)))


def bind_forward(launch: Launch) -> Parts | None:
    """Bind a 2-D convolution."""
    xp, attrs, (images, filters) = launch.xp, launch.attrs, launch.inputs
    if launch.outputs[0].size == 0:
        return None
    shapes = shapes_of(images.shape, filters.shape, attrs)
    source = channels_last(images, attrs)
    target = channels_last(launch.outputs[0], attrs)
    scratch, memory = launch.scratch
    dtype, walk = dtype_of(scratch), shapes.forwards
    first: list[Call] = []
    calls = []
    for number in range(shapes.n_groups):
        own = _group(filters, number, shapes.n_features)
        kernel, preparing = _contiguous(xp, own, memory[number], dtype)
        first += preparing
        from_here = _group(source, number, shapes.n_channels)
        to_here = _group(target, number, shapes.n_features)
        calls.append(correlate(xp, from_here, kernel, to_here, walk, list(scratch)))
    return Parts(_shares(calls), first=first)


# --- back to the input --------------------------------------------------------------------


class _Return(NamedTuple):
    """A walk of the gradient, to rows and columns of the input in steps of the strides."""

    walk: Walk
    first_row: int
    first_column: int
    taps: tuple[range, range]


def _returns(shapes: Shapes) -> Iterator[_Return]:
    for first_row, row_taps, rows in reversed_windows(shapes.rows):
        for first_column, column_taps, columns in reversed_windows(shapes.columns):
            walk = Walk(shapes.n_images, rows, columns, shapes.n_features, shapes.n_channels)
            yield _Return(walk, first_row, first_column, (row_taps, column_taps))


def input_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: blocks of each thread, and the flipped filter."""
    filters, images = inputs[1].dims, outputs[0][1]
    shapes = shapes_of(images, filters, attrs)  # type: ignore[arg-type]
    n_threads = shapes.useful_threads(n_threads)
    dtype = computed_in(inputs[1].dtype)
    walks = [back.walk for back in _returns(shapes) if all(back.taps)]
    room = max((scratch_elements(walk, n_threads) for walk in walks), default=0)
    kernels = sum(map(_kernel_size, walks))
    return ((dtype, (n_threads, room)), (dtype, (shapes.n_groups * kernels,)))


def bind_input_gradient(launch: Launch) -> Parts | None:
    """Bind the gradient by the input: gradients convolved with the flipped filter."""
    xp, attrs, (_, filters, grads) = launch.xp, launch.attrs, launch.inputs
    out = launch.outputs[0]
    if out.size == 0:
        return None
    shapes = shapes_of(out.shape, filters.shape, attrs)
    source, target = channels_last(grads, attrs), channels_last(out, attrs)
    scratch, memory = launch.scratch
    dtype = dtype_of(scratch)
    first: list[Call] = []
    calls = []
    start = 0
    for back in _returns(shapes):
        places = target[
            :, back.first_row :: shapes.rows.step, back.first_column :: shapes.columns.step
        ]
        if not all(back.taps) or grads.size == 0:
            first.append((places.fill, (0,)))
            continue
        for number in range(shapes.n_groups):
            own = _group(filters, number, shapes.n_features)
            rows, columns = (falling(taps) for taps in back.taps)
            flipped = own[rows, columns].swapaxes(2, 3)
            kernel, preparing = _contiguous(xp, flipped, memory[start:], dtype)
            start += _kernel_size(back.walk)
            first += preparing
            from_here = _group(source, number, shapes.n_features)
            to_here = _group(places, number, shapes.n_channels)
            calls.append(correlate(xp, from_here, kernel, to_here, back.walk, list(scratch)))
    return Parts(_shares(calls), first=first)


# --- back to the filter -------------------------------------------------------------------


def filter_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: blocks and products of each thread, and its partial sums."""
    images, filters = inputs[0], outputs[0][1]
    shapes = shapes_of(images.dims, filters, attrs)  # type: ignore[arg-type]
    n_threads = shapes.useful_threads(n_threads)
    dtype, walk = computed_in(images.dtype), shapes.forwards
    room = scratch_elements(walk, n_threads) + _kernel_size(walk)
    share = (walk.rows.n_taps, walk.columns.n_taps, walk.n_channels, walk.n_features)
    return ((dtype, (n_threads, room)), (dtype, (shapes.n_groups, n_threads, *share)))


def bind_filter_gradient(launch: Launch) -> Parts | Call | None:
    """Bind the gradient by the filter."""
    xp, attrs, (images, _, grads) = launch.xp, launch.attrs, launch.inputs
    out = launch.outputs[0]
    if out.size == 0:
        return None
    if grads.size == 0:
        return out.fill, (0,)
    shapes = shapes_of(images.shape, out.shape, attrs)
    source, arrived = channels_last(images, attrs), channels_last(grads, attrs)
    scratch, shares = launch.scratch
    walk = shapes.forwards
    calls = []
    then: list[Call] = []
    for number, own in enumerate(shares):
        from_here = _group(source, number, shapes.n_channels)
        for_these = _group(arrived, number, shapes.n_features)
        calls.append(products(xp, from_here, for_these, own, walk, list(scratch)))
        then += [(xp.add, (own[0], other, own[0])) for other in own[1:]]
        then.append((xp.copyto, (_group(out, number, shapes.n_features), own[0])))
    return Parts(_shares(calls), then=then)
