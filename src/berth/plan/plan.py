"""Plans: the steps, copies and memory layout of a run. The passes of planning fill them in:

    specialize   the operations that the fetches need, with shapes in full; what is known
                 already is folded away                              → steps, values
    partition    each step on its device; a copy for each tensor and device it crosses to;
                 steps of one device that need not wait in between   → stages, copies
    fuse         chains of elementwise steps on large arrays         → steps with members
    layout       lifetimes, and a place for every value              → offsets, workspaces

A plan refers to devices by their position in the session, and to memory by offsets. It has
no arrays, no threads and no clock; `run` binds it to those. It never changes once it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from berth.dtypes import DType
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.opdef import Kernel
from berth.ops.shape import Known, bracketed


class Storage(Enum):
    """Where a value's bytes are."""

    WORKSPACE = "workspace"
    """At an offset in its device's workspace."""
    CONSTANT = "constant"
    VARIABLE = "variable"
    FEED = "feed"
    """What the caller gave, on the host."""
    FETCH = "fetch"
    """Memory of its own on the host, that the caller will get."""
    OBJECTS = "objects"
    """An array of Python objects (strings), which no arena holds."""
    SCRATCH = "scratch"
    """Inside a fused step: slices only, never the whole."""


class Value:
    """One tensor in a plan, on one device."""

    __slots__ = (
        "copies",
        "device",
        "dims",
        "dtype",
        "is_needed",
        "last_use",
        "nbytes",
        "offset",
        "root",
        "step",
        "storage",
        "tensor",
        "value",
        "variable",
    )

    def __init__(
        self, tensor: SymbolicTensor, dtype: DType, dims: Any, step: Step | None
    ) -> None:
        self.tensor = tensor
        self.dtype = dtype
        self.dims: Any = dims
        """The shape: known in full once the plan is made."""
        self.step = step
        """What computes it; None if it is there before the run."""
        self.value: Any = None
        """The value, if it is known while planning."""
        self.root: Value = self
        """The value whose bytes it shares; itself, if they are its own."""
        self.variable: Operation | None = None
        """The variable whose memory it is."""
        self.storage = Storage.WORKSPACE
        self.device = -1
        self.copies: dict[tuple[int, int | None], Value] | None = None
        """Its copies on other devices, if any; of a variable, for each level of stages."""
        self.is_needed = False
        self.last_use = -1
        self.offset = 0
        self.nbytes = 0

    @property
    def op(self) -> Operation:
        return self.tensor.op


class Step:
    """One operation in a plan."""

    __slots__ = (
        "device",
        "has_effects",
        "hosts",
        "inputs",
        "is_known",
        "is_needed",
        "kernel",
        "level",
        "members",
        "op",
        "outputs",
        "position",
        "scratch",
        "waits_for",
    )

    def __init__(
        self,
        op: Operation,
        inputs: list[Value],
        waits_for: Sequence[Step],
        *,
        is_known: bool = False,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.hosts = op.definition.host_positions(len(inputs))
        """The positions of the inputs whose values are known, and need no memory."""
        self.outputs: list[Value] = []
        self.waits_for = waits_for
        """Steps that must come before, though nothing is taken from them."""
        self.is_known = is_known
        """Its values are known, and nothing is to be done but to wait."""
        self.has_effects = False
        """Whether it, or something before it, changes more than its own outputs."""
        self.is_needed = False
        self.kernel: Kernel
        self.device = -1
        self.level = 0
        self.position = -1
        """Where it comes in the order of its device."""
        self.members: Sequence[Step] = ()
        """The steps that this one does slice by slice; empty for an ordinary one."""
        self.scratch: Sequence[Value] = ()


class Copy(NamedTuple):
    """One tensor crossing from one device to another, once in a run."""

    source: Value
    target: Value


class Stage:
    """Steps of one device that run without waiting for another in between."""

    __slots__ = ("arrivals", "device", "level", "steps", "waits")

    def __init__(self, device: int, level: int) -> None:
        self.device = device
        self.level = level
        self.steps: list[Step] = []
        self.arrivals: list[Copy] = []
        """The copies that come in first."""
        self.waits: list[int] = []
        """The stages of other devices that must be over first, by position in the plan."""


class Feed(NamedTuple):
    """One feed of a request: its tensor and shape."""

    tensor: SymbolicTensor
    dims: Known
    device: int = 0
    """Where it is; what a session is fed is on the host."""
    is_computed: bool = False
    """Whether an earlier part of the same run computed it: then it is what the graph says,
    and not a value of the caller's in its place."""


class Request(NamedTuple):
    """The fetches, targets and feeds of a run: the key of a plan."""

    fetches: tuple[SymbolicTensor, ...]
    targets: tuple[Operation, ...]
    feeds: tuple[Feed, ...]
    is_traced: bool = False
    """A traced run does all the work, so that there is something to see."""
    stays: bool = False
    """Whether what is fetched stays on its device, and does not come to the host."""

    @property
    def signature(self) -> Request:
        """The request, whatever the shapes of its feeds."""
        return self._replace(feeds=tuple([feed._replace(dims=()) for feed in self.feeds]))


class Plan:
    """The plan of a request."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.site: Any = None
        """What it was made for: devices, and how they work."""
        self.feeds: list[Value | None] = []
        """For each feed its value; None if nothing needs it."""
        self.fetches: list[Value] = []
        self.steps: list[Step] = []
        self.stages: list[Stage] = []
        """In an order that a single thread could run them in."""
        self.sources: list[Value] = []
        """The constants and variables that are used, once for each."""
        self.must_be_initialized: list[Value] = []
        """The variables whose values are used before the plan writes them."""
        self.workspace_bytes: dict[int, int] = {}
        """The size of the workspace on each device."""
        self.folded: list[Operation] = []
        self.then: Sequence[Operation] = ()
        """The functional ops that run after this plan, if it is one segment of a run."""
        self.work_seconds: dict[int, float] = {}
        """A rough guess of the time each device will take."""

    def copies(self) -> list[Copy]:
        """List what crosses between devices."""
        return [copy for stage in self.stages for copy in stage.arrivals]

    def explain(self) -> str:
        """Tell what is done, where, in which order and why."""
        return explain_plan(self)


def explain_plan(plan: Plan) -> str:
    """Write a plan for people, stage by stage, each operation with the reason of its place."""
    names = [device.short_name for device in plan.site.devices]
    asked = [t.name for t in plan.request.fetches] + [op.name for op in plan.request.targets]
    lines = [f"Plan for {', '.join(asked)}"]
    if plan.request.feeds:
        fed = [f"{feed.tensor.name} {bracketed(feed.dims)}" for feed in plan.request.feeds]
        lines.append(f"  fed: {', '.join(fed)}")
    if plan.folded:
        lines.append(f"  known beforehand: {', '.join(op.name for op in plan.folded)}")
    for number, stage in enumerate(plan.stages, 1):
        waits = ", ".join(str(other + 1) for other in stage.waits)
        after = f", after stage {waits}" if waits else ""
        lines.append(f"Stage {number} on {names[stage.device]}{after}")
        for source, target in stage.arrivals:
            copied = f"copy {source.tensor.name} from {names[source.device]}"
            lines.append(f"  {copied}: {target.nbytes} bytes")
        for step in stage.steps:
            lines += [f"  {line}" for line in _step_lines(plan, step)]
    for device, nbytes in sorted(plan.workspace_bytes.items()):
        lines.append(f"Workspace on {names[device]}: {nbytes} bytes")
    for op in plan.then:
        lines.append(f"Then {op.name} ({op.type}), as values decide, and what waits for it")
    return "\n".join(lines) + "\n"


def _step_lines(plan: Plan, step: Step) -> list[str]:
    if step.members:
        lines = [f"in slices, {len(step.members)} operations at a time:"]
        return lines + [
            f"  {ln}" for member in step.members for ln in _step_lines(plan, member)
        ]
    types = [f"{value.dtype.name}{bracketed(value.dims)}" for value in step.outputs]
    if step.is_known:
        types.append("known beforehand")
    head, *reasons = _reason_lines(plan, step)
    made = f" -> {', '.join(types)}" if types else ""
    return [f"{head}{made}", *reasons]


def _reason_lines(plan: Plan, step: Step) -> list[str]:
    """Say why a step is on its device; a plan outlives the placement it was made by."""
    op, device, placement = step.op, plan.site.devices[step.device], plan.site.placement
    if placement.devices.get(op) is device:
        lines: list[str] = placement.why(op).splitlines()
        return lines
    earlier = "because: planned before operations were added to the graph"
    return [f"{op.name} ({op.type}) runs on {device.short_name}", f"  {earlier}"]
