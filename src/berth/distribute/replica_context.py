"""The current strategy of a thread, and whether it computes for one replica or for all.

A thread is in the *cross-replica context* inside `Strategy.scope()`, in a *replica context*
inside of the function that `Strategy.run` calls, and otherwise in the replica context of the
default strategy, which has one replica.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from berth.autodiff.custom_gradient import custom_gradient
from berth.blocks import FunctionBlock, Stack, Use
from berth.graph.nest import flatten, pack_sequence_as
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.compose import convert
from berth.public import public_v2

if TYPE_CHECKING:
    from berth.distribute.strategy import Strategy


@public_v2("distribute.ReduceOp")
class ReduceOp(Enum):
    """How the values of replicas are combined: SUM or MEAN."""

    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def _missing_(cls, value: object) -> ReduceOp | None:
        named = str(value).upper()
        return next((op for op in cls if op.value == named), None)


class _Place(NamedTuple):
    """Where a thread is: in the scope of a strategy, or in a replica of it."""

    strategy: Strategy
    replica: ReplicaContext | None
    """None in the cross-replica context."""


class _Places(threading.local):
    def __init__(self) -> None:
        self.stack: Stack[_Place] = Stack()
        self.updated: Stack[int] = Stack()
        """The replicas whose copies of variables `StrategyExtended.update` is changing."""
        self.chosen: _Place | None = None
        """What `experimental_set_strategy` has set."""


class _Default:
    """The strategy that is in effect where there is no scope; `strategy` sets it."""

    strategy: Strategy
    replica: ReplicaContext


_places = _Places()


def set_default(strategy: Strategy, replica: ReplicaContext) -> None:
    """Set the strategy that is in effect where there is no scope."""
    _Default.strategy, _Default.replica = strategy, replica


def _place() -> _Place:
    if _places.stack:
        return _places.stack.innermost
    return _places.chosen or _Place(_Default.strategy, _Default.replica)


def enter(use: Use, strategy: Strategy, replica: ReplicaContext | None = None) -> Strategy:
    """Enter a replica, or the cross-replica context of a strategy, in a block."""
    use.set(_places.stack, _Place(strategy, replica))
    return strategy


def cross_replica(strategy: Strategy) -> FunctionBlock[Strategy]:
    """Enter the cross-replica context of a strategy for a block."""
    return FunctionBlock(enter, strategy)


def in_replica(replica: ReplicaContext) -> FunctionBlock[Strategy]:
    """Enter a replica for a block."""
    return FunctionBlock(enter, replica.strategy, replica)


def updating(number: int) -> FunctionBlock[None]:
    """Let distributed variables stand for the copy of one replica, in a block."""
    return FunctionBlock(_begin_update, number)


def _begin_update(use: Use, number: int) -> None:
    use.set(_places.updated, number)


def updated_replica() -> int | None:
    """Return the number of the replica whose copies are being changed, if any are."""
    return _places.updated.innermost if _places.updated else None


@public_v2("distribute.get_strategy")
def get_strategy() -> Strategy:
    """Return the strategy that is in effect; where there is none, the default one."""
    return _place().strategy


@public_v2("distribute.has_strategy")
def has_strategy() -> bool:
    """Tell whether a strategy other than the default one is in effect."""
    return get_strategy() is not _Default.strategy


@public_v2("distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Tell whether this thread computes for all replicas, and not for one."""
    return _place().replica is None


@public_v2("distribute.get_replica_context")
def get_replica_context() -> ReplicaContext | None:
    """Return the replica that the program is in; None in the cross-replica context."""
    return _place().replica


@public_v2("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Set the strategy of this thread, without a scope; None sets the default one again."""
    if _places.stack:
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    _places.chosen = None if strategy is None else _Place(strategy, None)


def require_cross_replica(strategy: Strategy) -> None:
    """Raise RuntimeError in a replica of a strategy, or in the scope of another one."""
    place = _place()
    if place.replica is _Default.replica:
        return
    if place.strategy is not strategy:
        raise RuntimeError(
            f"Mixing different tf.distribute.Strategy objects: {place.strategy} is not "
            f"{strategy}"
        )
    if place.replica is not None:
        raise RuntimeError(
            "Method requires being in cross-replica context, use "
            "get_replica_context().merge_call()"
        )


@public_v2("distribute.ReplicaContext")
class ReplicaContext:
    """One replica, as what runs in it sees it."""

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group

    @property
    def strategy(self) -> Strategy:
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are combined."""
        return self._strategy.num_replicas_in_sync

    @property
    def number(self) -> int:
        """The number of this replica, from 0, as a Python number."""
        return int(self._replica_id)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, from 0."""
        return self._replica_id

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that it runs on."""
        return (self._strategy.extended.worker_devices[self.number],)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function once for all replicas, with the arguments of each as one value."""
        self.require_here()
        with cross_replica(self._strategy):
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    def require_here(self) -> None:
        """Raise RuntimeError unless the program is in this replica."""
        place = _place()
        if place.replica is None:
            raise RuntimeError("Need to be inside `ReplicaContext`.")
        if place.replica is not self:
            raise RuntimeError("Mismatching ReplicaContext.")

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Combine a value, or a structure of them, over all replicas."""
        op = ReduceOp(reduce_op)
        leaves = [_as_tensor(leaf) for leaf in flatten(value)]
        if any(isinstance(leaf, IndexedSlices) for leaf in leaves):
            return pack_sequence_as(value, self._reduced(op, leaves))

        @custom_gradient
        def reduce(*tensors: Any) -> Any:
            def gradient(*grads: Any) -> Any:
                return self._reduced(op, list(grads))

            return self._reduced(op, list(tensors)), gradient

        return pack_sequence_as(value, reduce(*leaves))

    def _reduced(self, op: ReduceOp, leaves: Sequence[Any]) -> list[Any]:
        def reduce(strategy: Strategy, *values: Any) -> list[Any]:
            return strategy.extended.batch_reduce_to(op, [(each, each) for each in values])

        return list(self.merge_call(reduce, leaves))

    def all_gather(self, value: Any, axis: Any, options: Any = None) -> Any:
        """Concatenate a value, or each of a structure, over all replicas."""
        leaves = [convert(leaf) for leaf in flatten(value)]

        def gather(strategy: Strategy, *values: Any) -> list[Any]:
            return [strategy.extended.gather_to(each, each, axis) for each in values]

        return pack_sequence_as(value, self.merge_call(gather, leaves))


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, IndexedSlices) else convert(value)
