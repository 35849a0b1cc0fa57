"""Operations that are computed as they are written: the builder of eager programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from berth.devices.device import Device
from berth.eager.conversion import Values, as_tensor
from berth.eager.dispatch_cache import MAX_RECIPES, PLAIN, Kind, Recipe, is_repeatable, kind_of
from berth.eager.placement import Choice, log_execution
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError, OpError, OutOfMemoryError
from berth.front.device_scope import EagerDevice
from berth.graph.recording import active_tapes, record, watch_variable
from berth.ops.arrays.array import CONST
from berth.ops.opdef import Access, Attrs, OpDef, OutputType
from berth.ops.shape import is_known
from berth.run.fp_errors import ignore_fp_errors
from berth.run.launch import compute

if TYPE_CHECKING:
    from berth.front.context import Context


class Eager(Values):
    """Computes operations as they are written, on the devices of a program."""

    computes_at_once = True

    def __init__(self, program: Context) -> None:
        super().__init__(program)
        self._recipes: dict[Kind | None, Recipe] = {}
        self._memories: dict[Any, dict[str, Any]] = {}
        """What operations remember from call to call: where a generator has got to."""
        self._seed: int | None = None
        self._seeds = Random()

    def _forget(self) -> None:
        super()._forget()
        self._recipes = {}
        self._memories = {}

    # --- making operations ----------------------------------------------------------------

    def apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Compute an operation; return its output, a list of them, or None."""
        if op is CONST:
            made = self._new_constant(attrs["value"])
            self._check_expected(op, made.place)
            return made
        for value in inputs:
            if type(value) not in PLAIN:
                inputs = [as_tensor(value) for value in inputs]
                break
        kind, recipe = self._recall(op, inputs, attrs)
        if recipe is None:
            tensors = self._tensors(op, inputs)
            choice = self._choose(op, tensors, attrs)
        else:
            choice = recipe.choice
            tensors = inputs
            if not recipe.takes_tensors:
                tensors = recipe.tensors(inputs, self._converted)
        self._check_expected(op, choice.device)
        try:
            if recipe is None:
                outputs = self._examine(op, inputs, tensors, attrs, choice, kind)
            else:
                outputs = self._follow(op, recipe, tensors, attrs)
        except (OpError, ValueError) as error:
            raise _worded(error, op, inputs, name) from None
        if active_tapes():
            record(op, tensors, outputs, attrs, choice.device.name)
        if self._switches.log_placement:
            log_execution(op.name, choice.device)
        if len(outputs) == 1:
            return outputs[0]
        return outputs or None

    def _recall(
        self, op: OpDef, inputs: Sequence[Any], attrs: Attrs
    ) -> tuple[Kind | None, Recipe | None]:
        """Return the kind of a call, and how such a call was done before."""
        self._look_for_devices()
        asked = self._scope.device_name
        kind = kind_of(op, inputs, attrs, asked, self._switches.soft_placement)
        try:
            return kind, self._recipes.get(kind)
        except TypeError:  # an attribute that cannot be looked up
            return None, None

    def _follow(
        self, op: OpDef, recipe: Recipe, tensors: Sequence[Any], attrs: Attrs
    ) -> list[EagerTensor]:
        """Compute what a recipe is for."""
        device = recipe.choice.device
        if recipe.function is not None:
            out = np.empty(*recipe.empty)
            ignore_fp_errors(recipe.function, [*[tensor.array for tensor in tensors], out])
            return [EagerTensor(out, device, recipe.types[0][0])]
        if op.access is not None:
            return self._access(op, tensors, attrs, recipe.choice, recipe.types)
        arrays = [tensor.array for tensor in tensors]
        for position in recipe.hosts:
            arrays[position] = tensors[position].value
        return self._compute(op, tensors, arrays, attrs, recipe.choice, recipe.types)

    def _examine(
        self,
        op: OpDef,
        inputs: Sequence[Any],
        tensors: Sequence[Any],
        attrs: Attrs,
        choice: Choice,
        kind: Kind | None,
    ) -> list[EagerTensor]:
        """Compute what there is no recipe for, and write one down if there can be one."""
        types = op.infer(tensors, attrs)
        if op.access is not None:
            outputs = self._access(op, tensors, attrs, choice, types)
        elif not all(is_known(dims) for _, dims in types):
            raise ValueError("Dimension -1 must be >= 0: every size must be said here")
        else:
            arrays = self._gathered(op, tensors, choice.device)
            outputs = self._compute(op, tensors, arrays, attrs, choice, types)
        if kind is not None and is_repeatable(op, tensors, attrs, choice.device, types):
            if len(self._recipes) >= MAX_RECIPES:
                self._recipes.clear()
            self._recipes[kind] = Recipe(op, inputs, tensors, attrs, choice, types)
        return outputs

    def _compute(
        self,
        op: OpDef,
        tensors: Sequence[Any],
        arrays: Sequence[Any],
        attrs: Attrs,
        choice: Choice,
        types: Sequence[OutputType],
    ) -> list[EagerTensor]:
        device = choice.device
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
        arrays = self._gathered(op, values, choice.device, 1)
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


def _worded(
    error: OpError | ValueError, op: OpDef, inputs: Sequence[Any], name: str | None
) -> OpError:
    """Return an error that says which operation it comes from."""
    if isinstance(error, ValueError):
        message = _named(getattr(error, "at_run", str(error)), op, inputs, name)
        return InvalidArgumentError(None, None, message)
    message = _named(error.message, op, inputs, name)
    if isinstance(error, OutOfMemoryError):
        return error.worded(message)
    return type(error)(None, None, message)


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
