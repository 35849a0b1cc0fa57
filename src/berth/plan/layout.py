"""Liveness and memory layout, the last pass of planning: an offset for every value.

Every device has one workspace. A value has its bytes there from the step that makes them
to the last that takes them, and other values may have the same bytes before and after. An
elementwise step writes over an input that no later step reads.

Invariants:
  1. Values whose lives overlap do not overlap in memory, unless one is the other's alias,
     or takes its place element by element.
  2. Memory that another device writes or reads (both ends of a copy), that the caller
     fills, or receives, is used for nothing else in the plan.
  3. What is read from a variable stays what it was: if the variable is written while the
     value is still needed, the value has bytes of its own.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from berth.dtypes import string, uint8
from berth.graph.operation import Operation
from berth.ops.dispatch import scratch_types
from berth.ops.opdef import Access
from berth.plan.fuse import slice_scratch_bytes
from berth.plan.partition import HOST, value_bytes
from berth.plan.plan import Plan, Step, Storage, Value

ALIGNMENT = 64
LARGE = 2**16
"""From so many bytes on, fetches are written where the caller gets them, and not copied."""
LARGE_FEED = 2**19
"""From so many bytes on, feeds are used where they are: binding the calls that read them again
takes as long as copying so much."""
IN_PLACE = 2**14
"""From so many bytes on, a step writes over its input: NumPy takes longer to see that this
is safe than to write a small array elsewhere."""
END = 2**60
"""The position after all steps."""
_WRITES = (Access.ASSIGN, Access.UPDATE)


def lay_out(plan: Plan, n_devices: int, n_threads: int) -> None:
    """Give every value its place, and every device its workspace."""
    orders: list[list[Step]] = [[] for _ in range(n_devices)]
    for stage in plan.stages:
        orders[stage.device] += stage.steps
    for order in orders:
        for position, step in enumerate(order):
            step.position = position
            for member in step.members:
                member.position = position
    _find_parents(plan)
    _find_last_uses(plan)
    has_variables = any(value.variable is not None for value in plan.sources)
    if has_variables:
        _keep_what_was_read(plan)
    _find_roots(plan)
    _find_homes(plan)
    if has_variables:
        plan.must_be_initialized = _read_before_written(plan)
    for device, order in enumerate(orders):
        size = _Workspace(n_threads).fill(plan, device, order)
        if size:
            plan.workspace_bytes[device] = size


def _find_parents(plan: Plan) -> None:
    """Let outputs share the bytes of their input, where a step only passes them on."""
    for step in plan.steps:
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


def _find_last_uses(plan: Plan) -> None:
    for value in (*plan.feeds, *plan.sources, *(copy.target for copy in plan.copies())):
        if value is not None:
            value.last_use = END
    for step in plan.steps:
        position = step.position
        for value in step.outputs:
            if value.copies:
                value.last_use = END
            elif value.last_use < position:
                value.last_use = position
        for value in step.inputs:
            value.last_use = max(value.last_use, position)
    for value in plan.fetches:
        value.last_use = END
    for step in reversed(plan.steps):  # an alias keeps what it is an alias of
        for value in step.outputs:
            if value.root is not value:
                value.root.last_use = max(value.root.last_use, value.last_use)


def _keep_what_was_read(plan: Plan) -> None:
    """Give a value that was read from a variable bytes of its own, if it has to outlive
    the variable's."""
    writes: dict[Operation, list[int]] = {}
    for step in plan.steps:
        if step.op.definition.access in _WRITES:
            for written in variables_behind(step):
                writes.setdefault(written, []).append(step.position)
    for step in plan.steps:
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


def _find_roots(plan: Plan) -> None:
    for step in plan.steps:
        for value in step.outputs:
            if value.root is not value:
                value.root = value.root.root


def _find_homes(plan: Plan) -> None:
    for step in plan.steps:
        for value in step.outputs:
            value.nbytes = value_bytes(value)
            if value.dtype.is_object and value.storage is Storage.WORKSPACE:
                value.storage = Storage.OBJECTS
        for member in step.members:
            member.outputs[0].nbytes = value_bytes(member.outputs[0])
    for copy in plan.copies():
        copy.target.nbytes = value_bytes(copy.target)
        copy.target.storage = (
            Storage.OBJECTS if copy.target.dtype.is_object else Storage.WORKSPACE
        )
    for given in (*plan.feeds, *plan.sources):
        if given is not None:
            given.nbytes = value_bytes(given)
    for fetched in plan.fetches:
        root = fetched.root
        is_ours = root.storage is Storage.WORKSPACE and root.step is not None
        is_given = root.device == HOST or plan.request.stays
        if is_given and is_ours and root.nbytes >= LARGE:
            root.storage = Storage.FETCH


def _read_before_written(plan: Plan) -> list[Value]:
    """List the variables whose values the plan uses before it gives them one."""
    written: set[Operation] = set()
    needed: dict[Operation, Value] = {}

    def use(value: Value) -> None:
        variable = value.root.variable
        if variable is not None and variable not in written:
            needed.setdefault(variable, value.root)

    for stage in plan.stages:
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
    for value in plan.fetches:
        use(value)
    return list(needed.values())


class _Workspace:
    """The memory of one device, filled step by step."""

    def __init__(self, n_threads: int) -> None:
        self._blocks = Blocks()
        self._n_threads = n_threads

    def fill(self, plan: Plan, device: int, order: Sequence[Step]) -> int:
        """Place the values of one device; return how many bytes that takes."""
        for value in _shared_with_others(plan, device):
            self._place(value)
        for step in order:
            self._place_outputs(step)
            self._free_dead(step)
        return self._blocks.end

    def _place(self, value: Value) -> None:
        value.offset = self._blocks.take(value.nbytes)

    def _place_outputs(self, step: Step) -> None:
        for value in step.outputs:
            if value.root is not value or value.storage is not Storage.WORKSPACE:
                continue
            over = _replaceable(step, value)
            if over is not None:
                value.offset = over.offset
                over.last_use = -1  # its bytes are the output's now
            else:
                self._place(value)
        step.scratch = scratch = self._scratch_of(step)
        if scratch:
            for value in scratch:
                self._place(value)
            for value in scratch:
                self._blocks.free(value.offset, value.nbytes)

    def _scratch_of(self, step: Step) -> Sequence[Value]:
        """List the memory that a step needs while it runs, and then no more."""
        if step.members:
            n_bytes = self._n_threads * slice_scratch_bytes(step, self._n_threads)
            wanted: list[Any] = [(uint8, (n_bytes,))]
        elif step.is_known or step.kernel.scratch is None:
            return ()
        else:
            types = [(value.dtype, value.dims) for value in step.outputs]
            attrs, n_threads = step.op.attrs, self._n_threads
            wanted = [*scratch_types(step.kernel, step.inputs, types, attrs, n_threads)]
        scratch = []
        for dtype, dims in wanted:
            owner = (*step.op.outputs, *step.op.inputs)[0]  # an update may have no output
            value = Value(owner, dtype, dims, step)
            value.device = step.device
            value.nbytes = value_bytes(value)
            scratch.append(value)
        return scratch

    def _free_dead(self, step: Step) -> None:
        for values in (step.inputs, step.outputs):
            for value in values:
                root = value.root
                if (
                    root.last_use == step.position
                    and root.storage is Storage.WORKSPACE
                    and _is_own(root)
                ):
                    self._blocks.free(root.offset, root.nbytes)
                    root.last_use = -1


def _shared_with_others(plan: Plan, device: int) -> list[Value]:
    """List what others write: small feeds, and copies that come in."""
    feeds = [v for v in plan.feeds if v is not None and v.device == device]
    small = [v for v in feeds if v.nbytes < LARGE_FEED and v.dtype is not string]
    targets = [copy.target for copy in plan.copies() if copy.target.device == device]
    return small + [target for target in targets if target.storage is Storage.WORKSPACE]


def _replaceable(step: Step, output: Value) -> Value | None:
    """Find an input whose bytes an elementwise step may take for its output."""
    if step.op.definition.elementwise is None or step.members or output.nbytes < IN_PLACE:
        return None
    for value in step.inputs:
        root = value.root
        if (
            root.last_use == step.position
            and root.storage is Storage.WORKSPACE
            and root.nbytes == output.nbytes
            and value.dims == output.dims
            and root.dtype.itemsize == output.dtype.itemsize
            and _is_own(root)
        ):
            return root
    return None


def _is_own(value: Value) -> bool:
    """Tell whether the plan itself made a value, in memory that it may use again."""
    return value.step is not None


class Blocks:
    """Free and used ranges of a workspace: best fit, freed neighbours merge.

    Ranges of one size lie on one heap, and what was merged away is only forgotten when it
    comes up there: the cost of a range does not depend on how many there are.

    >>> blocks = Blocks()
    >>> a, b = blocks.take(100), blocks.take(64)
    >>> blocks.free(a, 100)
    >>> blocks.take(64), blocks.take(64), blocks.end
    (0, 64, 192)
    """

    def __init__(self) -> None:
        self.end = 0
        self._sizes: list[int] = []
        """The sizes that have a heap, in order."""
        self._starts_of: dict[int, list[int]] = {}
        self._size_at: dict[int, int] = {}
        """The free ranges: what is on a heap and not here is there no more."""
        self._start_of: dict[int, int] = {}
        """The free range that ends at an offset."""

    def take(self, nbytes: int) -> int:
        """Return an offset where that many bytes are free."""
        size = _rounded(nbytes)
        if size == 0:
            return 0
        start = self._best_fit(size)
        if start is None:
            return self._extend(size)
        found = self._remove(start)
        if found > size:
            self._add(start + size, found - size)
        return start

    def free(self, start: int, nbytes: int) -> None:
        """Give a range back."""
        size = _rounded(nbytes)
        if size == 0:
            return
        before = self._start_of.get(start)
        if before is not None:
            start, size = before, size + self._remove(before)
        if start + size in self._size_at:
            size += self._remove(start + size)
        self._add(start, size)

    def _best_fit(self, size: int) -> int | None:
        """Find the smallest free range that is large enough, and of those the first."""
        position = bisect_left(self._sizes, size)
        while position < len(self._sizes):
            found = self._sizes[position]
            starts = self._starts_of[found]
            while starts:
                if self._size_at.get(starts[0]) == found:
                    return starts[0]
                heappop(starts)
            del self._sizes[position], self._starts_of[found]
        return None

    def _extend(self, size: int) -> int:
        """Make the workspace larger; a free range at its end is made use of."""
        start = self._start_of.get(self.end)
        if start is None:
            start = self.end
        else:
            self._remove(start)
        self.end = start + size
        return start

    def _add(self, start: int, size: int) -> None:
        if size not in self._starts_of:
            insort(self._sizes, size)
            self._starts_of[size] = []
        heappush(self._starts_of[size], start)
        self._size_at[start] = size
        self._start_of[start + size] = start

    def _remove(self, start: int) -> int:
        """Make a free range one no more; return its size."""
        size = self._size_at.pop(start)
        del self._start_of[start + size]
        return size


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
