"""What is decided for an operation is remembered: calls of one kind are examined once.

The *kind* of a call is all that decisions depend on: the operation and its attributes, the
type, shape and device of every input, the values of host inputs (a shape, an axis), and the
device that is asked for. Whether the types fit, where it runs, with which kernel, and what
comes out, follows from that; a `Recipe` holds it.

  1. A recipe is made of a call that went well. What fails is examined, and explained, anew
     each time.
  2. Its inputs are where it runs. What has to be copied is subject to the device policy,
     which may change.
  3. Operations that keep something from call to call, run graphs of their own, or are given
     functions, which hold whatever they close over, have none.
  4. It belongs to opened devices, and goes with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from berth.devices.device import Device
from berth.dtypes import DType, string
from berth.eager.placement import Choice
from berth.eager.tensor import EagerTensor
from berth.eager.variable_handle import Handle
from berth.ops.opdef import Attrs, OpDef, OutputType
from berth.ops.shape import Dims, Known
from berth.plan.layout import LARGE

MAX_RECIPES = 10_000
"""How many kinds of calls are remembered; then all are forgotten."""
MAX_NUMBERS = 16
"""How many Python numbers a recipe keeps as tensors; then all are forgotten."""
_MAX_HOST_BYTES = 256
_NUMBERS = (float, int)
PLAIN = frozenset({EagerTensor, float, int, list, tuple})
"""What stands for nothing but itself, most of what operations are given."""

Kind = tuple[Any, ...]


class Recipe:
    """How a kind of call is done."""

    __slots__ = (
        "_number_at",
        "_numbers",
        "_shapes",
        "choice",
        "empty",
        "function",
        "hosts",
        "takes_tensors",
        "types",
    )

    def __init__(
        self,
        op: OpDef,
        values: Sequence[Any],
        tensors: Sequence[Any],
        attrs: Attrs,
        choice: Choice,
        types: Sequence[OutputType],
    ) -> None:
        self.choice = choice
        self.types = types
        self.hosts = hosts = op.host_positions(len(tensors))
        """The positions of the inputs whose values are wanted on the host."""
        self.function: Callable[..., Any] | None = None
        """Of an elementwise operation on small arrays of the host: it does all."""
        self.empty: Any = None
        """What the function's output is made of: shape and type."""
        # Attributes may be equal and yet differ, as 0.0 and -0.0: a function would keep them.
        if choice.device.is_host and op.elementwise is not None and not attrs:
            dtype, dims = types[0]
            if dtype.itemsize * math.prod(cast(Known, dims)) < LARGE:
                self.function, self.empty = op.elementwise(np, {}), (dims, dtype.np_dtype)
        self._shapes = [
            (position, tensors[position])
            for position in hosts
            if type(values[position]) is not EagerTensor
        ]
        numbers = [k for k, v in enumerate(values) if type(v) in _NUMBERS and k not in hosts]
        self._number_at = numbers[0] if numbers else None
        self._numbers: dict[Any, EagerTensor] = {_key(values[k]): tensors[k] for k in numbers}
        self.takes_tensors = not self._shapes and self._number_at is None
        """All inputs are given as tensors."""

    def tensors(self, values: Sequence[Any], convert: Callable[..., EagerTensor]) -> list[Any]:
        """Put tensors in the places of numbers and shapes; the same one is converted once."""
        tensors = list(values)
        for position, tensor in self._shapes:
            tensors[position] = tensor
        if self._number_at is not None:
            number = values[self._number_at]
            key = _key(number)
            found = self._numbers.get(key)
            if found is None:
                found = convert(number, tensors[1 - self._number_at].dtype)
                if len(self._numbers) == MAX_NUMBERS:
                    self._numbers.clear()
                self._numbers[key] = found
            tensors[self._number_at] = found
        return tensors


def _key(number: float) -> float | str:
    """Return what a number is looked up by: 0.0 and -0.0 are equal, and not the same."""
    return number or str(number)


def kind_of(op: OpDef, values: Sequence[Any], attrs: Attrs, *asked: Any) -> Kind | None:
    """Return the kind of a call, or None if it has to be examined."""
    hosts = op.host_positions(len(values)) if op.host_inputs else ()
    kind: list[Any] = [op, *asked]
    if attrs:
        kind += attrs.items()
    for position, value in enumerate(values):
        part: Any
        if type(value) is EagerTensor:
            kind += (value.dtype, value.dims, value.place)
            if position not in hosts:
                continue
            part = _host_bytes(value)
        elif type(value) is Handle:
            kind.append(value.place)
            part = value.declared
        elif position in hosts:
            part = _sizes(value)
        else:
            part = _number_type(op, values, position)
        if part is None:
            return None
        kind.append(part)
    return tuple(kind)


def _host_bytes(tensor: EagerTensor) -> bytes | None:
    """Return the value of a shape or an axis, unless it is too much to compare."""
    host = tensor.value
    if host.nbytes > _MAX_HOST_BYTES or tensor.dtype is string:
        return None
    return host.tobytes()


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


class _Unseen(NamedTuple):
    """An input of which only its kind is known."""

    dtype: DType
    dims: Dims
    value: None = None


def is_repeatable(
    op: OpDef,
    tensors: Sequence[Any],
    attrs: Attrs,
    device: Device,
    types: Sequence[OutputType],
) -> bool:
    """Tell whether all that was decided follows from the kind of the call."""
    keeps_something = op.is_stateful and op.access is None
    if keeps_something or op.is_call or op.is_source or any(map(callable, attrs.values())):
        return False
    hosts = op.host_positions(len(tensors))
    if any(k not in hosts and t.place is not device for k, t in enumerate(tensors)):
        return False
    kinds = [
        t if k in hosts or type(t) is Handle else _Unseen(t.dtype, t.dims)
        for k, t in enumerate(tensors)
    ]
    return list(op.infer(kinds, attrs)) == list(types)
