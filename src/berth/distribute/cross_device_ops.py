"""Reductions over replicas: sums and means of values on several devices.

A *destination* is a device's name, or a value that has components on some devices: the result
is put there, on one device or mirrored on several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.distribute.replica_context import ReduceOp
from berth.distribute.values import DistributedValues, Mirrored
from berth.front.device_scope import device
from berth.ops.arrays.array import identity
from berth.ops.arrays.indexed_slices import IndexedSlices, total
from berth.ops.arrays.joining import concat
from berth.ops.compose import convert
from berth.ops.elementwise.add_n import add_n
from berth.ops.type_spec import map_components
from berth.public import public_v2


def devices_of(destinations: Any) -> tuple[str, ...]:
    """Return the names of the devices that a result is put on."""
    if isinstance(destinations, str):
        return (destinations,)
    if isinstance(destinations, DistributedValues):
        return destinations._devices
    return (destinations.device,)


def on_devices(value: Any, destinations: Any) -> Any:
    """Copy a value to devices: a tensor on one of them, or mirrored on several."""
    copies = []
    for name in devices_of(destinations):
        with device(name):
            copies.append(map_components(identity, value))
    return copies[0] if len(copies) == 1 else Mirrored(copies)


def divided(value: Any, n_replicas: int) -> Any:
    """Divide a sum by the number of replicas."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(value.values / n_replicas, value.indices, value.dense_shape)
    return value / n_replicas


@public_v2("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """Base class of ways to reduce and broadcast over replicas."""

    def reduce(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """Reduce a value over the replicas; put the result on the destinations."""
        if not isinstance(per_replica_value, DistributedValues):
            per_replica_value = DistributedValues((convert(per_replica_value),))
        return self.reduce_implementation(
            ReduceOp(reduce_op), per_replica_value, destinations, options
        )

    def batch_reduce(
        self, reduce_op: Any, value_destination_pairs: Any, options: Any = None
    ) -> list[Any]:
        """Reduce several values over the replicas."""
        return self.batch_reduce_implementation(
            ReduceOp(reduce_op), list(value_destination_pairs), options
        )

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """Copy a tensor to the destinations."""
        return self.broadcast_implementation(convert(tensor), destinations)

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """Reduce a value; classes define this."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any
    ) -> list[Any]:
        """Reduce several values: one after the other, unless a class does better."""
        return [
            self.reduce_implementation(reduce_op, value, to, options)
            for value, to in value_destination_pairs
        ]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """Copy a tensor to the destinations."""
        return on_devices(tensor, destinations)

    def gather(self, per_replica_value: Any, destinations: Any, axis: Any) -> Any:
        """Concatenate the components of a value; put the result on the destinations."""
        with device(devices_of(destinations)[0]):
            whole = concat([convert(part) for part in per_replica_value.values], axis)
        return on_devices(whole, destinations)


@public_v2("distribute.ReductionToOneDevice")
class ReductionToOneDevice(CrossDeviceOps):
    """Reduction on one device, to which all components are copied."""

    def __init__(
        self,
        reduce_to_device: Any = None,
        accumulation_fn: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or add_n

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """Reduce a value on one device, and copy the result to the destinations."""
        parts = list(per_replica_value.values)
        with device(self.reduce_to_device or devices_of(destinations)[0]):
            reduced = sum_of(parts, self.accumulation_fn)
            if reduce_op is ReduceOp.MEAN:
                reduced = divided(reduced, len(parts))
        return on_devices(reduced, destinations)


def sum_of(parts: list[Any], add: Callable[[list[Any]], Any] = add_n) -> Any:
    """Sum tensors; the slices of sparse gradients are joined."""
    if any(isinstance(part, IndexedSlices) for part in parts):
        return total([map_components(identity, part) for part in parts])
    return add([convert(part) for part in parts])
