"""Liveness, the last pass over the structure of plans: which values share bytes, and how long.

Invariants:
  1. The bytes of a value are free after the last step that needs it, or an alias of it.
  2. Memory that another device writes or reads (both ends of a copy), that the caller
     fills, or receives, is used for nothing else in the plan.
  3. What is read from a variable stays what it was: if the variable is written while the
     value is still needed, the value has bytes of its own.
"""

from __future__ import annotations

from berth.graph.operation import Operation
from berth.ops.opdef import Access
from berth.plan.partition import HOST
from berth.plan.structure import Step, Storage, Structure, Value

END = 2**60
"""The position after all steps."""
_WRITES = (Access.ASSIGN, Access.UPDATE)


def find_lifetimes(structure: Structure, *, stays: bool) -> None:
    """Number the steps of each device, and find out which values die after each.

    `stays`: whether what is fetched stays on its device.
    """
    n_before: dict[int, int] = {}
    for stage in structure.stages:
        start = n_before.get(stage.device, 0)
        n_before[stage.device] = start + len(stage.steps)
        for position, step in enumerate(stage.steps, start):
            step.position = position
            for member in step.members:
                member.position = position
    _find_parents(structure)
    _find_last_uses(structure)
    has_variables = any(value.variable is not None for value in structure.sources)
    if has_variables:
        _keep_what_was_read(structure)
    _find_roots(structure)
    _find_storage(structure, stays)
    if has_variables:
        structure.must_be_initialized = _read_before_written(structure)
    for step in structure.steps:
        _find_uses_of_workspace(step)
        if step.has_scratch:  # its outputs may be strings, which are elsewhere
            structure.workspaces.setdefault(step.device, [])
    for value in _values_in_workspaces(structure):
        structure.workspaces.setdefault(value.device, []).append(value)


def _find_parents(structure: Structure) -> None:
    """Let outputs share the bytes of their input, where a step only passes them on."""
    for step in structure.steps:
        definition = step.op.definition
        if not step.outputs or step.members or step.is_known:
            continue
        is_reference = step.outputs[0].tensor.dtype.is_ref
        if (
            definition.is_alias
            or definition.access is Access.READ
            or (definition.access in _WRITES and is_reference)
        ):
            step.outputs[0].root = step.inputs[0]


def _find_last_uses(structure: Structure) -> None:
    arriving = [copy.target for copy in structure.copies]
    for value in (*structure.feeds, *structure.sources, *arriving):
        if value is not None:
            value.last_use = END
    for step in structure.steps:
        position = step.position
        for value in step.outputs:
            if value.copies:
                value.last_use = END
            elif value.last_use < position:
                value.last_use = position
        for value in step.inputs:
            value.last_use = max(value.last_use, position)
    for value in structure.fetches:
        value.last_use = END
    for step in reversed(structure.steps):  # an alias keeps what it is an alias of
        for value in step.outputs:
            if value.root is not value:
                value.root.last_use = max(value.root.last_use, value.last_use)


def _keep_what_was_read(structure: Structure) -> None:
    """Give a value that was read from a variable bytes of its own, if it has to outlive
    the variable's."""
    writes: dict[Operation, list[int]] = {}
    for step in structure.steps:
        if step.op.definition.access in _WRITES:
            for written in variables_behind(step):
                writes.setdefault(written, []).append(step.position)
    for step in structure.steps:
        variable = variable_behind(step)
        if variable not in writes or step.op.definition.access in _WRITES or not step.outputs:
            continue
        output = step.outputs[0]
        if output.root is not output and any(
            step.position < position < output.last_use for position in writes[variable]
        ):
            output.root = output


def variables_behind(step: Step) -> list[Operation]:
    """List the variables that a step reads or writes as such."""
    found = (_variable_of(value) for value in step.inputs[: step.op.definition.n_variables])
    return [variable for variable in found if variable is not None]


def variable_behind(step: Step) -> Operation | None:
    """Return the variable whose memory a step's first input is, if it is one's."""
    return None if not step.inputs or step.members else _variable_of(step.inputs[0])


def _variable_of(value: Value) -> Operation | None:
    while value.root is not value:
        value = value.root
    return value.variable


def _find_roots(structure: Structure) -> None:
    for step in structure.steps:
        for value in step.outputs:
            if value.root is not value:
                value.root = value.root.root


def _find_storage(structure: Structure, stays: bool) -> None:
    computed = [value for step in structure.steps for value in step.outputs]
    for value in (*computed, *(copy.target for copy in structure.copies)):
        if value.dtype.is_object and value.storage is Storage.WORKSPACE:
            value.storage = Storage.OBJECTS
    roots = dict.fromkeys([fetched.root for fetched in structure.fetches])
    structure.results = [
        root
        for root in roots
        if root.storage is Storage.WORKSPACE
        and root.step is not None
        and (root.device == HOST or stays)
    ]


def _read_before_written(structure: Structure) -> list[Value]:
    """List the variables whose values a plan uses before it gives them one."""
    written: set[Operation] = set()
    needed: dict[Operation, Value] = {}

    def use(value: Value) -> None:
        variable = value.root.variable
        if variable is not None and variable not in written:
            needed.setdefault(variable, value.root)

    for stage in structure.stages:
        for copy in stage.arrivals:
            use(copy.source)
        for step in stage.steps:
            access = step.op.definition.access
            skipped = 1 if access in (Access.ASSIGN, Access.QUERY) else 0
            for value in step.inputs[skipped:]:
                use(value)
            variable = variable_behind(step)
            if access is Access.ASSIGN and variable is not None:
                written.add(variable)
    for value in structure.fetches:
        use(value)
    return list(needed.values())


def _find_uses_of_workspace(step: Step) -> None:
    """Say what a step takes of its device's workspace, and what is free after it."""
    step.places = [v for v in step.outputs if v.root is v and v.storage is Storage.WORKSPACE]
    roots = dict.fromkeys([value.root for value in (*step.inputs, *step.outputs)])
    step.frees = [
        root
        for root in roots
        if root.last_use == step.position
        and root.storage is Storage.WORKSPACE
        and root.step is not None  # else others write it: it is used for nothing else
    ]
    step.has_scratch = bool(step.members) or (
        not step.is_known and step.kernel.scratch is not None
    )
    op = step.op.definition
    is_special = op.is_alias or op.is_stateful or op.access is not None
    step.is_plain = not (step.has_scratch or step.hosts or is_special)


def _values_in_workspaces(structure: Structure) -> list[Value]:
    """List what steps make, what is copied, and what is fed."""
    made = [value for step in structure.steps for value in step.places]
    targets = [copy.target for copy in structure.copies]
    moved = [value for value in targets if value.storage is Storage.WORKSPACE]
    fed = [value for value in structure.feeds if value is not None]
    return made + moved + [value for value in fed if not value.dtype.is_object]
