"""Shape inference and constant folding, the first pass of planning.

Invariants of the result:
  1. Every value's shape is known in full, and so are the values of host inputs; unless the
     result says what has to be computed first (`Blocked`).
  2. A step is there if and only if a fetch or target needs it.
  3. Steps are in the order in which their operations were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from berth.backends.kinds import HOST_TYPE
from berth.dtypes import DType, resource
from berth.errors import InvalidArgumentError
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.opdef import Access, Source, variable_of
from berth.ops.shape import bracketed, is_known
from berth.plan.infer import SharedTypes, fold, infer_types, is_small_constant
from berth.plan.knowledge import Blocked, Knowledge
from berth.plan.plan import Request
from berth.plan.structure import ArrayType, Rule, Step, Storage, Structure, Value


def specialize(
    request: Request,
    ops: Iterable[Operation],
    devices: Mapping[Operation, int],
    on_host: frozenset[int],
    knowledge: Knowledge,
) -> tuple[Structure, Blocked]:
    """Make the steps of plans; if some are blocked, they are good for nothing but that."""
    return _Specializer(request, devices, on_host, knowledge).run(ops)


class _Specializer:
    def __init__(
        self,
        request: Request,
        devices: Mapping[Operation, int],
        on_host: frozenset[int],
        knowledge: Knowledge,
    ) -> None:
        self._request = request
        self._structure = Structure()
        self._types = self._structure.types
        self._shared = SharedTypes()
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

    def run(self, ops: Iterable[Operation]) -> tuple[Structure, Blocked]:
        self._take_feeds()
        for op in ops:
            if not self._add_source(op):
                self._add(op)
        if not self._blocked.ops:
            self._settle()
        return self._structure, self._blocked

    def _take_feeds(self) -> None:
        for feed in self._request.feeds:  # first of all: a feed's position is its number
            tensor, dims = feed.tensor, feed.dims
            known = self._known.values.get(tensor)
            array_type = ArrayType(tensor.dtype.base_dtype, dims, known)
            value = self._structure.new_value(tensor, array_type)
            value.storage = Storage.FEED
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
        _check_shape_of(op)
        dims = op.attrs["shape"].dims_or_none
        array_type = ArrayType(op.attrs["dtype"], dims, None, op)
        value = self._structure.new_value(tensor, array_type)
        value.variable, value.storage = op, Storage.VARIABLE
        self._values[tensor] = value
        return True

    def _add_known(
        self, op: Operation, arrays: Sequence[Any], waits: Sequence[Step]
    ) -> list[Value]:
        """Take an operation whose values are known; it may still have to wait for others."""
        step = Step(op, [], waits, is_known=True) if waits else None
        outputs = []
        for tensor, array in zip(op.outputs, arrays, strict=True):
            array_type = self._shared.constant(tensor.dtype.base_dtype, array)
            value = self._structure.new_value(tensor, array_type, step)
            value.storage = Storage.CONSTANT
            self._values.setdefault(tensor, value)  # unless it is fed
            outputs.append(value)
        if step is not None:
            step.outputs = outputs
            self._add_step(step)
        return outputs

    def _add_step(self, step: Step) -> None:
        step.has_effects = _has_effects(step)
        self._steps[step.op] = step
        self._structure.steps.append(step)

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
        types = self._output_types(op, inputs)
        if types is None:
            return
        if self._folds and self._fold(op, inputs, types):
            return
        shared = self._shared.get
        step = Step(op, inputs, self._waits(op))
        if step.hosts:
            given = [s for p in step.hosts if (s := inputs[p].step) is not None]
            step.waits_for = [*step.waits_for, *given]
        for tensor, (dtype, dims) in zip(op.outputs, types, strict=True):
            if dtype is resource:  # a variable's handle, passed on
                array_type = self._types[inputs[0].number]
            else:
                ref = tensor.dtype.is_ref
                array_type = ArrayType(dtype, dims, None, op) if ref else shared(dtype, dims)
            output = self._structure.new_value(tensor, array_type, step)
            step.outputs.append(output)
            values.setdefault(tensor, output)  # unless it is fed
        self._add_rule(op, inputs, step.outputs)
        self._add_step(step)

    def _add_rule(
        self, op: Operation, inputs: list[Value], outputs: list[Value], is_folded: bool = False
    ) -> None:
        """Note how types follow from each other, for plans with other feed shapes."""
        if not self._request.feeds:
            return
        # The graph may have inferred a shape from a constant that a feed overrides.
        is_static = self._overridden.isdisjoint(op.outputs)
        declared = tuple([t.dims if is_static else None for t in op.outputs])
        taken, given = tuple([v.number for v in inputs]), tuple([v.number for v in outputs])
        self._structure.rules.append(Rule(op, taken, given, declared, is_folded))

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
            array_type = self._types[value.number]
            if array_type.value is not None:
                continue
            known = self._known.values.get(value.tensor)
            if known is not None:
                self._types[value.number] = ArrayType(value.dtype, array_type.dims, known)
            else:
                self._blocked.values.append(value.tensor)
                if op not in self._blocked_ops:
                    self._block(op)
        return op in self._blocked_ops

    def _output_types(
        self, op: Operation, inputs: list[Value]
    ) -> list[tuple[DType, Any]] | None:
        """Say what the outputs are; None if their shapes depend on values yet unknown."""
        if not self._infers:
            types = [(t.dtype.base_dtype, t.dims) for t in op.outputs]
            for _, dims in types:
                if dims is None or None in dims:
                    break
            else:
                return types
        inferred = infer_types(op, [self._types[value.number] for value in inputs])
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
        if definition.is_metadata:  # only the shape is read
            before = [value.step for value in inputs if value.step and value.step.has_effects]
        else:
            for value in inputs:
                if self._types[value.number].value is None:
                    return False
            if not is_small_constant(types):
                return False
            before = [value.step for value in inputs if value.step]
        if any(dtype.is_floating for dtype, _ in types) and (
            self._devices[op] not in self._on_host
        ):
            return False
        if definition.kernel(HOST_TYPE, op.main_type) is None:
            return False
        results = fold(op, [self._types[value.number] for value in inputs])
        outputs = self._add_known(op, results, [*self._waits(op), *before])
        self._add_rule(op, inputs, outputs, is_folded=True)
        self._structure.folded.append(op)
        return True

    def _settle(self) -> None:
        """Keep the steps that are needed, and say what the fetches and feeds have become."""
        made, values, steps = self._structure, self._values, self._steps
        made.fetches = [values[tensor] for tensor in self._request.fetches]
        for value in made.fetches:
            value.is_needed = True
            if value.step:
                value.step.is_needed = True
        for op in self._request.targets:
            if op in steps:
                steps[op].is_needed = True
        kept = []
        for step in reversed(made.steps):
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
        made.steps = kept[::-1]
        fed = [values[feed.tensor] for feed in self._request.feeds]
        made.feeds = [value if value.is_needed else None for value in fed]
        sources = (
            v for v in values.values() if v.storage in (Storage.CONSTANT, Storage.VARIABLE)
        )
        made.sources = [value for value in sources if value.is_needed]


def _has_effects(step: Step) -> bool:
    """Tell whether a step, or one before it, does more than to compute its outputs."""
    definition = step.op.definition
    if definition.is_stateful and definition.access not in (Access.READ, Access.QUERY):
        return True
    for value in step.inputs:
        if value.step is not None and value.step.has_effects:
            return True
    return bool(step.waits_for) and any(other.has_effects for other in step.waits_for)


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
