"""`replica_device_setter`: variables on parameter servers, everything else on a worker.

Tasks of a cluster are other processes in TensorFlow. berth has one process: the devices that
are requested here are names, for programs that print or check them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.devices.spec import DeviceSpecV2
from berth.public import public_v1
from berth.train.cluster import ClusterSpec

VARIABLES = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)
"""The types of operations that are on parameter servers by default."""


class _RoundRobin:
    """Gives the tasks of a job in turn."""

    def __init__(self, n_tasks: int) -> None:
        self._n_tasks = n_tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        task = self._next
        self._next = (task + 1) % self._n_tasks
        return task


class _DeviceSetter:
    """Chooses the device that an operation requests."""

    def __init__(
        self,
        ps_device: str | None,
        worker_device: str | None,
        ps_ops: Sequence[str],
        choose_task: Callable[[Any], int],
        *,
        merge: bool,
    ) -> None:
        self._server = DeviceSpecV2.from_string(ps_device or "") if ps_device else None
        self._worker = DeviceSpecV2.from_string(worker_device or "")
        self._ps_ops = frozenset(ps_ops)
        self._choose_task = choose_task
        self._merge = merge

    def device_function(self, op: Any) -> str:
        """Return the device for an operation, completed by what it requests already."""
        if op.device and not self._merge:
            device: str = op.device
            return device
        own = DeviceSpecV2.from_string(op.device or "")
        if self._server is None or op.type not in self._ps_ops:
            return self._worker.make_merged_spec(own).to_string()
        server = self._server
        # Without a job there are no tasks, and an operation of another job takes no turn.
        if server.job and own.job in (None, server.job):
            server = server.replace(task=self._choose_task(op))
        return server.make_merged_spec(own).to_string()


@public_v1("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str | None = "/job:ps",
    worker_device: str | None = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Device function that puts variables on parameter servers in turn; None without servers.

    >>> from types import SimpleNamespace as Node
    >>> choose = replica_device_setter(cluster={"ps": ["a:1", "b:1"], "worker": ["c:1"]})
    >>> [choose(Node(type="VarHandleOp", device="")) for _ in range(3)]
    ['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:0']
    >>> choose(Node(type="MatMul", device="/gpu:0"))
    '/job:worker/device:GPU:0'
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        job = DeviceSpecV2.from_string(ps_device or "").job
        tasks = None if job is None else jobs.get(job)
        if not tasks:
            return None
        ps_tasks = len(tasks)
    if ps_tasks == 0:
        return None
    strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    chosen = VARIABLES if ps_ops is None else ps_ops
    setter = _DeviceSetter(ps_device, worker_device, chosen, strategy, merge=merge_devices)
    return setter.device_function
