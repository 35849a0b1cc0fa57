"""What planning knows of the values of a run, and what it has to wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.shape import Dims


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


NOT_BLOCKED = Blocked([], [], [])
