"""Targets of sessions: the addresses of the `tf.train.Server`s of this process.

A server stays for as long as the process does, as in TensorFlow, where it cannot be shut down.
"""

from __future__ import annotations

import threading

from berth.errors import UnknownError
from berth.proto.config import ConfigProto

_servers: dict[str, ConfigProto | None] = {}
_lock = threading.Lock()


def add_server(target: str, config: ConfigProto | None) -> None:
    """Let sessions use a target, with that config unless they have their own."""
    with _lock:
        if target in _servers:
            raise UnknownError(None, None, "Could not start gRPC server")
        _servers[target] = config


def is_server(target: str) -> bool:
    """Tell whether a target is a server of this process."""
    return target in _servers


def config_of_target(target: str) -> ConfigProto | None:
    """Return the config of the sessions of a target, if its server has one."""
    return _servers.get(target)
