"""MirroredStrategy: synchronous training on several devices of one computer.

Each device has a replica, with a copy of every variable and a part of every batch. Gradients
are summed over the replicas before they are applied, so that the copies stay equal.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary, ref

from berth.devices.spec import DeviceSpecV2
from berth.distribute.cross_device_ops import CrossDeviceOps, ReductionToOneDevice
from berth.distribute.distributed_dataset import DistributedDataset, DistributedElements
from berth.distribute.distributed_variable import (
    DistributedVariable,
    MirroredVariable,
    SyncOnReadVariable,
)
from berth.distribute.inputs import InputContext
from berth.distribute.replica_context import ReduceOp, require_cross_replica, updating
from berth.distribute.replica_threads import call_for_each_replica
from berth.distribute.ring_all_reduce import NcclAllReduce
from berth.distribute.strategy import Strategy, StrategyExtended, ValueContext, device_here
from berth.distribute.values import (
    DistributedValues,
    Mirrored,
    per_replica,
    regroup,
    select_update,
)
from berth.eager.mode import executing_eagerly
from berth.errors import explain
from berth.front.context import context
from berth.front.device_scope import device
from berth.functions.function import Function
from berth.graph.nest import is_nested
from berth.public import public_v2
from berth.variables.variable import VariableSynchronization

_log = logging.getLogger("berth")


def canonical_name(name: str) -> str:
    """Return the full name of a device of this computer.

    >>> canonical_name("GPU:1")
    '/job:localhost/replica:0/task:0/device:GPU:1'
    """
    text = name if name.startswith("/") else f"/device:{name}" if ":" in name else name
    spec = DeviceSpecV2.from_string(text)
    whole = DeviceSpecV2(job="localhost", replica=0, task=0, device_type="CPU", device_index=0)
    if spec.device_index is None and spec.device_type is not None:
        spec = spec.replace(device_index=0)
    return whole.make_merged_spec(spec).to_string()


def all_devices() -> list[str]:
    """Return the names of all GPUs; of the CPUs, where there is no GPU."""
    opened = context().opened()
    gpus = [each.name for each in opened if not each.is_host]
    return gpus or [each.name for each in opened]


class MirroredExtended(StrategyExtended):
    """A mirrored strategy, for libraries."""

    def __init__(
        self, container_strategy: Strategy, devices: Sequence[str] | None, reduction: Any
    ) -> None:
        super().__init__(container_strategy)
        names = tuple(canonical_name(name) for name in devices or all_devices())
        assert len(set(names)) == len(names), (
            f"No duplicates allowed in `devices` argument: {names}"
        )
        self._devices = names
        self._functions: WeakKeyDictionary[Function, Function] = WeakKeyDictionary()
        """For each function that was run eagerly, one that runs it in all replicas."""
        self._warn_of_missing()
        self._cross_device_ops: CrossDeviceOps = reduction or self._choose_reduction()
        _log.info("Using MirroredStrategy with devices %s", names)

    def _warn_of_missing(self) -> None:
        there = {each.name for each in context().opened()}
        missing = [name for name in self._devices if name not in there]
        if missing:
            _log.warning(
                "Some requested devices in `tf.distribute.Strategy` are not visible to "
                "TensorFlow: %s",
                ",".join(missing),
            )

    def _choose_reduction(self) -> CrossDeviceOps:
        """Choose as TensorFlow does: NCCL's ring for GPUs that are not parts of one card."""
        opened = {each.name: each for each in context().opened()}
        found = [opened[name] for name in self._devices if name in opened]
        if any(each.is_host for each in found):
            _log.warning(
                "There are non-GPU devices in `tf.distribute.Strategy`, not using nccl "
                "allreduce."
            )
            return ReductionToOneDevice()
        if len({id(each.hardware) for each in found}) < len(found):
            _log.warning(
                "NCCL is not supported when using virtual GPUs, fallingback to reduction to "
                "one device"
            )
            return ReductionToOneDevice()
        return NcclAllReduce()

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._devices

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function in each replica; return its values.

        Of a `tf.function` one graph is made for all replicas, so that they can meet in it.
        """
        if not executing_eagerly():
            fn = fn.python_function if isinstance(fn, Function) else fn
        elif isinstance(fn, Function):
            return self._function_for_all(fn)(*args, **(kwargs or {}))
        else:
            context().log_once(
                "Using MirroredStrategy eagerly has significant overhead currently. We will be "
                "working on improving this in the future, but for now please wrap "
                "`call_for_each_replica` or `experimental_run` or `run` inside a tf.function "
                "to get the best performance."
            )
        return call_for_each_replica(self._strategy, self._devices, fn, args, kwargs or {})

    def _function_for_all(self, fn: Function) -> Function:
        """Return a function that runs another one in each replica."""
        found = self._functions.get(fn)
        if found is None:
            weak = ref(fn)  # or the dictionary would keep it

            def run_replicas(*args: Any, **kwargs: Any) -> Any:
                return self.call_for_each_replica(weak(), args, kwargs)  # type: ignore[arg-type]

            found = self._functions.setdefault(fn, Function(run_replicas))
        return found

    # --- variables ------------------------------------------------------------------------

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Create a variable with a copy on each device; the others start as the first."""
        chosen = options.get("synchronization") or VariableSynchronization.AUTO
        if chosen is VariableSynchronization.NONE:
            raise ValueError(
                "`NONE` variable synchronization mode is not supported with "
                "tf.distribute strategy. Please change the `synchronization` for "
                f"variable: {options.get('name')}"
            )
        is_on_read = chosen is VariableSynchronization.ON_READ
        if is_on_read:
            if options.get("trainable"):
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only "
                    "for non-trainable variables. You have specified trainable=True and "
                    "synchronization=VariableSynchronization.ON_READ."
                )
            options["trainable"] = False
        kind = SyncOnReadVariable if is_on_read else MirroredVariable
        copies: list[Any] = []
        name = options.get("name") or "Variable"
        for number, place in enumerate(self._devices):
            if copies:
                options["initial_value"] = copies[0].as_tensor
                options["name"] = f"{name}/replica_{number}"
            with device(place):
                copies.append(next_creator(**options))
        return kind(self._strategy, copies, options)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Place the variables of a block where another is: they are on all devices anyway."""
        return nullcontext()

    def variable_created_in_scope(self, v: Any) -> bool:
        """Tell whether a variable was created under this strategy."""
        return getattr(v, "distribute_strategy", None) is self._strategy

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call a function with each copy of a variable, on its device, to change it."""
        require_cross_replica(self._strategy)
        assert isinstance(var, DistributedVariable), f"{var!r} is not distributed"
        results = []
        for number, copy in enumerate(var.values):
            own_args, own_kwargs = select_update(number, (tuple(args), dict(kwargs or {})))
            with device(copy.device), updating(number):
                results.append(fn(copy, *own_args, **own_kwargs))
        joined = regroup(results, Mirrored)
        return joined if group else self.local_results(joined)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call a function for each device, to change what is no variable of the strategy."""
        results = []
        for number, place in enumerate(self._devices):
            own_args, own_kwargs = select_update(number, (tuple(args), dict(kwargs or {})))
            with device(place):
                results.append(fn(*own_args, **own_kwargs))
        joined = regroup(results, Mirrored)
        return joined if group else self.local_results(joined)

    # --- values of replicas ---------------------------------------------------------------

    def local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the replicas, one after the other."""
        if not is_nested(value):
            return value.values if isinstance(value, DistributedValues) else (value,)
        return tuple(select_update(number, value) for number in range(len(self._devices)))

    def reduce_to(
        self, reduce_op: Any, value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """Combine the values of the replicas; put the result on the destinations."""
        require_cross_replica(self._strategy)
        op = ReduceOp(reduce_op)
        if not isinstance(value, DistributedValues) or isinstance(value, Mirrored):
            return self._reduce_equal(op, value, destinations)
        return self._cross_device_ops.reduce(op, value, destinations)

    def _reduce_equal(self, op: ReduceOp, value: Any, destinations: Any) -> Any:
        """Combine values that are the same on all replicas, as their mean is."""
        if op is ReduceOp.MEAN:
            return value
        if isinstance(value, Mirrored):
            return self._cross_device_ops.reduce(op, value, destinations)
        if len(self._devices) == 1 or (isinstance(value, int | float) and value == 0):
            return value
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given reduce op "
            f"{op}."
        )

    def reduce_here(self, reduce_op: ReduceOp, value: Any) -> Any:
        """Combine the values of the replicas, on the device that is requested here."""
        reduced = self.reduce_to(reduce_op, value, device_here())
        return reduced.values[0] if isinstance(reduced, DistributedValues) else reduced

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Copy a value to the destinations."""
        if isinstance(tensor, int | float):
            return tensor
        return self._cross_device_ops.broadcast(tensor, destinations)

    def gather_to(self, value: Any, destinations: Any, axis: Any) -> Any:
        """Concatenate the values of the replicas; put the result on the destinations."""
        if not isinstance(value, DistributedValues):
            value = DistributedValues([value] * len(self._devices))
        return self._cross_device_ops.gather(value, destinations, axis)

    def value_container(self, value: Any) -> Any:
        """Return the variable that has this as one of its copies."""
        container = getattr(value, "distributed_container", None)
        return value if container is None else container()

    # --- input ----------------------------------------------------------------------------

    def distribute_dataset(self, dataset: Any, options: Any) -> Any:
        """Divide each batch of a dataset among the replicas."""
        return DistributedDataset(dataset, self._devices, DistributedElements.PARTS_OF_BATCH)

    def datasets_from_function(self, dataset_fn: Callable[..., Any], options: Any) -> Any:
        """Return the dataset that a function makes, whose elements are for single replicas."""
        made = dataset_fn(InputContext(1, 0, len(self._devices)))
        return DistributedDataset(made, self._devices, DistributedElements.WHOLE_BATCHES)

    def values_from_function(self, value_fn: Callable[..., Any]) -> Any:
        """Return the values that a function makes, one for each replica."""
        n_replicas = len(self._devices)
        made = []
        for number, place in enumerate(self._devices):
            with device(place):
                made.append(value_fn(ValueContext(number, n_replicas)))
        return per_replica(made)


@public_v2("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Synchronous training on several devices, by default on all visible GPUs."""

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        super().__init__(MirroredExtended(self, devices, cross_device_ops))


@public_v2(
    "distribute.MultiWorkerMirroredStrategy",
    "distribute.experimental.MultiWorkerMirroredStrategy",
)
class MultiWorkerMirroredStrategy(MirroredStrategy):
    """Synchronous training on several computers; with one, it is `MirroredStrategy`."""

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        n_workers = _n_workers(cluster_resolver)
        if n_workers > 1:
            raise NotImplementedError(
                explain(
                    f"MultiWorkerMirroredStrategy with {n_workers} workers is not there.",
                    "berth trains on one computer.",
                    "Leave TF_CONFIG out, or give it one worker: it is MirroredStrategy then.",
                )
            )
        super().__init__()


def _n_workers(cluster_resolver: Any) -> int:
    """Count the workers that a resolver, or else TF_CONFIG in the environment, lists."""
    if cluster_resolver is not None:
        cluster = cluster_resolver.cluster_spec().as_dict()
    else:
        cluster = json.loads(context().cluster_config() or "{}").get("cluster", {})
    return sum(len(cluster.get(job, ())) for job in ("chief", "worker"))
