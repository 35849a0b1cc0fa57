"""tf.TensorSpec: the type and shape of a tensor that is not there yet."""

from __future__ import annotations

from typing import Any

from berth.dtypes import DType, as_dtype
from berth.ops.shape import Dims, TensorShape
from berth.public import public


@public("TensorSpec")
class TensorSpec:
    """The type and shape of a tensor.

    >>> TensorSpec([None, 3])
    TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the type and shape of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def dims(self) -> Dims:
        return self.shape.dims_or_none

    def is_compatible_with(self, tensor: Any) -> bool:
        """Tell whether a tensor, or another spec, is of this type and shape."""
        is_alike = tensor.dtype.base_dtype is self.dtype
        return is_alike and self.shape.is_compatible_with(TensorShape(tensor.dims))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.dtype is other.dtype
            and self.dims == other.dims
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.dims))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
