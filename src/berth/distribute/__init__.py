"""``tf.distribute``: strategies, which run a step on replicas. The default one has one."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.distribute.cross_device_ops import CrossDeviceOps, ReductionToOneDevice
from berth.distribute.default_strategy import ParameterServerStrategy, TPUStrategy
from berth.distribute.distributed_dataset import DistributedDataset, DistributedIterator
from berth.distribute.inputs import InputContext, InputOptions, InputReplicationMode, RunOptions
from berth.distribute.mirrored_strategy import MirroredStrategy, MultiWorkerMirroredStrategy
from berth.distribute.one_device_strategy import OneDeviceStrategy
from berth.distribute.replica_context import (
    ReduceOp,
    ReplicaContext,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from berth.distribute.ring_all_reduce import HierarchicalCopyAllReduce, NcclAllReduce
from berth.distribute.strategy import Strategy, StrategyExtended
from berth.distribute.values import DistributedValues

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "StrategyExtended",
    "TPUStrategy",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
# --- end

_explain_missing_names(__name__, __all__)
