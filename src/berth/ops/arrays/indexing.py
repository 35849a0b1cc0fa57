"""``tensor[…]`` as a strided slice, and `boolean_mask`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from berth.dtypes import DType, bool_, int16, int32, int64
from berth.ops.arrays.array import constant, reshape, squeeze
from berth.ops.arrays.gathering import gather, where
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.slicing import STRIDED_SLICE
from berth.ops.arrays.stacking import pack
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, is_integer, scope, type_of
from berth.ops.reductions.reduction import reduce_prod
from berth.ops.rules import INDEX
from berth.ops.shape import is_known, merge
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2, public_value

newaxis = None
"""A new axis in an index: ``x[:, tf.newaxis]``."""
public_value(__name__, "newaxis", "newaxis")

_MOST = 2**31
_MASKS = ("begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")


class Numbers:
    """A Python index as begin, end, strides and masks of a strided slice."""

    def __init__(self, key: Any) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks = dict.fromkeys(_MASKS, 0)
        for part in key if isinstance(key, list | tuple) else (key,):
            self._add(part)

    def tensors(self) -> list[Any]:
        """Return begin, end and strides, each as a tensor."""
        parts = (self.begin, self.end, self.strides)
        dtype = next((type_of(n) for part in parts for n in part if type_of(n)), None)
        if dtype is None:
            is_long = any(not -_MOST <= n < _MOST for part in parts for n in part)
            dtype = int64 if is_long else int32
        return [_stacked(part, dtype) for part in parts]

    def _add(self, part: Any) -> None:
        bit = 1 << len(self.begin)
        begin, end, stride = 0, 0, 1
        if isinstance(part, slice):
            for number in (part.start, part.stop, part.step):
                if number is not None:
                    _check_part(number)
            self.masks["begin_mask"] |= bit if part.start is None else 0
            self.masks["end_mask"] |= bit if part.stop is None else 0
            begin = 0 if part.start is None else part.start
            end = 0 if part.stop is None else part.stop
            stride = 1 if part.step is None else part.step
        elif part is Ellipsis or part is None:
            self.masks["ellipsis_mask" if part is Ellipsis else "new_axis_mask"] |= bit
        else:
            _check_part(part)
            self.masks["shrink_axis_mask"] |= bit
            begin, end = part, part + 1
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _check_part(part: Any) -> None:
    if type_of(part):
        is_number = type_of(part) in (int16, *INDEX) and not getattr(part, "dims", None)
    else:
        is_number = is_integer(part)
    if not is_number or isinstance(part, bool):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
            f"tf.int32/tf.int64 tensors are valid indices, got {part!r}"
        )


def getitem(tensor: Any, key: Any) -> Tensor:
    """Index a tensor: ``tensor[key]``."""
    if (
        type_of(key) is bool_
        or getattr(key, "dtype", None) == np.bool_
        or isinstance(key, bool)
    ):
        return boolean_mask(tensor, key)
    numbers = Numbers(key)
    if is_eager():
        parts = numbers.tensors()
        return apply(STRIDED_SLICE, (tensor, *parts), numbers.masks, "strided_slice/")
    with scope("strided_slice") as inner:
        return apply(STRIDED_SLICE, (tensor, *numbers.tensors()), numbers.masks, inner)


def _stacked(numbers: list[Any], dtype: DType) -> Any:
    if dtype is int32 and is_eager() and numbers:
        return numbers
    if any(type_of(number) for number in numbers):
        return pack(numbers, name="stack")
    return constant(np.array(numbers, dtype.np_dtype), name="stack")


@public_v1("boolean_mask")
def boolean_mask(
    tensor: TensorLike, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Select the elements, or slices, where a mask is true, with TensorFlow 1's argument names.

    >>> boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist()
    [1, 3]
    """
    with scope("boolean_mask", name):
        tensor = convert(tensor, None, "tensor")
        mask = convert(mask, None, "mask")
        start = 0 if axis is None else axis
        end = start + _check_mask(tensor, mask, start)
        n_elements = reduce_prod(shape_of(tensor)[start:end], [0])
        before, after = shape_of(tensor)[:start], shape_of(tensor)[end:]
        rows = reshape(tensor, concat([before, [n_elements], after], 0))
        if tensor.dims is not None:
            masked = tensor.dims[start:end]
            n_rows = math.prod(masked) if is_known(masked) else None
            rows.set_shape([*tensor.dims[:start], n_rows, *tensor.dims[end:]])
        kept = squeeze(where(reshape(mask, [-1])), [1])
        return gather(rows, kept, axis=start)


@public_v2("boolean_mask")
def boolean_mask_v2(
    tensor: TensorLike, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Tensor:
    """Select the elements, or slices, where a mask is true.

    >>> boolean_mask_v2([[1, 2], [3, 4]], [False, True], axis=1).numpy().tolist()
    [[2], [4]]
    """
    return boolean_mask(tensor, mask, name, axis)


def _check_mask(tensor: Any, mask: Any, axis: int) -> int:
    """Return how many axes a mask has; ValueError if it does not fit the tensor."""
    if mask.dims is None:
        raise ValueError(
            "Number of mask dimensions must be specified, even if some dimensions are None.  "
            "E.g. shape=[None] is ok, but shape=None is not."
        )
    if mask.dims == ():
        raise ValueError("mask cannot be scalar.")
    n_axes = len(mask.dims)
    if tensor.dims is not None:
        masked = tensor.dims[axis : axis + n_axes]
        try:
            merge(masked, mask.dims)
        except ValueError:
            message = f"Shapes {masked} and {mask.dims} are incompatible"
            raise ValueError(message) from None
    return n_axes
