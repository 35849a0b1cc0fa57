"""Conversions to types that hold less: what does not fit becomes the nearest that does."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.dtypes import REAL, DType, as_dtype
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import clip_by_value
from berth.ops.elementwise.casting import cast
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


@public("saturate_cast")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return numbers as elements of another type; those that do not fit as its limits.

    >>> saturate_cast([-5.0, 7.5, 300.0], "uint8").numpy().tolist()
    [0, 7, 255]
    """
    wanted = as_dtype(dtype).base_dtype
    with scope("saturate_cast", name) as inner:
        value = convert(value, None, "value")
        found = value.dtype.base_dtype
        for each in (found, wanted):
            if each not in REAL:
                raise TypeError(f"Cannot find minimum value of {each!r}.")
        low, high = _within(wanted.min, found), _within(wanted.max, found)
        if low != found.min or high != found.max:
            value = clip_by_value(value, low, high)
        return cast(value, wanted, inner)


def _within(limit: Any, dtype: DType) -> Any:
    """Return the number of a type that is nearest to a limit, and not beyond it."""
    exact, least, most = (np.asarray(n).item() for n in (limit, dtype.min, dtype.max))
    if exact <= least:  # Python compares whatever numbers without rounding
        return dtype.min
    if exact >= most:
        return dtype.max
    nearest = dtype.np_dtype.type(limit)
    is_beyond = abs(nearest.item()) > abs(exact)
    return np.nextafter(nearest, dtype.np_dtype.type(0)) if is_beyond else nearest
