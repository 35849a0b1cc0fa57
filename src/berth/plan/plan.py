"""Plans: what a run does, in which order, and where its values are.

A plan is a `Structure`, which plans for other shapes share, with the types of its values and
their places: offsets in workspaces (`layout`). It has no arrays but constants, no threads and
no clock; `run` binds it to those. It never changes once it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.shape import Known
from berth.plan.explain import explain_plan
from berth.plan.structure import ArrayType, Copy, Step, Structure, Value


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


class Scratch(NamedTuple):
    """Memory that a step needs while it runs, and then no more."""

    type: ArrayType
    offset: int


class Plan:
    """The plan of a request."""

    __slots__ = (
        "feeds",
        "fetches",
        "large",
        "offsets",
        "request",
        "scratch",
        "site",
        "stages",
        "steps",
        "structure",
        "then",
        "types",
        "work_seconds",
        "workspace_bytes",
    )

    def __init__(
        self, request: Request, site: Any, structure: Structure, types: Sequence[ArrayType]
    ) -> None:
        self.request = request
        self.site = site
        """What it was made for: devices, and how they work."""
        self.structure = structure
        self.steps, self.stages = structure.steps, structure.stages
        self.feeds, self.fetches = structure.feeds, structure.fetches
        self.types = types
        """The type of each value, by its number."""
        self.offsets: Sequence[int] = ()
        """Where each value is in its device's workspace, by its number."""
        self.scratch: Mapping[Step, Sequence[Scratch]] = {}
        self.large: frozenset[Value] = frozenset()
        """The feeds and results so large that they are not in a workspace: feeds are used
        where they are, results computed in memory of their own, which the caller gets."""
        self.workspace_bytes: dict[int, int] = {}
        """The size of the workspace on each device."""
        self.then: Sequence[Operation] = ()
        """The functional ops that run after this plan, if it is one segment of a run."""
        self.work_seconds: Mapping[int, float] = {}
        """A rough guess of the time each device will take, if there are several."""

    def type_of(self, value: Value) -> ArrayType:
        """Return the element type and shape of a value."""
        return self.types[value.number]

    def offset_of(self, value: Value) -> int:
        """Return where a value is in its device's workspace."""
        return self.offsets[value.number]

    @property
    def folded(self) -> Sequence[Operation]:
        """The operations that are computed while planning."""
        return self.structure.folded

    def copies(self) -> Sequence[Copy]:
        """List what crosses between devices."""
        return self.structure.copies

    def explain(self) -> str:
        """Tell what is done, where, in which order and why."""
        return explain_plan(self)
