"""Memory layout, the last pass of planning: an offset for every value.

Every device has one workspace. A value has its bytes there from the step that makes them
to the last that needs them (`liveness`), and other values may have the same bytes before and
after. An elementwise step writes over an input that no later step reads.

Invariant: values whose lives overlap do not overlap in memory, unless one is the other's
alias, or takes its place element by element.
"""

from __future__ import annotations

from collections.abc import Sequence

from berth.dtypes import uint8
from berth.ops.dispatch import scratch_types
from berth.plan.fuse import slice_length, slice_scratch_bytes, sliced_elements
from berth.plan.plan import Plan, Scratch
from berth.plan.structure import ArrayType, Step, Value
from berth.plan.workspace_blocks import Blocks

LARGE = 2**16
"""From so many bytes on, fetches are written where the caller gets them, and not copied."""
LARGE_FEED = 2**19
"""From so many bytes on, feeds are used where they are: binding the calls that read them again
takes as long as copying so much."""
IN_PLACE = 2**14
"""From so many bytes on, a step writes over its input: NumPy takes longer to see that this
is safe than to write a small array elsewhere."""


def lay_out(plan: Plan, n_threads: int) -> None:
    """Give every value its place, and every device its workspace."""
    structure, types = plan.structure, plan.types
    feeds = [feed for feed in plan.feeds if feed is not None]
    plan.large = frozenset(
        [value for value in structure.results if types[value.number].nbytes >= LARGE]
        + [value for value in feeds if types[value.number].nbytes >= LARGE_FEED]
    )
    layout = _Layout(plan, n_threads)
    for device in structure.workspaces:
        layout.fill(device)
    plan.offsets, plan.scratch = layout.offsets, layout.scratch


class _Layout:
    """The offsets of a plan's values, found device by device, step by step."""

    def __init__(self, plan: Plan, n_threads: int) -> None:
        self._plan = plan
        self._types = plan.types
        self._n_threads = n_threads
        self.offsets = [0] * len(plan.types)
        self.scratch: dict[Step, Sequence[Scratch]] = {}

    def fill(self, device: int) -> None:
        """Place the values of one device, and note how many bytes that takes."""
        blocks, types, offsets = Blocks(), self._types, self.offsets
        take, free = blocks.take, blocks.free
        large = self._plan.large
        for value in self._plan.structure.workspaces[device]:
            if value.step is None and value not in large:  # a feed or copy: no step makes it
                offsets[value.number] = take(types[value.number].nbytes)
        stages = [stage for stage in self._plan.stages if stage.device == device]
        for step in [step for stage in stages for step in stage.steps]:
            replaced: Value | None = None
            for value in step.places:
                number = value.number
                nbytes = types[number].nbytes
                if nbytes < IN_PLACE:
                    offsets[number] = take(nbytes)
                elif value not in large:
                    replaced = self._place_large(step, value, blocks)
            if step.has_scratch:
                self._place_scratch(step, blocks)
            for value in step.frees:
                if value is not replaced:
                    free(offsets[value.number], types[value.number].nbytes)
        if blocks.end:
            self._plan.workspace_bytes[device] = blocks.end

    def _place_large(self, step: Step, value: Value, blocks: Blocks) -> Value | None:
        """Place an output of a step, if it may in the place of an input; return that."""
        over = self._replaceable(step, value)
        if over is None:
            self.offsets[value.number] = blocks.take(self._types[value.number].nbytes)
        else:
            self.offsets[value.number] = self.offsets[over.number]
        return over

    def _replaceable(self, step: Step, output: Value) -> Value | None:
        """Find an input whose bytes an elementwise step may take for its output."""
        if step.op.definition.elementwise is None or step.members:
            return None
        types = self._types
        made = types[output.number]
        for value in step.inputs:
            root = value.root
            if (
                root in step.frees
                and types[root.number].nbytes == made.nbytes
                and types[value.number].dims == made.dims
                and root.dtype.itemsize == output.dtype.itemsize
            ):
                return root
        return None

    def _place_scratch(self, step: Step, blocks: Blocks) -> None:
        wanted = self._scratch_types(step)
        placed = [Scratch(each, blocks.take(each.nbytes)) for each in wanted]
        for each in placed:
            blocks.free(each.offset, each.type.nbytes)
        if placed:
            self.scratch[step] = placed

    def _scratch_types(self, step: Step) -> list[ArrayType]:
        """List the memory that a step needs while it runs, and then no more."""
        outputs = [self._types[value.number] for value in step.outputs]
        n_threads = self._n_threads
        if step.members:
            length = slice_length(sliced_elements(step, self._types), n_threads)
            return [ArrayType(uint8, (n_threads * slice_scratch_bytes(step, length),))]
        inputs = [self._types[value.number] for value in step.inputs]
        given = [(each.dtype, each.dims) for each in outputs]
        wanted = scratch_types(step.kernel, inputs, given, step.op.attrs, n_threads)
        return [ArrayType(dtype, dims) for dtype, dims in wanted]
