"""Types for annotations: what the functions of the public API accept and return.

They are for type checkers. At run time `Tensor` and `TensorLike` are just `Any`, because the
modules that define operations are imported before the class that uses them for ``x + y``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

from berth.dtypes import DType
from berth.ops.shape import TensorShape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from berth.ops.operators import Operators, Tensor

    TensorLike: TypeAlias = Operators | ArrayLike
    """A tensor, a variable, or what becomes a tensor: numbers, nested lists, NumPy arrays."""
    TensorList: TypeAlias = Sequence[TensorLike] | Tensor
    """Several tensors: a list of them, or the slices of one along its first axis."""
    ShapeLike: TypeAlias = (
        TensorShape | Sequence[SupportsIndex | None] | NDArray[Any] | SupportsIndex | Operators
    )
    """A shape: a list of sizes, a TensorShape, or a tensor of integers."""
    AxisLike: TypeAlias = (
        SupportsIndex | Sequence[SupportsIndex] | NDArray[Any] | Operators | None
    )
    """An axis, several axes, or None for all of them."""
    DTypeLike: TypeAlias = DType | str | type | np.dtype[Any] | None
    """A type of elements: tf.float32, its name, or NumPy's."""
else:
    Tensor = TensorLike = TensorList = ShapeLike = AxisLike = DTypeLike = Any

__all__ = ["AxisLike", "DTypeLike", "ShapeLike", "Tensor", "TensorLike", "TensorList"]
