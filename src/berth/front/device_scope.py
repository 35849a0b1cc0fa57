"""``tf.device`` in eager mode: the device that this thread's operations ask for (§1.6)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from berth.devices.device import LogicalDevice
from berth.devices.spec import DeviceSpecV2
from berth.front.context import context
from berth.graph.graph import Graph
from berth.ops.builder import entered
from berth.public import public_v2


class EagerDevice:
    """A block of a program whose operations ask for one device.

    A name is completed from the scope around it or, where there is none, from the first
    device of the program. So ``tf.device('')`` outside of any scope means that device,
    the CPU. None asks for no device at all.
    """

    def __init__(self, device: Any) -> None:
        self._wanted = device

    def __enter__(self) -> None:
        wanted = _name_of(self._wanted)
        if wanted is None:
            spec, name = DeviceSpecV2(), ""
        else:
            spec = self._base().make_merged_spec(DeviceSpecV2.from_string(wanted))
            name = spec.to_string()
        # What is around is kept with the thread: one block may be used in several.
        scope = context().eager_scope
        scope.outer.append((self, scope.device_name, scope.device_spec))
        scope.device_name, scope.device_spec = name, spec

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        scope = context().eager_scope
        if not scope.outer or scope.outer[-1][0] is not self:
            raise RuntimeError("Exiting device scope without proper scope nesting")
        _, scope.device_name, scope.device_spec = scope.outer.pop()

    def _base(self) -> DeviceSpecV2:
        opened = context().opened()
        scope = context().eager_scope
        if scope.device_name:
            return scope.device_spec
        return DeviceSpecV2.from_string(opened[0].name)


@public_v2("device")
def device(device_name: Any) -> AbstractContextManager[None]:
    """Ask for a device: a name, a DeviceSpec, a LogicalDevice, or None for no wish.

    Inside of a `tf.function`, or of a graph, the wish is that of the operations written there.
    """
    graph = entered()
    if isinstance(graph, Graph):
        wanted = device_name if callable(device_name) else _name_of(device_name)
        return graph.device(wanted)
    if callable(device_name):
        raise RuntimeError("tf.device does not support functions.")
    return EagerDevice(device_name)


def _name_of(device_name: Any) -> str | None:
    if device_name is None or isinstance(device_name, str):
        return device_name
    if isinstance(device_name, LogicalDevice):
        return device_name.name
    if isinstance(device_name, DeviceSpecV2):
        return device_name.to_string()
    raise ValueError(f"Expecting a string device name. Got {type(device_name)}({device_name})")
