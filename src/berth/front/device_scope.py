"""``tf.device``: the device that the operations of a block request.

Of a graph's operations the graph keeps the request; of eager ones, the thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from berth.blocks import Block, Use
from berth.devices.device import LogicalDevice
from berth.devices.spec import DeviceSpecV2
from berth.front.context import context
from berth.graph.graph import Graph
from berth.ops.builder import current
from berth.public import public_v1, public_v2


class EagerDevice(Block[None]):
    """A block of a program whose eager operations request one device.

    A name is completed from the scope around it or, where there is none, from the first
    device of the program. So ``tf.device('')`` outside of any scope means that device,
    the CPU. None requests no device at all.
    """

    def __init__(self, device: Any) -> None:
        self._wanted = device

    def _begin(self, use: Use) -> None:
        wanted = _name_of(self._wanted)
        if wanted is None:
            spec, name = DeviceSpecV2(), ""
        else:
            spec = self._base().make_merged_spec(DeviceSpecV2.from_string(wanted))
            name = spec.to_string()
        use.set(context().eager_scope.blocks, (name, spec))

    def _exit_unentered(self) -> None:
        raise RuntimeError("Exiting device scope without proper scope nesting")

    def _base(self) -> DeviceSpecV2:
        opened = context().opened()
        blocks = context().eager_scope.blocks
        name, spec = blocks.innermost if blocks else ("", None)
        if name and spec is not None:
            return spec
        return DeviceSpecV2.from_string(opened[0].name)


def requested_device(name: str) -> Block[None]:
    """Request a device for the operations of a block, in a graph or eagerly."""
    graph = current()
    return graph.device(name) if isinstance(graph, Graph) else EagerDevice(name)


@public_v2("device")
def device(device_name: Any) -> AbstractContextManager[None]:
    """Request a device for operations: a name, a DeviceSpec, a LogicalDevice, or None.

    None requests no device. In a `tf.function` or a graph it is for the operations made there.
    """
    if callable(device_name):
        raise RuntimeError("tf.device does not support functions.")
    graph = current()
    if isinstance(graph, Graph):
        return graph.device(_name_of(device_name))
    return EagerDevice(device_name)


@public_v1("device")
def device_v1(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Request a device for operations: a name, a spec, a function of an operation, or None."""
    graph = current()
    if isinstance(graph, Graph):
        return graph.device(device_name_or_function)
    if callable(device_name_or_function):
        raise RuntimeError(
            "tf.device does not support functions when eager execution is enabled."
        )
    return EagerDevice(device_name_or_function)


@public_v1("colocate_with")
def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Put operations on the device of another, or of an eager tensor."""
    graph = current()
    if not isinstance(graph, Graph):
        return EagerDevice(op.device) if op is not None else nullcontext()
    if hasattr(op, "place") and not hasattr(op, "as_tensor"):  # an eager tensor
        if graph.is_function:
            return graph.device(op.device)
        raise ValueError(
            "Encountered an Eager-defined Tensor during graph construction, but a function was "
            "not being built."
        )
    return graph.colocate_with(op, ignore_existing)


def _name_of(device_name: Any) -> str | None:
    if device_name is None or isinstance(device_name, str):
        return device_name
    if isinstance(device_name, LogicalDevice):
        return device_name.name
    if isinstance(device_name, DeviceSpecV2):
        return device_name.to_string()
    raise ValueError(f"Expecting a string device name. Got {type(device_name)}({device_name})")
