"""The structure of plans: steps, values, copies and stages, whatever their shapes.

Plans of the same fetches and feeds share one structure, and differ in the shapes of their
values only. A value has a number in its structure, by which a plan has its shape and place.

    specialize   the operations that the fetches need; what is known already is folded
                 away; how shapes follow from each other         → steps, values, rules
    partition    each step on its device; a copy for each tensor and device it crosses
                 to; steps of one device that need not wait in between  → stages, copies
    fuse         chains of elementwise steps on large arrays     → steps with members
    liveness     the step after which the memory of a value is free  → roots, frees

A structure refers to devices by their position in the session. It has no arrays but constants,
no threads and no clock, and never changes once these passes are over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from berth.dtypes import DType
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.opdef import Kernel
from berth.ops.shape import Dims, Known


class ArrayType:
    """Element type and shape of an array; with its contents, if planning knows them.

    It is what shape rules see of an input (`berth.ops.opdef.Typed`). Immutable, and shared.
    """

    __slots__ = ("dims", "dtype", "nbytes", "op", "value")

    def __init__(
        self, dtype: DType, dims: Known, value: Any = None, op: Operation | None = None
    ) -> None:
        self.dtype = dtype
        self.dims = dims
        self.nbytes: int = dtype.itemsize * math.prod(dims)
        self.value = value
        self.op = op
        """What made a reference or handle of a variable: rules ask which variable it is."""


class Storage(Enum):
    """Where a value's bytes are."""

    WORKSPACE = "workspace"
    """At an offset in its device's workspace, or in memory of its own (`Plan.large`)."""
    CONSTANT = "constant"
    VARIABLE = "variable"
    FEED = "feed"
    """What the caller gave, on the host."""
    OBJECTS = "objects"
    """An array of Python objects (strings), which no arena holds."""
    SCRATCH = "scratch"
    """Inside a fused step: slices only, never the whole."""


class Value:
    """One tensor in a plan, on one device."""

    __slots__ = (
        "copies",
        "device",
        "dtype",
        "is_needed",
        "last_use",
        "number",
        "root",
        "slot",
        "step",
        "storage",
        "tensor",
        "variable",
    )

    def __init__(
        self, number: int, tensor: SymbolicTensor, dtype: DType, step: Step | None
    ) -> None:
        self.number = number
        """Its position in `Structure.types`, and in `Plan.types` and `Plan.offsets`."""
        self.tensor = tensor
        self.dtype = dtype
        self.step = step
        """What computes it; None if it is there before the run."""
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
        """The position of the last step that needs its bytes."""
        self.slot = 0
        """Inside a fused step: which of its slices it is in."""

    @property
    def op(self) -> Operation:
        return self.tensor.op


class Step:
    """One operation in a plan."""

    __slots__ = (
        "device",
        "frees",
        "has_effects",
        "has_scratch",
        "hosts",
        "inputs",
        "is_known",
        "is_needed",
        "is_plain",
        "kernel",
        "level",
        "members",
        "op",
        "outputs",
        "places",
        "position",
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
        self.has_scratch = False
        """Whether it may need memory while it runs, and then no more."""
        self.is_plain = False
        """Whether it only computes its outputs: arrays from arrays."""
        self.places: Sequence[Value] = ()
        """The outputs with bytes of their own in the workspace."""
        self.frees: Sequence[Value] = ()
        """The values whose bytes in the workspace no later step needs."""


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


class Rule(NamedTuple):
    """How the types of an operation's outputs follow from those of its inputs."""

    op: Operation
    inputs: tuple[int, ...]
    """The numbers of the values that it takes."""
    outputs: tuple[int, ...]
    """The numbers of those that it gives."""
    declared: tuple[Dims, ...]
    """The shapes that the graph gives its outputs, where the shape rule leaves them open."""
    is_folded: bool
    """Whether the outputs are computed while planning."""


class Structure:
    """What the plans of one signature have in common."""

    __slots__ = (
        "copies",
        "feeds",
        "fetches",
        "folded",
        "kinds",
        "must_be_initialized",
        "results",
        "rules",
        "sources",
        "stages",
        "steps",
        "types",
        "workspaces",
    )

    def __init__(self) -> None:
        self.types: list[ArrayType] = []
        """The type of each value, for the feed shapes that the structure was made for."""
        self.rules: list[Rule] = []
        """How types follow from those of feeds, in an order in which they can be applied."""
        self.kinds: Sequence[int] | None = None
        """For each rule a number, which alike rules share; None before it is needed."""
        self.feeds: list[Value | None] = []
        """For each feed its value; None if nothing needs it."""
        self.fetches: list[Value] = []
        self.steps: list[Step] = []
        self.stages: list[Stage] = []
        """In an order that a single thread could run them in."""
        self.copies: list[Copy] = []
        """What crosses between devices, in the order of the stages."""
        self.sources: list[Value] = []
        """The constants and variables that are used, once for each."""
        self.must_be_initialized: list[Value] = []
        """The variables whose values are used before the plan writes them."""
        self.results: list[Value] = []
        """What is computed for the caller."""
        self.workspaces: dict[int, list[Value]] = {}
        """The values in each device's workspace; feeds and results unless they are large."""
        self.folded: list[Operation] = []

    def new_value(
        self, tensor: SymbolicTensor, array_type: ArrayType, step: Step | None = None
    ) -> Value:
        """Add a value."""
        value = Value(len(self.types), tensor, array_type.dtype, step)
        self.types.append(array_type)
        return value
