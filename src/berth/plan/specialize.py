"""Shape inference and constant folding, the first pass of planning.

Invariants of the result:
  1. Every value's shape is known in full, and so are the values of host inputs; unless the
     result says what has to be computed first (`Blocked`).
  2. A step is there if and only if a fetch or target needs it.
  3. Steps are in the order in which their operations were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.backends.kinds import HOST_TYPE
from berth.dtypes import DType, resource
from berth.errors import InvalidArgumentError, OpError
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.dispatch import checked_types
from berth.ops.evaluate import evaluate
from berth.ops.opdef import Access, Source, variable_of
from berth.ops.shape import Dims, bracketed, is_known
from berth.plan.plan import Plan, Request, Step, Storage, Value

FOLD_AT_MOST = 2**16
"""The largest constant, in bytes, that is computed while planning."""


class Knowledge(NamedTuple):
    """What earlier parts of a run found out."""

    values: Mapping[SymbolicTensor, Any] = {}
    """Values of host inputs."""
    dims: Mapping[SymbolicTensor, Dims] = {}
    """Shapes that depended on values."""
    done: frozenset[Operation] = frozenset()
    """What has run already, and must not run again."""


NOTHING = Knowledge()


class Blocked(NamedTuple):
    """What must be computed before the rest can be planned."""

    values: list[SymbolicTensor]
    """Tensors whose values decide how the rest is planned."""
    ops: list[Operation]
    """The operations that wait for them, directly or not."""
    functional_ops: list[Operation]
    """Those among them that are done on the host's account, as soon as they have their inputs:
    they run subgraphs, or the shapes of their outputs are known only when they have run."""


def specialize(
    request: Request,
    ops: Iterable[Operation],
    devices: Mapping[Operation, int],
    on_host: frozenset[int],
    knowledge: Knowledge,
) -> tuple[Plan, Blocked]:
    """Make the steps of a plan; if some are blocked, it is good for nothing but that."""
    return _Specializer(request, devices, on_host, knowledge).run(ops)


class _Specializer:
    def __init__(
        self,
        request: Request,
        devices: Mapping[Operation, int],
        on_host: frozenset[int],
        knowledge: Knowledge,
    ) -> None:
        self.plan = Plan(request)
        self._devices, self._on_host = devices, on_host
        self._known = knowledge
        self._folds = not request.is_traced
        self._values: dict[SymbolicTensor, Value] = {}
        self._steps: dict[Operation, Step] = {}
        self._blocked = Blocked([], [], [])
        self._blocked_ops: set[Operation] = set()
        self._infers = bool(knowledge.dims)
        """Whether shapes may be other than the graph has them, and are inferred again."""
        self._overridden: set[SymbolicTensor] = set()
        """What is fed in place of what the graph computes, and what depends on it: the graph
        may have inferred shapes from the constants that were overridden."""

    def run(self, ops: Iterable[Operation]) -> tuple[Plan, Blocked]:
        self._take_feeds()
        for op in ops:
            if not self._add_source(op):
                self._add(op)
        if not self._blocked.ops:
            self._settle()
        return self.plan, self._blocked

    def _take_feeds(self) -> None:
        for feed in self.plan.request.feeds:
            tensor, dims = feed.tensor, feed.dims
            value = Value(tensor, tensor.dtype.base_dtype, dims, None)
            value.storage = Storage.FEED
            value.value = self._known.values.get(tensor)
            self._values[tensor] = value
            if not feed.is_computed and tensor.op.definition.source is not Source.PLACEHOLDER:
                self._overridden.add(tensor)
            self._infers = self._infers or dims != tensor.dims or bool(self._overridden)

    def _add_source(self, op: Operation) -> bool:
        """Take an operation that computes nothing; False if it is none."""
        definition = op.definition
        if not definition.is_source:
            return False
        if definition.source is Source.PLACEHOLDER:
            return self._must_be_fed(op)
        tensor = op.outputs[0]
        if tensor in self._values:
            return True
        if definition.source is not Source.VARIABLE:
            if self._is_blocked(op):
                self._block(op)
            else:
                self._add_known(op, [tensor.value], self._waits(op))
            return True
        value = Value(tensor, op.attrs["dtype"], op.attrs["shape"].dims_or_none, None)
        value.variable, value.storage = op, Storage.VARIABLE
        _check_shape_of(op)
        self._values[tensor] = value
        return True

    def _add_known(self, op: Operation, arrays: Sequence[Any], waits: Sequence[Step]) -> None:
        """Take an operation whose values are known; it may still have to wait for others."""
        step = Step(op, [], waits, is_known=True) if waits else None
        for tensor, array in zip(op.outputs, arrays, strict=True):
            value = Value(tensor, tensor.dtype.base_dtype, array.shape, step)
            value.value, value.storage = array, Storage.CONSTANT
            self._values.setdefault(tensor, value)  # unless it is fed
            if step is not None:
                step.outputs.append(value)
        if step is not None:
            self._add_step(step)

    def _add_step(self, step: Step) -> None:
        step.has_effects = _has_effects(step)
        self._steps[step.op] = step
        self.plan.steps.append(step)

    def _waits(self, op: Operation) -> Sequence[Step]:
        """List the steps that an operation's dependencies have become."""
        if not op.control_inputs:
            return ()
        return [self._steps[c] for c in op.control_inputs if c in self._steps]

    def _is_blocked(self, op: Operation) -> bool:
        return any(control in self._blocked_ops for control in op.control_inputs)

    def _must_be_fed(self, op: Operation) -> bool:
        if op.outputs[0] not in self._values:
            shape = op.attrs["shape"].dims_or_none
            known = "" if shape is None else f" and shape {bracketed(shape)}"
            raise InvalidArgumentError(
                None,
                op,
                f"You must feed a value for placeholder tensor '{op.name}' with dtype "
                f"{op.attrs['dtype'].type_string}{known}",
            )
        return True

    def _add(self, op: Operation) -> None:
        values = self._values
        try:
            inputs = [values[tensor] for tensor in op.inputs]
        except KeyError:  # it needs what is blocked
            self._block(op)
            return
        if op.control_inputs and self._is_blocked(op):
            self._block(op)
            return
        definition = op.definition
        if definition.host_inputs and self._wants_values(op, inputs):
            return
        if definition.is_call or definition.host_call is not None:
            self._call(op)
            return
        for k in range(definition.n_variables):
            if inputs[k].storage is Storage.FEED:
                inputs[k] = self._written_before(op, k)
        types = self._types(op, inputs)
        if types is None:
            return
        if self._folds and self._fold(op, inputs, types):
            return
        step = Step(op, inputs, self._waits(op))
        if step.hosts:
            given = [s for p in step.hosts if (s := inputs[p].step) is not None]
            step.waits_for = [*step.waits_for, *given]
        for tensor, (dtype, dims) in zip(op.outputs, types, strict=True):
            if dtype is resource:  # a variable's handle, passed on
                output = Value(tensor, inputs[0].dtype, inputs[0].dims, step)
            else:
                output = Value(tensor, dtype, dims, step)
            step.outputs.append(output)
            values.setdefault(tensor, output)  # unless it is fed
        self._add_step(step)

    def _written_before(self, op: Operation, position: int) -> Value:
        """Return the variable whose reference an earlier part of the run gave."""
        tensor = op.inputs[position]
        if tensor.op not in self._known.done:
            raise _not_a_variable(op, position)
        self._add_source(variable := variable_of(tensor))
        return self._values[variable.outputs[0]]

    def _call(self, op: Operation) -> None:
        self._blocked.functional_ops.append(op)
        self._block(op)

    def _block(self, op: Operation) -> None:
        self._blocked_ops.add(op)
        self._blocked.ops.append(op)

    def _wants_values(self, op: Operation, inputs: list[Value]) -> bool:
        """Block an operation until the values of its host inputs are known."""
        for position in op.definition.host_inputs:
            value = inputs[position]
            if value.value is None:
                value.value = self._known.values.get(value.tensor)
            if value.value is None:
                self._blocked.values.append(value.tensor)
                if op not in self._blocked_ops:
                    self._block(op)
        return op in self._blocked_ops

    def _types(self, op: Operation, inputs: list[Value]) -> list[tuple[DType, Any]] | None:
        """Say what the outputs are; None if their shapes depend on values yet unknown."""
        if not self._infers:
            types = [(t.dtype.base_dtype, t.dims) for t in op.outputs]
            for _, dims in types:
                if dims is None or None in dims:
                    break
            else:
                return types
        inferred = infer_types(op, inputs)
        is_static = not self._depends_on_overridden(op)
        types = []
        for tensor, (dtype, dims) in zip(op.outputs, inferred, strict=True):
            known = dims
            if not is_known(known):
                known = self._known.dims.get(tensor, tensor.dims if is_static else None)
            if not is_known(known):
                self._wants_shapes(op, inputs)
                return None
            types.append((dtype.base_dtype, known))
        return types

    def _depends_on_overridden(self, op: Operation) -> bool:
        """Tell whether the graph's shapes cannot be relied on, and can be had otherwise."""
        if not self._overridden or self._overridden.isdisjoint(op.inputs):
            return False
        self._overridden.update(op.outputs)
        definition = op.definition
        return bool(definition.shape_inputs) or definition.perform is not None

    def _wants_shapes(self, op: Operation, inputs: list[Value]) -> None:
        """Block an operation until the values that decide its shape are known."""
        deciding = [inputs[position].tensor for position in op.definition.shape_inputs]
        if not deciding and op.definition.perform is not None:
            self._call(op)
            return
        if not deciding:
            raise InvalidArgumentError(
                None,
                op,
                f"The shape of '{op.name}' ({op.type}) is not known even with all feeds: call "
                "set_shape() on its output",
            )
        self._blocked.values.extend(deciding)
        self._block(op)

    def _fold(self, op: Operation, inputs: list[Value], types: list[tuple[DType, Any]]) -> bool:
        """Compute an operation now, if its result cannot change from run to run.

        Floating-point work of a GPU is not folded: the program placed it there.
        """
        definition = op.definition
        if definition.is_stateful or not inputs:
            return False
        if definition.is_metadata:
            arrays = [_array_of(inputs[0].dims)]  # only the shape is read
            before = [value.step for value in inputs if value.step and value.step.has_effects]
        else:
            arrays = []
            for value in inputs:
                if value.value is None:
                    return False
                arrays.append(value.value)
            if _size(types) > FOLD_AT_MOST:
                return False
            before = [value.step for value in inputs if value.step]
        if any(dtype.is_floating for dtype, _ in types) and (
            self._devices[op] not in self._on_host
        ):
            return False
        if definition.kernel(HOST_TYPE, op.main_type) is None:
            return False
        try:
            results = evaluate(definition, arrays, op.attrs)
        except OpError as error:
            raise type(error)(None, op, error.message) from None
        except ValueError as error:
            raise _invalid(error, op) from None
        self._add_known(op, results, [*self._waits(op), *before])
        self.plan.folded.append(op)
        return True

    def _settle(self) -> None:
        """Keep the steps that are needed, and say what the fetches and feeds have become."""
        plan, values, steps = self.plan, self._values, self._steps
        plan.fetches = [values[tensor] for tensor in plan.request.fetches]
        for value in plan.fetches:
            value.is_needed = True
            if value.step:
                value.step.is_needed = True
        for op in plan.request.targets:
            if op in steps:
                steps[op].is_needed = True
        kept = []
        for step in reversed(plan.steps):
            if not step.is_needed:
                continue
            kept.append(step)
            for position, value in enumerate(step.inputs):
                if position not in step.hosts:
                    value.is_needed = True
                    if value.step:
                        value.step.is_needed = True
            for other in step.waits_for:
                other.is_needed = True
        plan.steps = kept[::-1]
        fed = [values[feed.tensor] for feed in plan.request.feeds]
        plan.feeds = [value if value.is_needed else None for value in fed]
        sources = (
            v for v in values.values() if v.storage in (Storage.CONSTANT, Storage.VARIABLE)
        )
        plan.sources = [value for value in sources if value.is_needed]


def _has_effects(step: Step) -> bool:
    """Tell whether a step, or one before it, does more than to compute its outputs."""
    definition = step.op.definition
    if definition.is_stateful and definition.access not in (Access.READ, Access.QUERY):
        return True
    for value in step.inputs:
        if value.step is not None and value.step.has_effects:
            return True
    return bool(step.waits_for) and any(other.has_effects for other in step.waits_for)


def infer_types(op: Operation, inputs: Sequence[Any]) -> Any:
    """Apply the shape rule to what is known now: a graph may have known less."""
    try:
        return checked_types(op.definition.infer(inputs, op.attrs))
    except ValueError as error:
        raise _invalid(error, op) from None


def _invalid(error: ValueError, op: Operation) -> InvalidArgumentError:
    return InvalidArgumentError(None, op, getattr(error, "at_run", str(error)))


def _not_a_variable(op: Operation, position: int) -> InvalidArgumentError:
    """Make the error for a variable that is fed, where it is to be written or asked about."""
    tensor = op.inputs[position]
    fed, wanted = tensor.dtype.base_dtype.type_string, tensor.dtype.type_string
    return InvalidArgumentError(
        None,
        op,
        f"Input {position} of node {op.name} was passed {fed} from _arg_{tensor.op.name}_0_0:0 "
        f"incompatible with expected {wanted}.",
    )


def _check_shape_of(variable: Operation) -> None:
    shape = variable.attrs["shape"]
    if not shape.is_fully_defined():
        message = (
            f"The shape of variable '{variable.name}' is {shape}: it must be known in full"
        )
        raise InvalidArgumentError(None, variable, message)


def _array_of(dims: Any) -> Any:
    """Make an array of a shape that takes one byte, whatever the shape."""
    return np.ndarray(dims, np.int8, b"\0", 0, (0,) * len(dims))


def _size(types: list[tuple[DType, Any]]) -> int:
    return sum(dtype.itemsize * int(np.prod(dims, dtype=np.int64)) for dtype, dims in types)
