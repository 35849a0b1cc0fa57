"""Execution of one eager operation, once its device, kernel and output types are decided.

An execution may be run again and again, for inputs of the same types and shapes on the same
devices: the dispatch cache keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple, Protocol

import numpy as np

from berth.devices.device import Device
from berth.eager.generators import Generators
from berth.eager.placement import Choice
from berth.eager.tensor import EagerTensor
from berth.eager.transfers import Transfers
from berth.graph.recording import active_tapes, watch_variable
from berth.ops.dispatch import KnownType, prepare
from berth.ops.opdef import Access, Attrs, Call, OpDef
from berth.run.fp_errors import ignore_fp_errors
from berth.run.launch import DeviceTarget, SmallTarget, is_small
from berth.run.threads import Pool


class Runtime(NamedTuple):
    """What executions share while the same devices are open."""

    devices: Sequence[Device]
    pool: Pool
    transfers: Transfers
    generators: Generators


class Execution(Protocol):
    """How one operation is computed on one device."""

    @property
    def device(self) -> Device: ...

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Compute the operation; return its outputs."""
        ...


class KernelExecution:
    """Runs a kernel on tensors.

    The first run binds the kernel. Where that gives one call of a function on all inputs and
    the output, as for ``np.add`` and ``np.matmul``, later runs make that call without binding.
    """

    __slots__ = (
        "_function",
        "_is_small",
        "_kernel",
        "_op",
        "_runtime",
        "_target",
        "_types",
        "device",
    )

    def __init__(
        self, op: OpDef, choice: Choice, types: Sequence[KnownType], runtime: Runtime
    ) -> None:
        self.device = device = choice.device
        self._op = op
        self._kernel = kernel = choice.kernel
        self._types = types
        self._runtime = runtime
        self._is_small = kernel.scratch is None and all(
            is_small(device, dtype, dims) for dtype, dims in types
        )
        target = SmallTarget if self._is_small else DeviceTarget
        self._target = target(device, op.name, runtime.pool, runtime.devices)
        self._function: Callable[..., Any] | None = None
        """Fills the one output, a small array, from the inputs."""

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Compute the operation; return its outputs."""
        if self._function is not None:
            [(dtype, dims)] = self._types
            out = np.empty(dims, dtype.np_dtype)
            ignore_fp_errors(self._function, [*[tensor.array for tensor in tensors], out])
            return [EagerTensor(out, self.device, dtype)]
        op, device, types = self._op, self.device, self._types
        transfers, generators = self._runtime.transfers, self._runtime.generators
        arrays = transfers.gather(op, tensors, device)
        state = generators.state_of(op, attrs, device) if op.is_stateful else None
        outputs, call = prepare(
            op, self._kernel, self._target, arrays, attrs, types, tensors, state
        )
        if call is not None:
            if self._is_small and _is_direct(op, attrs, call, arrays, outputs):
                self._function = call[0]
            self._target.run(call)
        shares = tensors[0].shares if op.is_alias else None
        return [
            EagerTensor(array, device, dtype.base_dtype, shares=shares)
            for array, (dtype, _) in zip(outputs, types, strict=True)
        ]


def _is_direct(
    op: OpDef, attrs: Attrs, call: Call, inputs: Sequence[Any], outputs: Sequence[Any]
) -> bool:
    """Tell whether a call is a function of the inputs and the output, and of nothing else.

    A ufunc is. An elementwise function may depend on attributes, and those may be equal and yet
    differ, as 0.0 and -0.0.
    """
    function, arguments = call
    is_pure = type(function) is np.ufunc or (op.elementwise is not None and not attrs)
    if not is_pure or op.host_inputs or len(outputs) != 1:
        return False
    arrays = [*inputs, *outputs]
    return len(arguments) == len(arrays) and all(map(is_, arguments, arrays))


class VariableExecution:
    """Reads or writes a variable."""

    __slots__ = ("_kernel", "_op", "_runtime", "_target", "_types", "device")

    def __init__(
        self, op: OpDef, choice: Choice, types: Sequence[KnownType], runtime: Runtime
    ) -> None:
        self.device = choice.device
        self._op = op
        self._kernel = choice.kernel
        self._types = types
        self._runtime = runtime
        self._target = DeviceTarget(choice.device, op.name, runtime.pool, runtime.devices)

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Read or write the variable of the first input; return the outputs."""
        handle, *values = tensors
        access, device, transfers = self._op.access, self.device, self._runtime.transfers
        transfers.check_open(handle)
        if access is Access.READ:
            if active_tapes():
                watch_variable(handle)
            return [handle.read()]
        arrays = transfers.gather(self._op, values, device, 1)
        with handle.lock:
            if access is not Access.QUERY:
                handle.prepare_write(values[0].dims if access is Access.ASSIGN else None)
            outputs, call = prepare(
                self._op,
                self._kernel,
                self._target,
                (handle.array, *arrays),
                attrs,
                self._types,
                tensors,
                handle,
            )
            if call is not None:
                self._target.run(call)
            if access is Access.ASSIGN:
                handle.is_initialized = True
        return [
            EagerTensor(array, device, dtype.base_dtype)
            for array, (dtype, _) in zip(outputs, self._types, strict=True)
        ]
