"""tf.data.Options: how a pipeline may be executed.

They are accepted and kept. Of what they allow, berth does nothing by itself that would change
the order of elements; threads it chooses as `prefetch` and `map` ask for them.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from berth.public import public


@public("data.experimental.AutoShardPolicy")
class AutoShardPolicy(IntEnum):
    """How a dataset is divided among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


@public("data.experimental.ExternalStatePolicy")
class ExternalStatePolicy(Enum):
    """What is done about functions whose state is outside of the dataset."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Settings:
    """Settings that are None until they are set; a name that does not exist is an error."""

    _names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self)})"


@public("data.ThreadingOptions")
@public("data.experimental.ThreadingOptions")
class ThreadingOptions(_Settings):
    """How many threads a pipeline may use."""

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


@public("data.experimental.AutotuneOptions")
class AutotuneOptions(_Settings):
    """How a pipeline chooses what it was asked to choose."""

    _names = (
        "autotune_algorithm",
        "cpu_budget",
        "enabled",
        "initial_parallelism",
        "ram_budget",
    )


@public("data.experimental.OptimizationOptions")
class OptimizationOptions(_Settings):
    """Which stages may be joined."""

    _names = (
        "apply_default_optimizations",
        "autotune",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "map_vectorization",
        "noop_elimination",
        "parallel_batch",
        "shuffle_and_repeat_fusion",
        "warm_start",
    )


@public("data.experimental.DistributeOptions")
class DistributeOptions(_Settings):
    """How a dataset is divided among devices and workers."""

    _names = ("auto_shard_policy", "num_devices")
    auto_shard_policy = AutoShardPolicy.AUTO


@public("data.Options")
class Options(_Settings):
    """How a dataset may be executed.

    >>> options = Options()
    >>> options.deterministic = False
    """

    _names = (
        "autotune",
        "dataset_name",
        "deterministic",
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_threading",
        "experimental_warm_start",
        "framework_type",
        "threading",
    )

    def __init__(self) -> None:
        self.autotune = AutotuneOptions()
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = OptimizationOptions()
        self.threading = self.experimental_threading = ThreadingOptions()

    def merge(self, options: Options) -> Options:
        """Return options in which those of another are set on top of these."""
        merged = Options()
        for source in (self, options):
            for name, value in vars(source).items():
                if isinstance(value, _Settings):
                    vars(vars(merged)[name]).update(vars(value))
                elif value is not None:
                    setattr(merged, name, value)
        return merged
