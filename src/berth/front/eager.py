"""Operations that are computed as they are written: the builder of eager programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from berth.devices.device import Device
from berth.errors import InvalidArgumentError, OpError, OutOfMemoryError
from berth.front.device_scope import EagerDevice
from berth.front.eager_placement import Choice, log_execution
from berth.front.eager_tensor import EagerTensor
from berth.front.eager_values import Values
from berth.graph.recording import active_tapes, record, watch_variable
from berth.ops.array import CONST
from berth.ops.opdef import Access, Attrs, OpDef, OutputType
from berth.ops.shape import Known, is_known
from berth.plan.layout import LARGE
from berth.run.launch import compute
from berth.run.quiet import call_quietly

if TYPE_CHECKING:
    from berth.front.context import Context


class Eager(Values):
    """Computes operations as they are written, on the devices of a program."""

    computes_at_once = True

    def __init__(self, program: Context) -> None:
        super().__init__(program)
        self._memories: dict[Any, dict[str, Any]] = {}
        """What operations remember from call to call: where a generator has got to."""
        self._seed: int | None = None
        self._seeds = Random()

    def _forget(self) -> None:
        super()._forget()
        self._memories = {}

    # --- making operations ----------------------------------------------------------------

    def apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Compute an operation; return its output, a list of them, or None."""
        tensors = self._tensors(op, inputs)
        choice = self._choose(op, tensors, attrs)
        if op is CONST:
            outputs = [self._constant(attrs["value"], choice.device)]
        else:
            try:
                outputs = self._compute(op, tensors, attrs, choice)
            except OutOfMemoryError as error:
                raise error.worded(_named(error.message, op, inputs, name)) from None
            except ValueError as error:
                message = getattr(error, "at_run", str(error))
                message = _named(message, op, inputs, name)
                raise InvalidArgumentError(None, None, message) from None
            except OpError as error:
                message = _named(error.message, op, inputs, name)
                raise type(error)(None, None, message) from None
            if active_tapes():
                record(op, tensors, outputs, attrs, choice.device.name)
        if self._switches.log_placement:
            shown = "_EagerConst" if op is CONST else op.name
            log_execution(shown, choice.device)
        if len(outputs) == 1:
            return outputs[0]
        return outputs or None

    def _compute(
        self, op: OpDef, tensors: Sequence[Any], attrs: Attrs, choice: Choice
    ) -> list[EagerTensor]:
        device = choice.device
        types = op.infer(tensors, attrs)
        if choice.function is not None and not attrs:
            quickly = self._compute_quickly(tensors, choice, types[0])
            if quickly is not None:
                return [quickly]
        if op.access is not None:
            return self._access(op, tensors, attrs, choice, types)
        if not all(is_known(dims) for _, dims in types):
            raise ValueError("Dimension -1 must be >= 0: every size must be said here")
        hosts = op.host_positions(len(tensors))
        arrays = [
            tensor.value
            if position in hosts
            else tensor.array
            if tensor.place is device
            else self._brought(tensor, device, op, position)
            for position, tensor in enumerate(tensors)
        ]
        state = self._memory_of(op, attrs, device) if op.is_stateful else None
        outputs = compute(
            op,
            choice.kernel,
            device,
            arrays,
            attrs,
            types,
            typed_inputs=tensors,
            pool=self._pool,
            state=state,
            devices=self._devices,
        )
        shares = tensors[0].shares if op.is_alias else None
        return [
            EagerTensor(array, device, dtype.base_dtype, shares=shares)
            for array, (dtype, _) in zip(outputs, types, strict=True)
        ]

    def _compute_quickly(
        self, tensors: Sequence[Any], choice: Choice, made: OutputType
    ) -> EagerTensor | None:
        """Compute an elementwise operation on small arrays of the host, as most are."""
        device = choice.device
        for tensor in tensors:
            if tensor.place is not device:
                return None
        dtype, dims = made
        out: Any = np.empty(cast(Known, dims), dtype.np_dtype)
        if out.nbytes >= LARGE:
            return None
        call_quietly(choice.function, [*[tensor.array for tensor in tensors], out])
        return EagerTensor(out, device, dtype)

    def _access(
        self, op: OpDef, tensors: Sequence[Any], attrs: Attrs, choice: Choice, types: Any
    ) -> list[EagerTensor]:
        """Read or write a variable."""
        handle, *values = tensors
        if handle.place not in self._devices:
            self._check_alive(handle)
        if op.access is Access.READ:
            if active_tapes():
                watch_variable(handle)
            return [handle.read()]
        arrays = [
            value.value
            if position in op.host_inputs
            else value.array
            if value.place is choice.device
            else self._brought(value, choice.device, op, position)
            for position, value in enumerate(values, 1)
        ]
        with handle.lock:
            if op.access is not Access.QUERY:
                handle.prepare_write(values[0].dims if op.access is Access.ASSIGN else None)
            outputs = compute(
                op,
                choice.kernel,
                choice.device,
                (handle.array, *arrays),
                attrs,
                types,
                typed_inputs=tensors,
                pool=self._pool,
                state=handle,
                devices=self._devices,
            )
            if op.access is Access.ASSIGN:
                handle.is_initialized = True
        return [
            EagerTensor(array, choice.device, dtype.base_dtype)
            for array, (dtype, _) in zip(outputs, types, strict=True)
        ]

    # --- chance ---------------------------------------------------------------------------

    def _memory_of(self, op: OpDef, attrs: Attrs, device: Device) -> dict[str, Any]:
        key = (op, device, tuple(sorted((k, str(v)) for k, v in attrs.items())))
        return self._memories.setdefault(key, {})

    @property
    def seed(self) -> int | None:
        """The seed of the program: with it, random operations begin anew."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._seeds = Random(seed)
        self._memories.clear()

    def draw_seed(self) -> int:
        """Return a seed for an operation that has none of its own, as TensorFlow draws it."""
        return self._seeds.randint(0, 2**31 - 1)

    # --- scopes ---------------------------------------------------------------------------

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Give a name, which means nothing here."""
        yield f"{name}/" if name else ""

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Do nothing: what was written before has been done."""
        yield

    def device(self, device: Any) -> AbstractContextManager[None]:
        """Ask for a device for the operations of a block."""
        return EagerDevice(device)


def _named(message: str, op: OpDef, inputs: Sequence[Any], name: str | None) -> str:
    """Say of which operation a message speaks, as TensorFlow does."""
    if "[Op:" in message:
        return message
    said, newline, more = message.partition("\n")
    # TensorFlow takes another way with lists, and names nothing on that.
    is_nameless = name is None and any(isinstance(value, list | tuple) for value in inputs)
    shown = name if name and name.endswith("/") else ""  # of a scope; others are berth's own
    place = "" if is_nameless else f" name: {shown}"
    return f"{said} [Op:{op.name}]{place}{newline}{more}"
