"""Execution of one eager operation, once its device, kernel and output types are decided.

An execution may be run again and again, for inputs of the same types and shapes on the same
devices: the dispatch cache keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

from berth.devices.device import Device
from berth.eager.direct import AliasExecution, direct_execution
from berth.eager.generators import Generators
from berth.eager.placement import Choice
from berth.eager.tensor import EagerTensor
from berth.eager.transfers import Transfers
from berth.graph.recording import active_tapes, watch_variable
from berth.ops.dispatch import KnownType, prepare
from berth.ops.opdef import Access, Attrs, Call, OpDef
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
    """Binds a kernel to the arrays of tensors, and runs it."""

    __slots__ = ("_are_small", "_kernel", "_op", "_runtime", "_target", "_types", "device")

    def __init__(
        self, op: OpDef, choice: Choice, types: Sequence[KnownType], runtime: Runtime
    ) -> None:
        self.device = device = choice.device
        self._op = op
        self._kernel = kernel = choice.kernel
        self._types = types
        self._runtime = runtime
        self._are_small = all(is_small(device, dtype, dims) for dtype, dims in types)
        """Whether all outputs are in memory that NumPy allocates."""
        target = SmallTarget if self._are_small and kernel.scratch is None else DeviceTarget
        self._target = target(device, op.name, runtime.pool, runtime.devices)

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Compute the operation; return its outputs."""
        op, device = self._op, self.device
        arrays = self._runtime.transfers.gather(op, tensors, device)
        outputs, call = self._bind(arrays, tensors, attrs)
        if call is not None:
            self._target.run(call)
        shares = tensors[0].shares if op.is_alias else None
        return [
            EagerTensor(array, device, dtype.base_dtype, shares=shares)
            for array, (dtype, _) in zip(outputs, self._types, strict=True)
        ]

    def _bind(
        self, arrays: Sequence[Any], tensors: Sequence[Any], attrs: Attrs
    ) -> tuple[list[Any], Call | None]:
        op, generators = self._op, self._runtime.generators
        state = generators.state_of(op, attrs, self.device) if op.is_stateful else None
        return prepare(
            op, self._kernel, self._target, arrays, attrs, self._types, tensors, state
        )

    def for_next_run(self, tensors: Sequence[Any], attrs: Attrs) -> Execution:
        """Return the quickest execution for inputs like these, which are on its device."""
        op = self._op
        if op.is_alias:
            return AliasExecution(self.device, self._types[0])
        if len(self._types) != 1 or not self._are_small or op.is_stateful:
            return self
        arrays = self._runtime.transfers.gather(op, tensors, self.device)
        outputs, call = self._bind(arrays, tensors, attrs)
        if call is None:
            return self
        made = [*arrays, *outputs]
        return direct_execution(op, attrs, call, made, self.device, self._types[0]) or self


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

    def for_next_run(self, tensors: Sequence[Any], attrs: Attrs) -> Execution:
        """Return itself."""
        return self

    def run(self, tensors: Sequence[Any], attrs: Attrs) -> list[EagerTensor]:
        """Read or write the variables of the first inputs; return the outputs."""
        n_variables = self._op.n_variables
        handles, values = tensors[:n_variables], tensors[n_variables:]
        handle = handles[0]
        access, device, transfers = self._op.access, self.device, self._runtime.transfers
        for each in handles:
            transfers.check_open(each)
        if access is Access.READ:
            if active_tapes():
                watch_variable(handle)
            return [handle.read()]
        arrays = transfers.gather(self._op, values, device, n_variables)
        with handle.lock if n_variables == 1 else _locked(handles):
            for each in handles if access is not Access.QUERY else ():
                each.prepare_write(values[0].dims if access is Access.ASSIGN else None)
            outputs, call = prepare(
                self._op,
                self._kernel,
                self._target,
                (*(each.array for each in handles), *arrays),
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


def _locked(handles: Sequence[Any]) -> ExitStack:
    """Lock several variables in one order, so that no two threads wait for each other."""
    with ExitStack() as locks:
        for handle in sorted(handles, key=id):
            locks.enter_context(handle.lock)
        return locks.pop_all()
