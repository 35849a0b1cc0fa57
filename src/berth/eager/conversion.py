"""Python values as tensors of an eager program: numbers, lists, arrays, variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import DType
from berth.eager.placement import Placing
from berth.eager.tensor import EagerTensor
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import pack
from berth.ops.convert import dtype_of, frozen
from berth.ops.convert_eager import to_array_eager
from berth.ops.opdef import OpDef
from berth.ops.signature import check_types, type_error_eager, wanted_types


class Values(Placing):
    """Makes tensors of what operations are given."""

    def _tensors(self, op: OpDef, values: Sequence[Any]) -> Sequence[Any]:
        """Make tensors of what an operation is given, of types that it takes."""
        if op.access is not None and len(values) == 1:
            return values
        hosts = op.host_positions(len(values))
        types = wanted_types(op, values, is_now=True)
        tensors = [
            value if is_eager(value) else self._converted(value, dtype, position in hosts)
            for position, (value, (_, dtype)) in enumerate(zip(values, types, strict=True))
        ]
        try:
            check_types(op, tensors)
        except TypeError:
            raise type_error_eager(op, tensors) from None
        return tensors

    def convert(self, value: Any, dtype: DType | None = None, name: str | None = None) -> Any:
        """Return a value as a tensor; tensors as they are."""
        value = as_tensor(value)
        if not is_eager(value):
            return self._converted(value, dtype)
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            prefix = f"{name}: " if name else ""
            raise ValueError(
                f"{prefix}Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value

    def _converted(self, value: Any, dtype: DType | None, is_for_host: bool = False) -> Any:
        if isinstance(value, list | tuple) and _holds_tensors(value):
            return pack(value)
        if is_for_host:
            return self._known_on_host(value, dtype)
        return self._new_constant(frozen(to_array_eager(value, dtype)))

    def _known_on_host(self, value: Any, dtype: DType | None) -> EagerTensor:
        """Return a shape or an axis as a tensor."""
        array = frozen(to_array_eager(value, dtype))
        return EagerTensor(array, self._host(), dtype_of(array), host=array)


def is_eager(value: Any) -> bool:
    """Tell whether a value is a tensor with a value, or stands for a variable."""
    return hasattr(value, "place")


def as_tensor(value: Any) -> Any:
    """Return the tensor that a value stands for, or the value if it is none."""
    if hasattr(value, "as_tensor"):
        value = value.as_tensor()
    if isinstance(value, SymbolicTensor):
        raise TypeError(
            f"{value} is out of scope and cannot be used here. Use return values, explicit "
            "Python locals or TensorFlow collections to access it."
        )
    return value


def _holds_tensors(values: Any) -> bool:
    return any(
        is_eager(v)
        or hasattr(v, "as_tensor")
        or (isinstance(v, list | tuple) and _holds_tensors(v))
        for v in values
    )
