"""Saturating casts: values out of the range of a type become its limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.dtypes import DType, as_dtype
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import clip_by_value
from berth.ops.elementwise.casting import cast
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


@public("saturate_cast")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Cast a tensor to another type; values out of its range become its limits.

    >>> saturate_cast([-5.0, 7.5, 300.0], "uint8").numpy().tolist()
    [0, 7, 255]
    """
    wanted = as_dtype(dtype).base_dtype
    with scope("saturate_cast", name) as inner:
        value = convert(value, None, "value")
        found = value.dtype.base_dtype
        for each in (found, wanted):
            if not (each.is_floating or each.is_integer):
                raise TypeError(f"Cannot find minimum value of {each!r}.")
        low, high = _within(wanted.min, found), _within(wanted.max, found)
        if low != found.min or high != found.max:
            value = clip_by_value(value, low, high)
        return cast(value, wanted, inner)


def _within(limit: Any, dtype: DType) -> Any:
    """Return the value of a type nearest to a limit, and not beyond it."""
    exact, least, most = (np.asarray(n).item() for n in (limit, dtype.min, dtype.max))
    if exact <= least:  # Python compares ints and floats exactly
        return dtype.min
    if exact >= most:
        return dtype.max
    nearest = dtype.np_dtype.type(limit)
    is_beyond = abs(nearest.item()) > abs(exact)
    return np.nextafter(nearest, dtype.np_dtype.type(0)) if is_beyond else nearest
