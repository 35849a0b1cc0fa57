"""Strategies: how a step is run on replicas, each with a device and a part of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from berth.blocks import FunctionBlock, Use
from berth.distribute.inputs import InputContext
from berth.distribute.replica_context import (
    ReduceOp,
    ReplicaContext,
    enter,
    get_strategy,
    in_replica,
    require_cross_replica,
)
from berth.distribute.values import DistributedValues, regroup
from berth.front.context import context
from berth.front.device_scope import device
from berth.graph.graph import Graph
from berth.graph.nest import map_structure
from berth.ops.arrays.array import identity
from berth.ops.arrays.metadata import shape
from berth.ops.builder import current
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.reductions.reduction import reduce_mean, reduce_sum
from berth.public import public_v2
from berth.variables.creators import enter_creator


def device_here() -> str:
    """Return the name of the device that is requested here; of the host, if none is."""
    graph = current()
    if isinstance(graph, Graph):
        requested = graph.devices.wanted()
    else:
        requested = context().eager_scope.device_name
    return requested or context().opened()[0].name


@public_v2("distribute.StrategyExtended")
class StrategyExtended:
    """What libraries use of a strategy: Keras's optimizers, for instance.

    This one is for a single replica.
    """

    experimental_require_static_shapes = False
    experimental_between_graph = False
    experimental_should_init = True
    should_checkpoint = True
    should_save_summary = True

    def __init__(self, container_strategy: Strategy) -> None:
        self._strategy = container_strategy

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        raise RuntimeError(
            "worker_devices() method unsupported by default tf.distribute.Strategy."
        )

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that hold variables."""
        raise RuntimeError(
            "parameter_devices() method unsupported by default tf.distribute.Strategy."
        )

    def _in_multi_worker_mode(self) -> bool:
        return False

    def _use_merge_call(self) -> bool:
        """Tell whether updates have to be made in the cross-replica context."""
        return True

    def scope(self) -> AbstractContextManager[Strategy]:
        """Make the strategy the one in effect, for a block."""
        require_cross_replica(self._strategy)
        if get_strategy() is self._strategy:
            return nullcontext(self._strategy)
        return FunctionBlock(self._begin_scope)

    def _begin_scope(self, use: Use) -> Strategy:
        enter_creator(use, self.create_variable)
        return enter(use, self._strategy)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function in each replica; return its values."""
        with in_replica(ReplicaContext(self._strategy, 0)):
            return fn(*args, **(kwargs or {}))

    # --- variables ------------------------------------------------------------------------

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Create a variable of the strategy."""
        return next_creator(**options)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Place the variables of a block on the device of another."""
        name = getattr(colocate_with_variable, "device", None)
        return nullcontext() if name is None else device(name)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Tell whether a variable was created under this strategy."""
        return True

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call a function with a variable, on the device of that, to change it."""
        with device(var.device):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else self.local_results(result)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call a function that changes variables of all replicas."""
        return fn(*args, **(kwargs or {}))

    def read_var(self, v: Any) -> Any:
        """Read a variable."""
        return convert(v)

    # --- values of replicas ---------------------------------------------------------------

    def local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the replicas, one after the other."""
        return (value,)

    def reduce_to(
        self, reduce_op: Any, value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """Combine the values of the replicas; put the result on the destinations."""
        ReduceOp(reduce_op)
        return value

    def reduce_here(self, reduce_op: ReduceOp, value: Any) -> Any:
        """Combine the values of the replicas, on the device that is requested here."""
        return value

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Any, options: Any = None
    ) -> list[Any]:
        """Combine the values of the replicas, for several at once."""
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Copy a value to all replicas."""
        return tensor

    def gather_to(self, value: Any, destinations: Any, axis: Any) -> Any:
        """Concatenate the values of the replicas; put the result on the destinations."""
        return identity(value)

    def value_container(self, value: Any) -> Any:
        """Return what holds the values of all replicas of which this is one."""
        return value

    # --- input ----------------------------------------------------------------------------

    def distribute_dataset(self, dataset: Any, options: Any) -> Any:
        """Divide each batch of a dataset among the replicas."""
        return dataset

    def datasets_from_function(self, dataset_fn: Callable[..., Any], options: Any) -> Any:
        """Return the dataset that a function makes, whose elements are for single replicas."""
        return dataset_fn(InputContext())

    def values_from_function(self, value_fn: Callable[..., Any]) -> Any:
        """Return the values that a function makes, one for each replica."""
        return value_fn(ValueContext(0, 1))


@public_v2("distribute.experimental.ValueContext")
class ValueContext:
    """What a function that makes the value of a replica is given: which replica it is for."""

    def __init__(
        self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1
    ) -> None:
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            "tf.distribute.experimental.ValueContext(replica id "
            f"{self.replica_id_in_sync_group}, total replicas in sync: "
            f"{self.num_replicas_in_sync})"
        )


@public_v2("distribute.Strategy")
class Strategy:
    """A way to run a step on replicas, each with a device and a part of the batch."""

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> StrategyExtended:
        """What libraries use of it."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are combined."""
        return self._extended._num_replicas_in_sync

    @property
    def cluster_resolver(self) -> Any:
        """The resolver of its cluster; None if it has none."""
        return None

    def scope(self) -> AbstractContextManager[Strategy]:
        """Make it the strategy in effect, for a block: what is created there is distributed."""
        return self._extended.scope()

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        options: Any = None,
    ) -> Any:
        """Call a function in each replica; return its values."""
        if not isinstance(args, list | tuple):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        with self.scope():
            return self._extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: Any, value: Any, axis: Any) -> Any:
        """Combine a value over the replicas; with `axis`, over that axis of each too."""
        require_cross_replica(self)
        op = ReduceOp(reduce_op)
        if axis is None:
            return map_structure(lambda leaf: self._extended.reduce_here(op, leaf), value)
        return map_structure(lambda leaf: self._reduce_axis(op, leaf, axis), value)

    def _reduce_axis(self, op: ReduceOp, value: Any, axis: Any) -> Any:
        """Reduce a value over an axis of its components, and over these."""
        if not isinstance(value, DistributedValues) and op is ReduceOp.MEAN:
            return reduce_mean(value, axis)
        sums, sizes = [], []
        for part in self._extended.local_results(value):
            sums.append(reduce_sum(part, axis))
            sizes.append(shape(part)[axis])
        total = self._extended.reduce_here(ReduceOp.SUM, regroup(sums))
        if op is ReduceOp.SUM:
            return total
        count = self._extended.reduce_here(ReduceOp.SUM, regroup(sizes))
        return total / cast(count, total.dtype)

    def gather(self, value: Any, axis: int) -> Any:
        """Concatenate the values of the replicas."""
        require_cross_replica(self)
        return map_structure(
            lambda leaf: self._extended.gather_to(leaf, device_here(), axis), value
        )

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the replicas of this computer."""
        return self._extended.local_results(value)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Divide each batch of a dataset among the replicas."""
        return self._extended.distribute_dataset(dataset, options)

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        """Return the dataset that a function makes, which divides the batches itself."""
        return self._extended.datasets_from_function(dataset_fn, options)

    def experimental_distribute_values_from_function(self, value_fn: Any) -> Any:
        """Return the values that a function makes for each replica."""
        require_cross_replica(self)
        return self._extended.values_from_function(value_fn)
