"""Types for annotations: what the functions of the public API accept and return.

They are for type checkers. At run time `Tensor` and `TensorLike` are just `Any`, because the
modules that define operations are imported before the class that uses them for ``x + y``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from berth.dtypes import DType
from berth.ops.shape import TensorShape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from berth.ops.operators import Operators, Tensor

    TensorLike: TypeAlias = Operators | ArrayLike
    """A tensor, a variable, or what becomes a tensor: numbers, nested lists, NumPy arrays."""
    ShapeLike: TypeAlias = TensorShape | Sequence[int | Tensor | None] | ArrayLike | Tensor
    """A shape: a list of sizes, a TensorShape, or a tensor of integers."""
    AxisLike: TypeAlias = int | Sequence[int] | ArrayLike | Tensor | None
    """An axis, several axes, or None for all of them."""
    DTypeLike: TypeAlias = DType | str | type | Any
    """A type of elements: tf.float32, its name, or NumPy's."""
else:
    Tensor = TensorLike = ShapeLike = AxisLike = DTypeLike = Any

__all__ = ["AxisLike", "DTypeLike", "ShapeLike", "Tensor", "TensorLike"]
