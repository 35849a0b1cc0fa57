"""What a graph means and what a plan promises, the slow way.

`NaiveSession` computes operation by operation, in the order they were made, on host arrays
of their own. It knows nothing of plans, devices or memory: only what operations are.

The checks below it read a finished plan and work out again, from the graph and the order of
the stages, what must cross between devices and which values are alive at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.evaluate import evaluate
from berth.ops.opdef import Access
from berth.plan.layout import LARGE_FEED
from berth.plan.plan import Plan, Scratch
from berth.plan.structure import ArrayType, Step, Storage, Value

Feeds = Mapping[SymbolicTensor, np.ndarray]
END = 10**9
"""A position after all steps."""


class Reference(NamedTuple):
    """What stands for a variable: its value is looked up when it is needed."""

    variable: Operation


class NaiveSession:
    """A graph and the values of its variables."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.variables: dict[Operation, np.ndarray] = {}

    def clone(self) -> NaiveSession:
        """Return another session with the same variables."""
        other = NaiveSession(self.graph)
        other.variables = dict(self.variables)
        return other

    def run(self, fetches: Sequence[SymbolicTensor | Operation], feeds: Feeds) -> list[Any]:
        """Compute what is fetched; None for an operation."""
        values: dict[SymbolicTensor, Any] = dict(feeds)
        for op in sorted(needed(fetches, feeds), key=lambda op: op.number):
            outputs = self._compute(op, values)
            for tensor, value in zip(op.outputs, outputs, strict=True):
                values.setdefault(tensor, value)  # unless it is fed
        return [
            self._deref(values[f]) if isinstance(f, SymbolicTensor) else None for f in fetches
        ]

    def _compute(self, op: Operation, values: dict[SymbolicTensor, Any]) -> list[Any]:
        definition = op.definition
        if op.type == "Placeholder":
            return [values[op.outputs[0]]]
        if op.type == "Const":
            return [op.attrs["value"]]
        if op.type in ("VariableV2", "VarHandleOp"):
            return [Reference(op)]
        inputs = [values[tensor] for tensor in op.inputs]
        if definition.access is not None:
            return self._access(op, *inputs)
        if not op.outputs:
            return []
        arrays = [self._deref(value) for value in inputs]
        return [np.array(array) for array in evaluate(definition, arrays, op.attrs)]

    def _access(self, op: Operation, reference: Reference, value: Any = None) -> list[Any]:
        variable = reference.variable
        if op.definition.access is Access.READ:
            return [self.variables[variable].copy()]
        value = self._deref(value)
        if op.definition.access is Access.UPDATE:
            old = self.variables[variable]
            with np.errstate(all="ignore"):
                value = old + value if "Add" in op.type else old - value
        self.variables[variable] = np.array(value)
        return [reference] if op.outputs else []

    def _deref(self, value: Any) -> Any:
        if isinstance(value, Reference):
            return self.variables[value.variable].copy()
        return value


def needed(fetches: Iterable[SymbolicTensor | Operation], feeds: Feeds) -> set[Operation]:
    """Return the operations that must run: what is fetched needs them, or waits for them."""
    seen: set[Operation] = set()
    stack = [f for f in fetches if f not in feeds]
    while stack:
        item = stack.pop()
        op = item.op if isinstance(item, SymbolicTensor) else item
        if op not in seen:
            seen.add(op)
            stack += [tensor for tensor in op.inputs if tensor not in feeds]
            stack += _waits(op)
    return seen


def _waits(op: Operation) -> tuple[Operation, ...]:
    """List what an operation waits for. A placeholder is fed, so it waits for nothing."""
    return () if op.type == "Placeholder" else op.control_inputs


# --- copies -----------------------------------------------------------------------------------


def check_copies(plan: Plan, devices: Mapping[Operation, int]) -> None:
    """A tensor crosses to a device once, if something there takes it, and else never."""
    request = plan.request
    fed = {feed.tensor for feed in request.feeds}
    steps = _working_ops(plan, fed)
    members = [step for stage in plan.stages for step in _members(stage.steps)]
    done = Counter(step.op for step in members if not step.is_known)
    assert done == Counter(steps), "each operation that is needed is a step, once"
    wanted = set()
    for op in steps:
        for tensor in _device_inputs(op):
            source = 0 if tensor in fed else devices[tensor.op]
            if source != devices[op]:
                wanted.add((tensor, source, devices[op]))
    copies = [(c.source.tensor, c.source.device, c.target.device) for c in plan.copies()]
    assert set(copies) == wanted
    # What a reference variable holds may change in between, and cross again.
    assert all(n == 1 for (tensor, *_), n in Counter(copies).items() if not tensor.dtype.is_ref)


def _working_ops(plan: Plan, fed: set[SymbolicTensor]) -> set[Operation]:
    """Find the operations that must be steps: needed, and not known beforehand."""
    folded = set(plan.folded)
    working: set[Operation] = set()
    seen: set[Operation] = set()
    stack = [t.op for t in plan.request.fetches if t not in fed] + list(plan.request.targets)
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        stack += _waits(op)
        if op in folded:  # nothing is computed for it, but waits are passed on
            is_shape = op.definition.is_metadata
            inputs = [tensor for tensor in op.inputs if tensor not in fed]
            stack += [t.op for t in inputs if not is_shape or _changes_something(t, fed)]
        elif not op.definition.is_source:
            working.add(op)
            # Host inputs are known, and never steps; what they wait for may be.
            stack += [tensor.op for tensor in op.inputs if tensor not in fed]
    return working


def _changes_something(tensor: SymbolicTensor, fed: set[SymbolicTensor]) -> bool:
    """Tell whether to compute a tensor does more than that: a shape waits for it then."""
    return any(
        op.definition.is_stateful
        and not op.definition.is_source
        and op.definition.access not in (Access.READ, Access.QUERY)
        for op in needed([tensor], dict.fromkeys(fed))
    )


def _device_inputs(op: Operation) -> list[SymbolicTensor]:
    """List the inputs that are taken from the device's memory: all but host inputs."""
    hosts = {position % len(op.inputs) for position in op.definition.host_inputs}
    return [tensor for position, tensor in enumerate(op.inputs) if position not in hosts]


def _members(steps: Iterable[Step]) -> list[Step]:
    return [member for step in steps for member in (step.members or [step])]


# --- order ------------------------------------------------------------------------------------


def check_order(plan: Plan) -> None:
    """Everything is there when it is needed, and the stages say whom they wait for."""
    stage_of: dict[Operation, int] = {}
    arrived: set[Value] = set()
    for number, stage in enumerate(plan.stages):
        for source, target in stage.arrivals:
            assert source.device != target.device == stage.device
            _check_is_done(source.step, number, stage_of, plan)
            arrived.add(target)
        for step in _members(stage.steps):
            assert step.device == stage.device
            for position, value in enumerate(step.inputs):
                if position not in step.hosts:
                    assert value.device == step.device
                    assert (
                        value.step or value in arrived or value.storage is not Storage.WORKSPACE
                    )
                    _check_is_done(value.step, number, stage_of, plan)
            for other in step.waits_for:
                _check_is_done(other, number, stage_of, plan)
            stage_of[step.op] = number


def _check_is_done(
    step: Step | None, now: int, stage_of: Mapping[Any, int], plan: Plan
) -> None:
    """Check that a step comes before the present stage, or in it, and is waited for."""
    if step is None:
        return
    before = stage_of[step.op]
    if plan.stages[before].device != plan.stages[now].device:
        assert before in plan.stages[now].waits


# --- layout -----------------------------------------------------------------------------------


class Life(NamedTuple):
    """An array in a workspace: from the step that makes it to the last that needs it."""

    value: Value | Scratch
    type: ArrayType
    offset: int
    start: int
    end: int

    def meets(self, other: Life) -> bool:
        """Tell whether both are alive at once, in the same bytes."""
        return (
            self.start <= other.end
            and other.start <= self.end
            and self.offset < other.offset + other.type.nbytes
            and other.offset < self.offset + self.type.nbytes
        )


def check_layout(plan: Plan) -> None:
    """No two values that are alive at once share bytes, but as they may."""
    for device in {stage.device for stage in plan.stages}:
        order = [s for stage in plan.stages if stage.device == device for s in stage.steps]
        for position, step in enumerate(order):
            assert step.position == position
            _check_step(plan, step)
        lives = _lives(plan, device, order)
        size = plan.workspace_bytes.get(device, 0)
        for k, life in enumerate(lives):
            assert life.offset % 64 == 0
            assert life.offset >= 0
            assert not life.type.nbytes or life.offset + life.type.nbytes <= size
            for other in lives[:k]:
                assert not life.meets(other) or _replaces(plan, order, other, life), (
                    f"{other} and {life} on device {device}"
                )


def _lives(plan: Plan, device: int, order: Sequence[Step]) -> list[Life]:
    start: dict[Value, int] = {}
    end: dict[Value, int] = {}
    copies = plan.copies()
    small = [v for v in plan.feeds if v is not None and plan.type_of(v).nbytes < LARGE_FEED]
    lasting = small + [copy.target for copy in copies]
    for value in lasting:
        start[value], end[value] = -1, END
    for position, step in enumerate(order):
        for value in step.outputs:
            start.setdefault(value.root, position)
        for value in (*step.inputs, *step.outputs):
            end[value.root] = max(end.get(value.root, -1), position)
    for value in [*plan.fetches, *(copy.source for copy in copies)]:
        end[value.root] = END
    scratch = [
        Life(each, each.type, each.offset, position, position)
        for position, step in enumerate(order)
        for each in plan.scratch.get(step, ())
    ]
    return scratch + [
        Life(value, plan.type_of(value), plan.offset_of(value), start[value], end[value])
        for value in start
        if value.device == device
        and value not in plan.large
        and (value in lasting or value.storage is Storage.WORKSPACE)
    ]


def _replaces(plan: Plan, order: Sequence[Step], one: Life, other: Life) -> bool:
    """Tell whether the later of two values takes the earlier's place, element by element."""
    old, new = (one, other) if one.start < other.start else (other, one)
    is_same_place = (old.offset, old.type.nbytes) == (new.offset, new.type.nbytes)
    if old.end != new.start or not is_same_place:
        return False
    step = order[new.start]
    # An input with as many elements as the output has them in the same order: broadcasting
    # has only added axes of size 1.
    n_elements = math.prod(new.type.dims)
    taken = [plan.type_of(v).dims for v in step.inputs if v.root is old.value]
    return (
        step.op.definition.elementwise is not None
        and not step.members
        and new.value in step.outputs
        and old.type.dtype.itemsize == new.type.dtype.itemsize
        and all(math.prod(dims) == n_elements for dims in taken)
    )


def _check_step(plan: Plan, step: Step) -> None:
    """A value shares bytes with another only through steps that pass its bytes on."""
    definition = step.op.definition
    if step.members:
        _check_slices(step)
        return
    passes_on = definition.is_alias or definition.access is not None
    for value in step.outputs:
        if value.root is not value:
            assert passes_on
            assert value.root is step.inputs[0].root
            assert plan.type_of(value.root).nbytes == plan.type_of(value).nbytes


def _check_slices(step: Step) -> None:
    """Slices that are alive at once are in different slots, and stay inside of their step."""
    made = [member.outputs[0] for member in step.members]
    inside = {value for value in made if value.storage is Storage.SCRATCH}
    assert set(step.outputs) == set(made) - inside
    assert not inside & set(step.inputs)
    last = {v: k for k, member in enumerate(step.members) for v in member.inputs}
    for k, value in enumerate(made):
        for value_before in made[:k]:
            if {value, value_before} <= inside and value.slot == value_before.slot:
                assert last[value_before] <= k
                if last[value_before] == k:
                    assert value_before.dtype.itemsize == value.dtype.itemsize
