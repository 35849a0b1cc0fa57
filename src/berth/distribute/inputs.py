"""Options of the input of replicas, and what a function that makes datasets is given."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from berth.public import public_v2


@public_v2("distribute.InputReplicationMode")
class InputReplicationMode(Enum):
    """How a function that makes datasets is called: once for each worker, or replica."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@public_v2("distribute.InputOptions")
class InputOptions(NamedTuple):
    """Options of distributed datasets."""

    experimental_fetch_to_device: Any = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


@public_v2("distribute.RunOptions")
class RunOptions(NamedTuple):
    """Options of `Strategy.run`."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


@public_v2("distribute.InputContext")
class InputContext:
    """What a function that makes a dataset is told: for which part of the replicas it is."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return a replica's part of a batch; ValueError if it does not divide.

        >>> InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(8)
        4
        """
        n_replicas = self.num_replicas_in_sync
        if global_batch_size % n_replicas != 0:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {n_replicas!r} "
            )
        return global_batch_size // n_replicas

    def __repr__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: "
            f"{self.num_input_pipelines})"
        )


@public_v2(
    "distribute.experimental.CommunicationImplementation",
    "distribute.experimental.CollectiveCommunication",
)
class CommunicationImplementation(Enum):
    """The library that carries collective communication; without effect on one computer."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@public_v2("distribute.experimental.CommunicationOptions")
class CommunicationOptions(NamedTuple):
    """Options of collective communication between computers; without effect on one."""

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: CommunicationImplementation = CommunicationImplementation.AUTO
