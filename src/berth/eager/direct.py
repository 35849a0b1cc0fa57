"""Direct executions: eager operations that are one call of a function, or a view of an input.

Binding a kernel takes longer than NumPy takes for a small array. Mostly it gives a call that is
the same each time but for the arrays: ``np.add(x, y, out)``, ``x.sum(axes, dtype, out)``. It is
kept as a *template*, with places for the inputs and the output; later calls fill it in.

A template is right for every call of the same key only if nothing else in it can differ:
  1. An argument is an input on the device, the output, or a constant that holds no other array.
  2. The function holds no array, but for a method of one that is an argument.
  3. Attributes that are equal are the same. 0.0 and -0.0 are equal, so numbers are not relied
     on; a ufunc of the inputs and the output depends on no attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from berth.devices.device import Device
from berth.dtypes import DType
from berth.eager.tensor import EagerTensor
from berth.fp_errors import IGNORE, get_state, set_state
from berth.ops.dispatch import KnownType
from berth.ops.opdef import Attrs, Call, OpDef

_CONSTANTS = (bool, int, float, complex, str, type, slice, np.dtype, type(None), type(...))
_EXACT = (bool, str, DType, type(None))


class DirectExecution:
    """One call of a function, on the inputs and a new output on the host."""

    __slots__ = ("_constants", "_dims", "_dtype", "_function", "_np_dtype", "_select", "device")

    def __init__(
        self,
        device: Device,
        output: KnownType,
        function: Callable[..., Any],
        template: _Template,
    ) -> None:
        self.device = device
        self._dtype, self._dims = output[0].base_dtype, output[1]
        self._np_dtype = self._dtype.np_dtype
        self._function = function
        self._constants, self._select = template

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Compute the operation; return its output."""
        out = np.empty(self._dims, self._np_dtype)
        arguments: Any = []
        for tensor in tensors:  # quicker than a comprehension, which is a call
            arguments.append(tensor.array)
        arguments.append(out)
        if self._select is not None:
            arguments = self._select(arguments + self._constants)
        before = get_state()
        try:  # as `ignore_fp_errors` does, without its call
            set_state(IGNORE)
            self._function(*arguments)
        finally:
            set_state(before)
        return [EagerTensor(out, self.device, self._dtype)]


class AliasExecution:
    """The first input in another shape: a view of its bytes."""

    __slots__ = ("_dims", "_dtype", "device")

    def __init__(self, device: Device, output: KnownType) -> None:
        self.device = device
        self._dtype, self._dims = output[0].base_dtype, output[1]

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Return the view."""
        first = tensors[0]
        array = first.array.reshape(self._dims)
        return [EagerTensor(array, self.device, self._dtype, shares=first.shares)]


_Template = tuple[list[Any], Callable[[list[Any]], Any] | None]
"""Constants, and what puts inputs, output and constants in order; None if they are in order."""


def direct_execution(
    op: OpDef,
    attrs: Attrs,
    call: Call,
    arrays: Sequence[Any],
    device: Device,
    output: KnownType,
) -> DirectExecution | None:
    """Make a direct execution of a call that was bound to arrays, the last of them the output.

    None if the call is not the same for every call of its key.
    """
    function, arguments = _with_self(call)
    hosts = op.host_positions(len(arrays) - 1)
    is_exact = all(type(value) in _EXACT for value in attrs.values())
    is_in_order = len(arguments) == len(arrays) and all(map(is_, arguments, arrays))
    template: _Template | None = None
    if is_in_order and not hosts and (type(function) is np.ufunc or op.elementwise):
        template = ([], None) if is_exact or type(function) is np.ufunc else None
    elif is_exact and _is_pure(function):
        template = _template(arguments, arrays, hosts)
    return None if template is None else DirectExecution(device, output, function, template)


def _with_self(call: Call) -> Call:
    """Return a call of an array's method as one of the type's, which takes the array."""
    function, arguments = call
    owner = getattr(function, "__self__", None)
    if type(owner) is not np.ndarray:
        return call
    return getattr(np.ndarray, function.__name__), (owner, *arguments)


def _is_pure(function: Any) -> bool:
    """Tell whether a function is one of NumPy's or of a module, which hold nothing."""
    if isinstance(function, FunctionType):
        return function.__closure__ is None
    if isinstance(function, BuiltinFunctionType):
        return type(function.__self__) is np.ufunc
    if isinstance(function, np.ufunc | type(np.copyto)):
        return True
    return getattr(function, "__objclass__", None) is np.ndarray  # a method of arrays


def _template(
    arguments: Sequence[Any], arrays: Sequence[Any], hosts: frozenset[int]
) -> _Template | None:
    constants: list[Any] = []
    order = []
    for argument in arguments:
        position = _position(argument, arrays)
        if position is None and not _is_constant(argument):
            return None
        if position is None or position in hosts:  # the value of a host input is in the key
            position = len(arrays) + len(constants)
            constants.append(argument)
        order.append(position)
    return (constants, itemgetter(*order)) if len(order) > 1 else None


def _position(argument: Any, arrays: Sequence[Any]) -> int | None:
    """Find an argument among arrays, by identity."""
    return next((k for k, array in enumerate(arrays) if array is argument), None)


def _is_constant(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return isinstance(value, _CONSTANTS) or _is_pure(value)
