"""The dispatch cache: what was decided for an eager call, by its key.

The *key* of a call is all that its dispatch depends on: the operation and its attributes, the
type, shape and device of every input, the values of host inputs (a shape, an axis), and the
requested device. Whether the types fit, the device, the kernel and the types of the outputs
follow from it; an `Entry` holds them.

  1. An entry is made of a call that succeeded. A call that fails misses each time.
  2. Its inputs are on its device. Copies are subject to the device policy, which may change.
  3. Operations that keep state from call to call, run subgraphs, or are given functions, which
     hold whatever they close over, have no entry.
  4. An entry belongs to the devices that were open, and is dropped with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.devices.device import Device
from berth.dtypes import DType
from berth.eager.conversion import Converter
from berth.eager.execution import Execution
from berth.eager.tensor import EagerTensor
from berth.eager.variable_handle import Handle
from berth.ops.attributes import FixedAttrs
from berth.ops.dispatch import known_types
from berth.ops.opdef import Attrs, OpDef, OutputType
from berth.ops.shape import Dims

MAX_ENTRIES = 4096
"""How many kinds of calls are cached."""
_MAX_HOST_BYTES = 256
_NUMBERS = (float, int)

Key = tuple[Any, ...]


class Entry:
    """What was decided for the calls of one key."""

    __slots__ = ("_number_at", "_shapes", "device", "run", "takes_tensors")

    def __init__(
        self,
        op: OpDef,
        values: Sequence[Any],
        tensors: Sequence[Any],
        execution: Execution,
        converter: Converter,
    ) -> None:
        self.device = execution.device
        self.run = execution.run
        hosts = op.host_positions(len(tensors))
        self._shapes = [
            (position, tensors[position])
            for position in hosts
            if type(values[position]) is not EagerTensor
        ]
        numbers = [k for k, v in enumerate(values) if type(v) in _NUMBERS and k not in hosts]
        self._number_at = numbers[0] if numbers else None
        if self._number_at is not None:
            position = self._number_at
            other = values[1 - position]
            converter.keep_number(values[position], other, tensors[position])
        self.takes_tensors = not self._shapes and self._number_at is None
        """Whether all inputs are given as tensors."""

    def tensors(self, values: Sequence[Any], converter: Converter) -> list[Any]:
        """Put tensors in the places of numbers and shapes."""
        tensors = list(values)
        for position, tensor in self._shapes:
            tensors[position] = tensor
        if self._number_at is not None:
            other = values[1 - self._number_at]
            tensors[self._number_at] = converter.number(values[self._number_at], other)
        return tensors


def key_of(
    op: OpDef, values: Sequence[Any], attrs: Attrs, requested: str, soft: bool | None
) -> Key | None:
    """Return the key of a call, or None if it cannot be cached."""
    key: list[Any] = [op, requested, soft]
    if attrs:
        key += (id(attrs),) if type(attrs) is FixedAttrs else attrs.items()
    if op.host_inputs:
        return _key_with_hosts(key, op, values)
    for position, value in enumerate(values):
        if type(value) is EagerTensor:
            key += (value.dtype, value.dims, value.place)
            continue
        part = _other_part(key, op, values, position)
        if part is None:
            return None
        key.append(part)
    return tuple(key)


def _key_with_hosts(key: list[Any], op: OpDef, values: Sequence[Any]) -> Key | None:
    """Complete the key of an operation that takes shapes or axes."""
    hosts = op.host_positions(len(values))
    for position, value in enumerate(values):
        part: Any
        if type(value) is EagerTensor:
            key += (value.dtype, value.dims, value.place)
            if position not in hosts:
                continue
            part = _host_bytes(value)
        elif position not in hosts:
            part = _other_part(key, op, values, position)
        elif type(value) is np.ndarray:
            part = _host_array(value)
        else:
            part = _sizes(value)
        if part is None:
            return None
        key.append(part)
    return tuple(key)


def _other_part(key: list[Any], op: OpDef, values: Sequence[Any], position: int) -> Any:
    """Return what a key has of an input that is no tensor; None if that cannot be cached."""
    value = values[position]
    if type(value) is Handle:
        key.append(value.place)
        return value.declared
    return _number_type(op, values, position)


def hashable(key: Any) -> Key | None:
    """Return a key with tuples for lists among its attributes; None if it has no hash then."""
    parts = [
        (part[0], tuple(part[1]))
        if type(part) is tuple and len(part) == 2 and type(part[1]) is list
        else part
        for part in key
    ]
    try:
        hash(tuple(parts))
    except TypeError:
        return None
    return tuple(parts)


def _host_bytes(tensor: EagerTensor) -> bytes | None:
    """Return the value of a shape or an axis, unless it is too much to compare."""
    host = tensor.value
    if host.nbytes > _MAX_HOST_BYTES or tensor.dtype.is_object:
        return None
    return host.tobytes()


def _host_array(array: np.ndarray[Any, Any]) -> tuple[Any, ...] | None:
    """Return the type, shape and bytes of a shape or an axis, unless it is large."""
    if array.nbytes > _MAX_HOST_BYTES or array.dtype.kind not in "iu":
        return None
    return array.dtype, array.shape, array.tobytes()


def _sizes(value: Any) -> int | tuple[int, ...] | None:
    """Return a shape or an axis that is made of nothing but Python's integers."""
    if type(value) is int:
        return value
    if type(value) is not list and type(value) is not tuple:
        return None
    for size in value:
        if type(size) is not int:
            return None
    return tuple(value)


def _number_type(op: OpDef, values: Sequence[Any], position: int) -> type | None:
    """Return the type of a number which is converted to the type of the one other input."""
    kind = type(values[position])
    if kind not in _NUMBERS or op.simple_type is None or len(values) != 2:
        return None
    return kind if type(values[1 - position]) is EagerTensor else None


class _ObservedInput:
    """An input of a shape rule that records whether its value is read."""

    __slots__ = ("_tensor", "dims", "dtype", "is_read")

    def __init__(self, tensor: EagerTensor) -> None:
        self.dtype: DType = tensor.dtype
        self.dims: Dims = tensor.dims
        self.is_read = False
        self._tensor = tensor

    @property
    def value(self) -> Any:
        self.is_read = True
        return self._tensor.value


def infer(op: OpDef, tensors: Sequence[Any], attrs: Attrs) -> tuple[Sequence[OutputType], bool]:
    """Apply the shape rule, once: return the output types, and whether they follow from a key.

    They do not where the rule reads the value of an input that is not part of the key.
    """
    hosts = op.host_positions(len(tensors))
    observed = {
        k: _ObservedInput(tensor)
        for k, tensor in enumerate(tensors)
        if k not in hosts and type(tensor) is not Handle
    }
    inputs = [observed.get(k, tensor) for k, tensor in enumerate(tensors)]
    if op.access is None:
        types: Sequence[OutputType] = known_types(op, inputs, attrs)
    else:  # the declared shape of a variable may be unknown, that of its value is not
        types = op.infer(inputs, attrs)
    return types, not any(value.is_read for value in observed.values())


def is_cacheable(op: OpDef, tensors: Sequence[Any], attrs: Attrs, device: Device) -> bool:
    """Tell whether a call may have an entry: rules 2 and 3."""
    keeps_state = op.is_stateful and op.access is None
    if keeps_state or op.is_call or op.is_source or any(map(callable, attrs.values())):
        return False
    hosts = op.host_positions(len(tensors))
    return all(k in hosts or t.place is device for k, t in enumerate(tensors))
