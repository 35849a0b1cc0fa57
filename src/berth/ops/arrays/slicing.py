"""`slice` and `strided_slice`.

A strided slice is an index of Python's: the operation has TensorFlow's begin, end, strides
and masks, which the shape rule and the kernel convert to that index.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, NUMBERS, int16
from berth.ops import arrays
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    check_again,
    check_rank,
    known_value,
    merge_dims,
    shape_of_value,
)
from berth.ops.shape import Dims, bracketed, is_known
from berth.ops.types import Tensor, TensorLike
from berth.public import public

# --- slices -------------------------------------------------------------------------------


def _sliced(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, begin, size = inputs
    dtype, dims = tensor.dtype.base_dtype, tensor.dims
    n_axes = next((t.dims[0] for t in (begin, size) if t.dims), None)
    if dims is None:
        dims = None if n_axes is None else (None,) * n_axes
    elif n_axes is not None:
        check_rank(dims, n_axes)
    if dims is None:
        return ((dtype, None),)
    starts = [None] * len(dims) if begin.value is None else begin.value.tolist()
    sizes = [None] * len(dims) if size.value is None else size.value.tolist()
    parts = enumerate(zip(dims, starts, sizes, strict=True))
    return ((dtype, tuple(_size_of_slice(axis, *part) for axis, part in parts)),)


def _size_of_slice(
    axis: int, whole: int | None, start: int | None, size: int | None
) -> int | None:
    if size is not None and size < -1:
        raise ValueError(f"Invalid value in tensor used for shape: {size}")
    if start is None or whole is None:
        return None if size == -1 else size
    if not 0 <= start <= whole:
        at_run = f"Expected begin[{axis}] in [0, {whole}], but got {start}"
        message = f"Negative dimension size caused by subtracting {start} from {whole}"
        raise ShapeMismatch(message if start > whole else at_run, at_run)
    if size is None:
        return None
    if size > whole - start:
        raise ValueError(f"Expected size[{axis}] in [0, {whole - start}], but got {size}")
    return whole - start if size == -1 else size


def _bind_slice(launch: Launch) -> Call:
    check_again(_sliced, launch)
    tensor, begin, _ = launch.inputs
    out = launch.outputs[0]
    starts = zip(begin.tolist(), out.shape, strict=True)
    view = tensor[tuple(builtins.slice(start, start + size) for start, size in starts)]
    return launch.xp.copyto, (out, view)


SLICE = OpDef(
    "Slice",
    "input:T begin:Index size:Index",
    _sliced,
    types={"T": ALL, "Index": INDEX},
    kernels=all_devices_but_strings(_bind_slice),
    host_inputs=(1, 2),
    samples=("f(4, 5), i(1, 2), i(2, -1)",),
    large_samples=("square, i(1, 1), i(-1, -1)",),
)


@public("slice")
def slice(input_: Any, begin: TensorLike, size: Any, name: str | None = None) -> Tensor:
    """Slice of a tensor, by `begin` and `size`; a size of -1 is all that remains.

    >>> slice([1, 2, 3, 4], [1], [2]).numpy().tolist()
    [2, 3]
    """
    return apply(SLICE, (input_, begin, size), {}, name)


@gradient(SLICE)
def _slice_gradient(op: RecordedOp, grad: Any) -> Any:
    x, begin, _ = op.inputs
    paddings: Any
    if begin.value is not None and is_known(x.dims) and is_known(grad.dims):
        after = np.array(x.dims) - np.array(grad.dims) - begin.value
        paddings = np.stack([begin.value, after.astype(begin.value.dtype)], 1)
    else:
        whole, part = (shape(tensor, out_type=begin.dtype) for tensor in (x, grad))
        paddings = arrays.joining.stack([begin, whole - part - begin], 1)
    return arrays.pad.pad(grad, paddings), None, None


# --- strided slices -----------------------------------------------------------------------


def _index(inputs: Sequence[Any], attrs: Attrs) -> list[Any]:
    """Convert begin, end, strides and masks to a Python index; an unknown number is `_OPEN`."""
    n_parts = next((len(numbers) for numbers in inputs if numbers is not None), 0)
    index: list[Any] = []
    for k in range(n_parts):
        bit = 1 << k
        begin, end, stride = (_OPEN if n is None else n[k] for n in inputs)
        if attrs["ellipsis_mask"] & bit:
            index.append(Ellipsis)
        elif attrs["new_axis_mask"] & bit:
            index.append(None)
        elif attrs["shrink_axis_mask"] & bit:
            if not isinstance(stride, str) and stride < 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            index.append(begin)
        else:
            if stride == 0:
                raise ValueError(f"strides[{k}] must be non-zero")
            begin = None if attrs["begin_mask"] & bit else begin
            end = None if attrs["end_mask"] & bit else end
            index.append(builtins.slice(begin, end, stride))
    if index.count(Ellipsis) > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed")
    return index


_OPEN = "a number that is not known"


def _strided(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, *numbers = inputs
    dtype, dims = tensor.dtype.base_dtype, tensor.dims
    _check_lengths(numbers)
    if dims is None:
        return ((dtype, None),)
    known = (known_value(number) for number in numbers)
    values = [None if value is None else value.tolist() for value in known]
    if all(value is None for value in values):
        n_parts = next((n.dims[0] for n in numbers if n.dims), None)
        if n_parts is None:
            return ((dtype, None),)
        values[0] = [_OPEN] * n_parts
    return ((dtype, _dims_at(dims, _index(values, attrs))),)


def _check_lengths(numbers: Sequence[Typed]) -> None:
    """Raise ShapeMismatch unless begin, end and strides are of one length."""
    begin, end, strides = (n.dims for n in numbers)
    if begin == end == strides:
        return
    at_run = (
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
        f"{bracketed(begin)}, {bracketed(end)}, and {bracketed(strides)} instead."
    )
    merge_dims(merge_dims(begin, end, at_run), strides, at_run)


def _dims_at(dims: Sequence[int | None], index: list[Any]) -> Dims:
    """Return the shape of the slice at an index."""
    n_taken = sum(part is not None and part is not Ellipsis for part in index)
    if n_taken > len(dims):
        message = (
            f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims"
        )
        raise ShapeMismatch(message, message if dims else "Attempting to slice scalar input.")
    if Ellipsis not in index:
        index = [*index, Ellipsis]
    sizes: list[int | None] = []
    axis = 0
    for part in index:
        if part is Ellipsis:
            end = axis + len(dims) - n_taken
            sizes += dims[axis:end]
            axis = end
        elif part is None:
            sizes.append(1)
        else:
            if isinstance(part, builtins.slice):
                sizes.append(_n_selected(part, dims[axis]))
            elif part is not _OPEN:
                _check_index(part, dims[axis], axis)
            axis += 1
    return tuple(sizes)


def _n_selected(part: Any, size: int | None) -> int | None:
    if size is None or _OPEN in (part.start, part.stop, part.step):
        is_whole = part.start is None and part.stop is None and part.step in (1, -1)
        return size if is_whole else None
    return len(range(*part.indices(size)))


def _check_index(index: int, size: int | None, axis: int) -> None:
    if size is not None and not -size <= index < size:
        from_start = index if index >= 0 else index + size
        raise ValueError(f"slice index {from_start} of dimension {axis} out of bounds.")


def part_of(tensor: Any, numbers: Sequence[Any], attrs: Attrs) -> Any:
    """View of the part of an array at an index."""
    index = _index([n.tolist() for n in numbers], attrs)
    if Ellipsis not in index:
        index.append(Ellipsis)  # or a part without axes would be no array
    return tensor[tuple(index)]


def _bind_strided(launch: Launch) -> Call:
    check_again(_strided, launch)
    tensor, *numbers = launch.inputs
    return launch.xp.copyto, (launch.outputs[0], part_of(tensor, numbers, launch.attrs))


STRIDED_SLICE = OpDef(
    "StridedSlice",
    "input:T begin:Index end:Index strides:Index",
    _strided,
    types={"T": ALL, "Index": (int16, *INDEX)},
    kernels=all_devices_but_strings(_bind_strided),
    host_inputs=(1, 2, 3),
    samples=(
        "f(4, 5, 6), i(0, 1, 3, 0), i(0, 4, 4, 0), i(1, 2, 1, 1), "
        "**masks(begin=2, ellipsis=8, new_axis=1, shrink_axis=4)",
    ),
)


@public("strided_slice")
def strided_slice(
    input_: Any,
    begin: TensorLike,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Strided slice of a tensor, by begin, end, strides and masks, as ``tensor[...]``.

    >>> strided_slice([1, 2, 3, 4], [0], [4], [2]).numpy().tolist()
    [1, 3]
    """
    strides = ones_like(begin) if strides is None else strides
    attrs = {
        "begin_mask": begin_mask,
        "ellipsis_mask": ellipsis_mask,
        "end_mask": end_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    return apply(STRIDED_SLICE, (input_, begin, end, strides), attrs, name)


# --- gradient of strided slices -----------------------------------------------------------


def _put_back_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[-1].dtype.base_dtype, shape_of_value(inputs[0])),)


def _bind_put_back(launch: Launch) -> Call:
    _, *numbers, dy = launch.inputs
    out = launch.outputs[0]
    return _put_back, (launch.xp.copyto, out, part_of(out, numbers, launch.attrs), dy)


def _put_back(copyto: Any, out: Any, part: Any, dy: Any) -> None:
    out.fill(0)
    copyto(part, dy)


STRIDED_SLICE_GRAD = OpDef(
    "StridedSliceGrad",
    "shape:Index begin:Index end:Index strides:Index dy:T",
    _put_back_type,
    types={"T": NUMBERS, "Index": (int16, *INDEX)},
    kernels=all_devices(_bind_put_back, NUMBERS),
    host_inputs=(0, 1, 2, 3),
    samples=(
        "i(4, 5, 6), i(0, 1, 3, 0), i(0, 4, 4, 0), i(1, 2, 1, 1), f(1, 2, 6), "
        "**masks(begin=2, ellipsis=8, new_axis=1, shrink_axis=4)",
    ),
)
"""A tensor of zeros, but for the part that a strided slice cuts out."""


@gradient(STRIDED_SLICE)
def _strided_slice_gradient(op: RecordedOp, grad: Any) -> Any:
    x, *numbers = op.inputs
    whole = shape(x, out_type=numbers[0].dtype)
    return apply(STRIDED_SLICE_GRAD, (whole, *numbers, grad), op.attrs), None, None, None


@gradient(STRIDED_SLICE_GRAD)
def _strided_slice_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    _, *numbers, _ = op.inputs
    return None, None, None, None, apply(STRIDED_SLICE, (grad, *numbers), op.attrs)
