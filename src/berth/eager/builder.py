"""The builder of eager programs: operations are computed as they are written."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from berth.blocks import FunctionBlock, Stack, Use
from berth.devices.device import Device
from berth.dtypes import DType
from berth.eager.conversion import Converter, as_tensor
from berth.eager.dispatch_cache import (
    MAX_ENTRIES,
    Entry,
    Key,
    hashable,
    infer,
    is_cacheable,
    key_of,
)
from berth.eager.errors import with_op_name
from berth.eager.execution import KernelExecution, Runtime, VariableExecution
from berth.eager.generators import Generators
from berth.eager.placement import Placer, log_execution
from berth.eager.tensor import EagerTensor
from berth.eager.transfers import Transfers
from berth.errors import OpError
from berth.front.device_scope import EagerDevice
from berth.graph.expect import current_expectation
from berth.graph.recording import active_tapes, record
from berth.lru import LRUCache
from berth.ops.arrays.array import CONST
from berth.ops.opdef import Attrs, OpDef

if TYPE_CHECKING:
    from berth.front.context import Context


class _Open(threading.local):
    """The name scopes of each thread, each with a slash at its end."""

    def __init__(self) -> None:
        self.scopes: Stack[str] = Stack()


_open = _Open()


class Eager:
    """Computes operations as they are written, on the devices of a program.

    Each part has one job: `Placer` chooses devices, `Transfers` copies between them,
    `Converter` makes tensors of Python values, `Generators` holds seeds, and the dispatch cache
    what was decided. All but the seed are replaced when other devices are opened.
    """

    computes_at_once = True

    def __init__(self, program: Context) -> None:
        self._program = program
        self._scope = program.eager_scope
        self._switches = program.switches
        self._generators = Generators()
        self._devices: tuple[Device, ...] = ()

    def _use_opened(self) -> None:
        """Make the parts for the devices that are open now, unless that was done."""
        devices = self._program.opened()
        if devices is not self._devices:
            self._use(devices)

    def _use(self, devices: tuple[Device, ...]) -> None:
        self._generators.clear()
        self._placer = Placer(self._program, devices)
        self._transfers = Transfers(self._program, devices)
        self._converter = Converter(self._program, self._placer, self._transfers)
        self._runtime = Runtime(devices, self._program.pool, self._transfers, self._generators)
        self._cache: LRUCache[Key, Entry] = LRUCache("eager dispatch", MAX_ENTRIES)
        self._devices = devices

    # --- operations -----------------------------------------------------------------------

    def apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Compute an operation; return its output, a list of them, or None."""
        devices = self._program.opened()
        if devices is not self._devices:
            self._use(devices)
        if op is CONST:
            return self._constant(attrs["value"])
        blocks, soft = self._scope.blocks, self._switches.soft_placement
        requested = blocks.innermost[0] if blocks else ""
        key = key_of(op, inputs, attrs, requested, soft)
        if key is None:  # there may be variables among the inputs
            inputs = [as_tensor(value) for value in inputs]
            key = key_of(op, inputs, attrs, requested, soft)
        try:
            entry = None if key is None else self._cache.get(key)
        except TypeError:  # an attribute is a list
            key = hashable(key)
            entry = None if key is None else self._cache.get(key)
        if entry is None:
            tensors, device, outputs = self._dispatch_miss(op, inputs, attrs, name, key)
        else:
            device = entry.device
            tensors = inputs if entry.takes_tensors else entry.tensors(inputs, self._converter)
            if current_expectation() is not None:
                self._placer.check_expected(op, device)
            try:
                outputs = entry.run(tensors, attrs)
            except (OpError, ValueError) as error:
                raise with_op_name(error, op, inputs, name) from None
        if active_tapes():
            record(op, tensors, outputs, attrs, device.name)
        if self._switches.log_placement:
            log_execution(op.name, device)
        if len(outputs) == 1:
            return outputs[0]
        return outputs or None

    def _dispatch_miss(
        self,
        op: OpDef,
        inputs: Sequence[Any],
        attrs: Attrs,
        name: str | None,
        key: Key | None,
    ) -> tuple[Sequence[Any], Device, list[EagerTensor]]:
        """Compute an operation that has no entry in the cache, and make one if possible.

        Return its inputs as tensors, its device and its outputs.
        """
        tensors = self._converter.inputs(op, inputs)
        choice = self._placer.choose(op, tensors, attrs)
        self._placer.check_expected(op, choice.device)
        try:
            types, follows_from_key = infer(op, tensors, attrs)
            kind: Any = KernelExecution if op.access is None else VariableExecution
            execution = kind(op, choice, types, self._runtime)
            outputs = execution.run(tensors, attrs)
        except (OpError, ValueError) as error:
            raise with_op_name(error, op, inputs, name) from None
        is_kept = follows_from_key and is_cacheable(op, tensors, attrs, choice.device)
        if key is not None and is_kept:
            next_run = execution.for_next_run(tensors, attrs)
            self._cache[key] = Entry(op, inputs, tensors, next_run, self._converter)
        return tensors, choice.device, outputs

    def _constant(self, array: Any) -> EagerTensor:
        constant = self._converter.constant(array)
        self._placer.check_expected(CONST, constant.place)
        return constant

    # --- tensors and devices --------------------------------------------------------------

    def convert(self, value: Any, dtype: DType | None = None, name: str | None = None) -> Any:
        """Return a value as a tensor; tensors as they are."""
        self._use_opened()
        return self._converter.convert(value, dtype, name)

    @property
    def placer(self) -> Placer:
        """What chooses among the devices that are open now."""
        self._use_opened()
        return self._placer

    def copy_to(self, tensor: EagerTensor, device: Device, holder: str) -> EagerTensor:
        """Copy a tensor to a device; `holder` is the operation that the memory report names."""
        self._use_opened()
        return self._transfers.copy_to(tensor, device, holder)

    def has_choice(self) -> bool:
        """Tell whether there is more than one device to compute on."""
        return len(self._devices) > 1

    # --- random numbers -------------------------------------------------------------------

    @property
    def seed(self) -> int | None:
        """The seed of the program: setting it starts all random operations over."""
        return self._generators.seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._generators.seed = seed

    def draw_seed(self) -> int:
        """Return a seed for an operation that has none of its own."""
        return self._generators.draw_seed()

    # --- scopes ---------------------------------------------------------------------------

    @property
    def current_scope(self) -> str:
        """The name scope of this thread, with the slash at its end."""
        return _open.scopes.innermost if _open.scopes else ""

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Enter a scope and return its name; eager operations have none, but scopes nest."""
        return FunctionBlock(self._enter_scope, name)

    def _enter_scope(self, use: Use, name: str | None) -> str:
        is_whole = not name or name.endswith("/")  # None leaves all scopes
        scope = (name or "") if is_whole else f"{self.current_scope}{name}/"
        use.set(_open.scopes, scope)
        return scope

    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[None]:
        """Do nothing: operations run in the order of the program."""
        return nullcontext()

    def device(self, device: Any) -> AbstractContextManager[None]:
        """Request a device for the operations of a block."""
        return EagerDevice(device)
