"""``tf.train.Server``: a cluster of one task, which is this process.

Its target is accepted by sessions, which run here. Nothing listens on the network, so other
tasks are refused, and each session has variables of its own.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

from berth.errors import (
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
    explain,
)
from berth.proto.server import ServerDef
from berth.public import public_v1
from berth.session.targets import add_server
from berth.train.cluster import ClusterSpec

_PROTOCOL = "grpc"
_free_ports = itertools.count(49152)
"""Numbers for servers that ask for any port: they only tell servers apart."""


@public_v1("train.Server")
class Server:
    """The only task of a cluster, in this process: its `target` is for sessions.

    >>> server = Server.create_local_server()
    >>> server.target.startswith("grpc://localhost:")
    True
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        given = server_or_cluster_def
        if isinstance(given, ServerDef):
            self._server_def = _changed(given, job_name, task_index, protocol)
        else:
            self._server_def = _described(given, job_name, task_index, protocol)
        if config is not None:
            self._server_def.default_session_config.MergeFrom(config)
        address = _own_address(self._server_def)
        port = _port_of(address) or next(_free_ports)
        self._target = f"grpc://{address.rpartition(':')[0]}:{port}"
        has_config = self._server_def.HasField("default_session_config")
        add_server(
            self._target, self._server_def.default_session_config if has_config else None
        )
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Create a server for this process alone."""
        cluster = {"localhost": ["localhost:0"]}
        return Server(cluster, protocol=_PROTOCOL, config=config, start=start)

    @property
    def server_def(self) -> ServerDef:
        """The task, as a message."""
        return self._server_def

    @property
    def target(self) -> str:
        """What sessions use the server by: ``tf.Session(server.target)``."""
        return self._target

    def start(self) -> None:
        """Do nothing: a server in this process has nothing to start."""

    def join(self) -> None:
        """Wait for the server to end, which is when the process does: for ever."""
        threading.Event().wait()


def _changed(
    given: ServerDef, job_name: str | None, task_index: int | None, protocol: str | None
) -> ServerDef:
    """Return a copy of a message, with what is not None."""
    message = ServerDef()
    message.CopyFrom(given)
    changes = {"job_name": job_name, "task_index": task_index, "protocol": protocol}
    for name, value in changes.items():
        if value is not None:
            setattr(message, name, value)
    return message


def _described(
    cluster: Any, job_name: str | None, task_index: int | None, protocol: str | None
) -> ServerDef:
    """Return the message of a task of a cluster; the only job and task need not be told."""
    try:
        spec = ClusterSpec(cluster)
    except TypeError:
        raise TypeError(
            "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
            "`tf.train.ClusterSpec`."
        ) from None
    if job_name is None:
        if len(spec.jobs) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        job_name = str(spec.jobs[0])
    if task_index is None:
        indices = spec.task_indices(job_name)
        if len(indices) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        task_index = indices[0]
    return ServerDef(
        cluster=spec.as_cluster_def(),
        job_name=job_name,
        task_index=task_index,
        protocol=_PROTOCOL if protocol is None else protocol,
    )


def _own_address(server_def: ServerDef) -> str:
    """Return the address of the server's task, which must be the only one of its cluster."""
    if server_def.protocol != _PROTOCOL:
        raise NotFoundError(
            None,
            None,
            f"No server factory registered for the given ServerDef: {server_def}\n"
            "The available server factories are: [ GRPC_SERVER ]",
        )
    jobs = {job.name: job.tasks for job in server_def.cluster.job}
    if server_def.job_name not in jobs:
        message = f'Job "{server_def.job_name}" was not defined in cluster'
        raise InternalError(None, None, message)
    if server_def.task_index not in jobs[server_def.job_name]:
        task = f'Task {server_def.task_index} was not defined in job "{server_def.job_name}"'
        raise InternalError(None, None, task)
    n_tasks = sum(len(tasks) for tasks in jobs.values())
    if n_tasks > 1:
        names = ", ".join(f"{name} ({len(tasks)})" for name, tasks in jobs.items())
        raise UnimplementedError(
            None,
            None,
            explain(
                f"A server of a cluster of {n_tasks} tasks is not supported.",
                f"The jobs and their numbers of tasks are: {names}.",
                "berth runs one task, in this process, with all its devices. Give the server "
                "a cluster of one task, or leave it out and use tf.Session() and tf.device.",
            ),
        )
    return str(jobs[server_def.job_name][server_def.task_index])


def _port_of(address: str) -> int:
    _, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        message = f'Could not parse port for local server from "{address}".'
        raise InvalidArgumentError(None, None, message)
    return int(port)
