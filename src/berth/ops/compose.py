"""Operations that are made of several: their parts share a name scope, as in TensorFlow.

with scope("truediv", name) as inner:      truediv/
    y = convert(y, dtype, "y")             truediv/y
    return apply(REAL_DIV, (x, y), {}, inner)   truediv
"""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol, cast

from berth.dtypes import DType, as_dtype
from berth.ops.builder import Builder, current
from berth.ops.types import Tensor


class Composer(Builder, Protocol):
    """Builder of operations that are composed of several."""

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Name scope for the operations of a block."""
        ...

    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[None]:
        """Control dependencies for the operations of a block."""
        ...

    def device(self, device: Any) -> AbstractContextManager[None]:
        """Device scope for the operations of a block."""
        ...

    def convert(self, value: Any, dtype: DType | None = None, name: str | None = None) -> Any:
        """Convert a value to a tensor; tensors stay as they are."""
        ...


def scope(default: str, name: str | None = None) -> AbstractContextManager[str]:
    """Open a name scope; yield the name for the operation that makes the result."""
    return cast(Composer, current()).name_scope(name or default)


def convert(value: Any, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """Convert a value to a tensor of the current builder; tensors stay as they are."""
    tensor: Tensor = cast(Composer, current()).convert(value, dtype, name)
    return tensor


def convert_like(value: Any, dtype: DType | None, name: str | None = None) -> Tensor:
    """Convert a value to a tensor, of a type if possible; tensors stay as they are."""
    if type_of(value) is not None:
        return convert(value, None, name)
    with suppress(TypeError, ValueError):
        return convert(value, dtype, name)
    return convert(value, None, name)


def is_eager() -> bool:
    """Tell whether operations are executed eagerly."""
    return getattr(current(), "computes_at_once", False)


def is_eager_or_function() -> bool:
    """Tell whether programs of TensorFlow 2 are built here: a constant's shape must fit."""
    return is_eager() or getattr(current(), "is_function", False)


def as_tensor(value: Any) -> Any:
    """Return the tensor that a variable stands for, or another object by ``__tf_tensor__``.

    Other values are returned as they are.
    """
    if hasattr(value, "as_tensor"):
        return value.as_tensor()
    return value.__tf_tensor__() if hasattr(value, "__tf_tensor__") else value


def stands_for_tensor(value: Any) -> bool:
    """Tell whether a value is no tensor itself, and `as_tensor` makes one of it."""
    return hasattr(value, "as_tensor") or hasattr(value, "__tf_tensor__")


def type_of(value: Any) -> DType | None:
    """Return the type of a tensor or variable; None for a plain value, which has none yet."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, DType):
        return dtype.base_dtype
    return as_dtype(dtype) if dtype is not None and hasattr(value, "__tf_tensor__") else None


def is_tensor(value: Any) -> bool:
    """Tell whether a value is a tensor already. A variable has yet to become one."""
    return hasattr(value, "dims") and isinstance(getattr(value, "dtype", None), DType)


def is_integer(value: Any) -> bool:
    """Tell whether a value is a plain integer, Python's or NumPy's."""
    return hasattr(value, "__index__") and not getattr(value, "shape", ())
