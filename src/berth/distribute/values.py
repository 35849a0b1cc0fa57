"""Values with a component for each replica: `PerReplica` and `Mirrored`.

A structure of results, one for each replica, is *regrouped* into one structure whose leaves
are such values; for a replica, its components are *selected* from it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.distribute.replica_context import get_replica_context
from berth.graph.nest import flatten, is_nested, map_structure, pack_sequence_as
from berth.ops.type_spec import CompositeTensor, TypeSpec, type_spec_from_value
from berth.public import public_v2


@public_v2("distribute.DistributedValues")
class DistributedValues:
    """Base class of values with a component for each replica."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The components, in the order of the replicas."""
        return self._values

    @property
    def _primary(self) -> Any:
        """The component of the first replica."""
        return self._values[0]

    @property
    def _devices(self) -> tuple[str, ...]:
        return tuple(value.device for value in self._values)

    def local(self) -> Any:
        """Return the component of the current replica; of the first, if there is none."""
        replica = get_replica_context()
        return self._values[0 if replica is None else replica.number]

    def _shown(self, show: Callable[[Any], str]) -> str:
        lines = [f"  {number}: {show(value)}" for number, value in enumerate(self._values)]
        return f"{type(self).__name__}:{{\n" + ",\n".join(lines) + "\n}"

    def __str__(self) -> str:
        return self._shown(str)

    def __repr__(self) -> str:
        return self._shown(repr)


class PerReplicaSpec(TypeSpec):
    """The type of `PerReplica`: the type of each component."""

    __slots__ = ("_specs",)

    def __init__(self, *value_specs: Any) -> None:
        self._specs = value_specs

    @property
    def value_type(self) -> Any:
        return PerReplica

    def _serialize(self) -> tuple[Any, ...]:
        return self._specs

    @property
    def _component_specs(self) -> Any:
        return list(self._specs)

    def _to_components(self, value: Any) -> Any:
        return list(value.values)

    def _from_components(self, components: Any) -> Any:
        return PerReplica(components)


@public_v2("types.experimental.distributed.PerReplica")
class PerReplica(DistributedValues, CompositeTensor):
    """A value that differs between replicas."""

    @property
    def _type_spec(self) -> PerReplicaSpec:
        return PerReplicaSpec(*map(type_spec_from_value, self._values))


@public_v2("types.experimental.distributed.Mirrored")
class Mirrored(DistributedValues):
    """A value that is the same on every replica, with a copy on the device of each."""


def regroup(structures: Sequence[Any], kind: type[DistributedValues] = PerReplica) -> Any:
    """Turn one structure for each replica into one of values with a component for each.

    What is the same object on all replicas is left as it is.

    >>> regroup([(1, "x"), (2, "x")])
    (PerReplica:{
      0: 1,
      1: 2
    }, 'x')
    """
    first = structures[0]
    leaves = zip(*map(flatten, structures), strict=True)
    return pack_sequence_as(first, [_joined(each, kind) for each in leaves])


def per_replica(structures: Sequence[Any]) -> Any:
    """Turn one structure for each replica into one of `PerReplica` values."""
    leaves = zip(*map(flatten, structures), strict=True)
    return pack_sequence_as(structures[0], [PerReplica(each) for each in leaves])


def _joined(components: Sequence[Any], kind: type[DistributedValues]) -> Any:
    first = components[0]
    containers = [getattr(each, "distributed_container", None) for each in components]
    if containers[0] is not None and len({id(each()) for each in containers if each}) == 1:
        return containers[0]()
    if len(components) > 1 and all(each is first for each in components[1:]):
        return first
    if len(components) == 1 and not isinstance(first, DistributedValues):
        return first
    return kind(components)


def select(number: int, structure: Any) -> Any:
    """Return a structure as one replica sees it: with its components only."""

    def component(leaf: Any) -> Any:
        is_plain_value = isinstance(leaf, DistributedValues) and not hasattr(leaf, "handle")
        return leaf.values[number] if is_plain_value else leaf

    return map_structure(component, structure) if is_nested(structure) else component(structure)


def select_update(number: int, structure: Any) -> Any:
    """Return a structure for the update of one replica's variables, which are selected too."""
    return map_structure(
        lambda leaf: leaf.values[number] if isinstance(leaf, DistributedValues) else leaf,
        structure,
    )
