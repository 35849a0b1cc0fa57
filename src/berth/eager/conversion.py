"""Conversion of Python values to eager tensors: numbers, lists, arrays, variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from berth.dtypes import DType, string
from berth.eager.placement import Placer, log_execution
from berth.eager.tensor import EagerTensor, HostBackedTensor
from berth.eager.transfers import Transfers
from berth.graph.tensor import SymbolicTensor
from berth.lru import LRUCache
from berth.ops import compose
from berth.ops.arrays.stacking import pack
from berth.ops.builder import CompositeInput
from berth.ops.convert import dtype_of, frozen
from berth.ops.convert_eager import to_array_eager
from berth.ops.opdef import OpDef
from berth.ops.signature import check_types, type_error_eager, wanted_types
from berth.ops.type_spec import CompositeTensor

if TYPE_CHECKING:
    from berth.front.context import Context

MAX_KNOWN_BYTES = 1024
"""Up to this size the host keeps the value of a constant on a GPU: it may be a shape."""

MAX_NUMBERS = 256
"""How many Python numbers are kept as tensors."""


class Converter:
    """Converts the arguments of operations to tensors on the program's devices."""

    def __init__(self, program: Context, placer: Placer, transfers: Transfers) -> None:
        self._switches = program.switches
        self._placer = placer
        self._transfers = transfers
        self._numbers: LRUCache[Any, EagerTensor] = LRUCache("numbers as tensors", MAX_NUMBERS)

    def inputs(self, op: OpDef, values: Sequence[Any]) -> Sequence[Any]:
        """Convert the inputs of an operation; TypeError if it does not take their types."""
        if op.access is not None and len(values) == 1:
            return values
        hosts = op.host_positions(len(values))
        types = wanted_types(op, values, is_now=True)
        tensors = [
            value if is_eager(value) else self.tensor(value, dtype, position in hosts)
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
            return self.tensor(value, dtype)
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            prefix = f"{name}: " if name else ""
            raise ValueError(
                f"{prefix}Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value

    def tensor(self, value: Any, dtype: DType | None, is_for_host: bool = False) -> Any:
        """Make a tensor of a plain value; `is_for_host`: of a shape or an axis."""
        if isinstance(value, list | tuple) and _holds_tensors(value):
            return pack(value)
        array = frozen(to_array_eager(value, dtype))
        if is_for_host:
            return EagerTensor(array, self._placer.host, dtype_of(array), host=array)
        return self.constant(array)

    def number(self, number: float, other: EagerTensor) -> EagerTensor:
        """Return a Python number as a tensor of another one's type, beside that; cached."""
        found = self._numbers.get(_number_key(number, other))
        if found is None:
            found = self.tensor(number, other.dtype)
            self.keep_number(number, other, found)
        return found

    def keep_number(self, number: float, other: EagerTensor, tensor: EagerTensor) -> None:
        """Cache the tensor of a number beside another tensor."""
        self._numbers[_number_key(number, other)] = tensor

    def constant(self, array: np.ndarray[Any, Any]) -> EagerTensor:
        """Make a tensor of a host array, on the device that is requested here."""
        dtype = dtype_of(array)
        if dtype is string and self._placer.has_request:
            return self._text(array)
        device = self._placer.device_for(dtype)
        if self._switches.log_placement:
            log_execution("_EagerConst", device)
        if device.is_host:
            return EagerTensor(array, device, dtype)
        known = array if array.nbytes <= MAX_KNOWN_BYTES else None
        return EagerTensor(
            self._transfers.upload(array, dtype, device), device, dtype, host=known
        )

    def _text(self, array: np.ndarray[Any, Any]) -> EagerTensor:
        """Make a tensor of strings, on any device by name: the host holds it."""
        device = self._placer.device_for()
        if self._switches.log_placement:
            log_execution("_EagerConst", device)
        host = self._placer.host
        if device.is_host:
            return EagerTensor(array, device, string)
        return HostBackedTensor(array, host, string, asked=device)


def _number_key(number: float, other: EagerTensor) -> tuple[Any, ...]:
    # 0.0 and -0.0 are equal, and not the same.
    return number or str(number), type(number), other.dtype, other.place


def is_eager(value: Any) -> bool:
    """Tell whether a value is a tensor with a value, or stands for a variable."""
    return hasattr(value, "place")


def as_tensor(value: Any) -> Any:
    """Return the tensor that a value stands for, or the value if it is none."""
    value = compose.as_tensor(value)
    if isinstance(value, CompositeTensor):
        raise CompositeInput(value)
    if isinstance(value, SymbolicTensor):
        raise TypeError(
            f"{value} is out of scope and cannot be used here. Use return values, explicit "
            "Python locals or TensorFlow collections to access it."
        )
    return value


def _holds_tensors(values: Any) -> bool:
    return any(
        is_eager(v)
        or compose.stands_for_tensor(v)
        or (isinstance(v, list | tuple) and _holds_tensors(v))
        for v in values
    )
