"""ClusterSpec: the jobs of a cluster, and the network addresses of their tasks.

It describes a cluster, for `tf.compat.v1.train.replica_device_setter` and for programs that
read their part in one from it. Nothing here connects to another process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.proto.cluster import ClusterDef
from berth.public import public

Text = str | bytes


@public("train.ClusterSpec")
class ClusterSpec:
    """The jobs of a cluster: a list of addresses for each, or a dict of some by task number.

    >>> cluster = ClusterSpec({"worker": ["a:2222", "b:2222"], "ps": {1: "c:2222"}})
    >>> cluster
    ClusterSpec({'ps': {1: 'c:2222'}, 'worker': ['a:2222', 'b:2222']})
    >>> cluster.num_tasks("worker"), cluster.job_tasks("ps")
    (2, [None, 'c:2222'])
    """

    def __init__(self, cluster: Any) -> None:
        self._tasks: dict[Text, dict[int, Text]] = _read(cluster)
        _check_text(self._tasks)

    __hash__ = None  # type: ignore[assignment] # two are equal if their jobs are

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return self._tasks == (other._tasks if isinstance(other, ClusterSpec) else other)

    def __repr__(self) -> str:
        jobs = dict(sorted(self.as_dict().items(), key=lambda item: _text(item[0])))
        return f"ClusterSpec({jobs!r})"

    def as_dict(self) -> dict[Text, list[Text] | dict[int, Text]]:
        """Return the jobs: those whose tasks are numbered without a gap as lists."""
        return {
            job: [tasks[k] for k in range(len(tasks))]
            if tasks and max(tasks) + 1 == len(tasks)
            else dict(tasks)
            for job, tasks in self._tasks.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """Return the cluster as a message, its jobs sorted by name."""
        message = ClusterDef()
        for job, tasks in sorted(self._tasks.items(), key=lambda item: _text(item[0])):
            added = message.job.add(name=_text(job))
            for index, address in sorted(tasks.items()):
                added.tasks[index] = _text(address)
        return message

    @property
    def jobs(self) -> list[Text]:
        """The names of the jobs."""
        return list(self._tasks)

    def num_tasks(self, job_name: str) -> int:
        """Return how many tasks a job has."""
        return len(self._of_job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of a job's tasks, in order."""
        return sorted(self._of_job(job_name))

    def task_address(self, job_name: str, task_index: int) -> Text:
        """Return the address of a task."""
        tasks = self._of_job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[Text | None]:
        """Return the addresses of a job's tasks, None for a number that no task has."""
        tasks = self._of_job(job_name)
        return [tasks.get(index) for index in range(max(tasks) + 1)]

    def _of_job(self, job_name: str) -> dict[int, Text]:
        if job_name not in self._tasks:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._tasks[job_name]


def _read(cluster: Any) -> dict[Text, dict[int, Text]]:
    """Return the addresses by job and task number, whatever they are given as."""
    if isinstance(cluster, ClusterSpec):
        return {job: dict(tasks) for job, tasks in cluster._tasks.items()}
    if isinstance(cluster, ClusterDef):
        return {job.name: dict(job.tasks.items()) for job in cluster.job}
    if not isinstance(cluster, Mapping):
        raise TypeError(
            "`cluster` must be a dictionary mapping one or more job names to lists of network "
            "addresses, or a `ClusterDef` protocol buffer"
        )
    return {job: _read_tasks(job, tasks) for job, tasks in cluster.items()}


def _read_tasks(job: Any, tasks: Any) -> dict[int, Text]:
    if isinstance(tasks, list | tuple):
        return dict(enumerate(tasks))
    if isinstance(tasks, Mapping):
        return {int(index): address for index, address in tasks.items()}
    raise TypeError(
        f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
    )


def _check_text(jobs: Mapping[Any, Mapping[int, Any]]) -> None:
    for job, tasks in jobs.items():
        if not isinstance(job, str | bytes):
            raise TypeError(f"Job name {job!r} must be bytes or unicode")
        for address in tasks.values():
            if not isinstance(address, str | bytes):
                raise TypeError(f"Task address {address!r} must be bytes or unicode")


def _text(value: Text) -> str:
    return value.decode() if isinstance(value, bytes) else value
