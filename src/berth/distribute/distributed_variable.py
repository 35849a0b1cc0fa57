"""Variables of strategies: a copy on the device of each replica.

A *mirrored* variable is written on all replicas alike, so its copies are equal. One that is
*synchronized on read* is written by each replica alone, and read as the sum, mean or first of
its copies.

Inside of a replica a distributed variable stands for that replica's copy.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from berth.distribute.replica_context import (
    ReduceOp,
    ReplicaContext,
    get_replica_context,
    updated_replica,
)
from berth.distribute.values import DistributedValues, Mirrored
from berth.dtypes import DType
from berth.eager.variable import Variable
from berth.front.device_scope import device
from berth.graph.nest import map_structure
from berth.ops.shape import TensorShape
from berth.variables.variable import VariableAggregation, VariableSynchronization

REDUCE_OPS = {
    VariableAggregation.SUM: ReduceOp.SUM,
    VariableAggregation.MEAN: ReduceOp.MEAN,
}


class DistributedVariable(DistributedValues, Variable):
    """A variable with a copy on the device of each replica."""

    has_creators = False

    def __init__(self, strategy: Any, copies: Sequence[Variable], options: Any) -> None:
        super().__init__(copies)
        self._strategy = strategy
        self.constraint = options.get("constraint")
        self.synchronization = self.default_synchronization
        self.aggregation = options.get("aggregation") or VariableAggregation.NONE
        container = weakref.ref(self)
        copy: Any
        for copy in copies:
            copy.distributed_container = copy._distributed_container = container
            copy.handle.variable = container
            copy.aggregation = self.aggregation
            copy.synchronization = self.synchronization

    default_synchronization = VariableSynchronization.ON_WRITE

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that it belongs to."""
        return self._strategy

    def _replica(self) -> ReplicaContext | None:
        """Return the replica of its strategy that the program is in; None outside of them."""
        replica = get_replica_context()
        return replica if replica is not None and replica.strategy is self._strategy else None

    def _own_copy(self) -> Variable | None:
        """Return the copy of the replica here, or of that which is being updated."""
        replica = self._replica()
        number = updated_replica() if replica is None else replica.number
        return None if number is None else self._values[number]

    def _local_copy(self) -> Variable:
        """Return the copy that a read means here."""
        own = self._own_copy()
        copy: Variable = self._primary if own is None else own
        return copy

    @property
    def handle(self) -> Any:  # type: ignore[override]
        return self._local_copy().handle

    @property
    def name(self) -> str:
        name: str = self._primary.name
        return name

    @property
    def _unique_id(self) -> Any:
        return self._primary._unique_id

    @property
    def dtype(self) -> DType:
        dtype: DType = self._primary.dtype
        return dtype

    @property
    def shape(self) -> TensorShape:
        shape: TensorShape = self._primary.shape
        return shape

    @property
    def trainable(self) -> bool:
        return bool(self._primary.trainable)

    def write_copies(self, method: str, values: Sequence[Any], name: str | None) -> None:
        """Write to each copy, on its device; of a distributed value, its own component."""
        for number, copy in enumerate(self._values):
            own = map_structure(lambda leaf, n=number: _component(leaf, n), list(values))
            with device(copy.device):
                copy.write(method, own, name)

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotImplementedError(
            "`DistributedDelegate.__deepcopy__` is not implemented: a variable of "
            f"{type(self._strategy).__name__} cannot be copied. Copy its value, by numpy()."
        )

    def __repr__(self) -> str:
        return DistributedValues.__repr__(self)


def _component(leaf: Any, number: int) -> Any:
    return leaf.values[number] if isinstance(leaf, DistributedValues) else leaf


class MirroredVariable(DistributedVariable, Mirrored):
    """A variable whose copies are equal: each is written with the same values."""

    def write(
        self,
        method: str,
        values: Sequence[Any],
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Change all copies; in a replica, by what its aggregation makes of all replicas."""
        own, replica = self._own_copy(), self._replica()
        if own is None:
            self.write_copies(method, values, name)
        elif replica is None or self.aggregation is VariableAggregation.NONE:
            own.write(method, values, name)
        else:
            replica.merge_call(self._write_aggregated, (method, name, *values))
        return self if read_value else None

    def _write_aggregated(self, strategy: Any, method: str, name: Any, *values: Any) -> None:
        *where, value = values
        self.write_copies(method, (*where, self._aggregated(strategy, value)), name)

    def _aggregated(self, strategy: Any, value: Any) -> Any:
        if not isinstance(value, DistributedValues):
            return self._aggregated_plain(strategy, value)
        if self.aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return strategy.extended.broadcast_to(value.values[0], self)
        return strategy.extended.reduce_to(REDUCE_OPS[self.aggregation], value, self)

    def _aggregated_plain(self, strategy: Any, value: Any) -> Any:
        """Aggregate a Python value that all replicas have written."""
        if self.aggregation is VariableAggregation.SUM:
            return value * strategy.num_replicas_in_sync
        return value


class SyncOnReadVariable(DistributedVariable):
    """A variable that each replica writes alone; reading aggregates the copies."""

    default_synchronization = VariableSynchronization.ON_READ

    def as_tensor(self) -> Any:
        """Return the value: of the replica here, or aggregated over all of them."""
        own = self._own_copy()
        if own is not None:
            return own.as_tensor()
        if self.aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return self._primary.as_tensor()
        reduce_op = REDUCE_OPS.get(self.aggregation)
        if reduce_op is None:
            raise ValueError(
                "Could not convert from `tf.VariableAggregation` VariableAggregation.NONE to"
                "`tf.distribute.ReduceOp` type"
            )
        read = DistributedValues([copy.as_tensor() for copy in self._values])
        return self._strategy.extended.reduce_here(reduce_op, read)

    value = as_tensor

    def read_value(self) -> Any:
        """Return the value."""
        return self.as_tensor()

    def _value_now(self) -> Any:
        return self.as_tensor()

    def write(
        self,
        method: str,
        values: Sequence[Any],
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Change the copy of the replica here, or all of them."""
        own = self._own_copy()
        if own is not None:
            own.write(method, values, name)
            return self if read_value else None
        *where, value = values
        if self.aggregation is VariableAggregation.SUM:
            if method != "assign":
                raise ValueError(
                    f"SyncOnReadVariable does not support `{method}` in cross-replica context "
                    "when aggregation is set to `tf.VariableAggregation.SUM`."
                )
            value = map_structure(lambda v: v / len(self._values), value)
        self.write_copies(method, (*where, value), name)
        return self if read_value else None
