"""What `Session.list_devices` lists."""

from __future__ import annotations

from typing import NamedTuple


class DeviceAttributes(NamedTuple):
    """One device of a session."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )
