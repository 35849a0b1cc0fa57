"""The kinds of devices: what berth has to know of "CPU" and "GPU" beyond their names.

The rest of berth reads a capability (`Device.is_host`, `Device.kind.priority`) and never
compares a type. A third kind of device is one more row here, and its backend.
"""

from __future__ import annotations

from typing import NamedTuple


class DeviceKind(NamedTuple):
    """One type of device."""

    type: str
    is_host: bool
    """Its memory is the host's: NumPy works on it, and calls are done when they return."""
    priority: int
    """TensorFlow's: among devices that can run an operation, the highest is preferred."""
    allocator_name: str
    """Of the arena; ``{index}`` is the number of the logical device."""
    has_limit: bool
    """Its memory is bounded by an allocator's limit, and reserved at once without growth."""
    how_to_get_one: str = ""
    """Advice for a program that asks for one on a machine that has none."""


_OTHER_PRIORITY = 50
_KINDS = (
    DeviceKind("CPU", True, 70, "cpu", False),
    DeviceKind(
        "GPU",
        False,
        210,
        "GPU_{index}_bfc",
        True,
        "Simulated GPUs work anywhere: set BERTH_SIM=4xT4, for instance.",
    ),
)
DEVICE_TYPES = tuple(kind.type for kind in _KINDS)
HOST_TYPE = next(kind.type for kind in _KINDS if kind.is_host)
ACCELERATOR_TYPES = tuple(kind.type for kind in _KINDS if not kind.is_host)
_BY_TYPE = {kind.type: kind for kind in _KINDS}


def kind_of(device_type: str) -> DeviceKind:
    """Return the kind of a device by its type; unlisted types are like a GPU, but come last."""
    unlisted = DeviceKind(
        device_type, False, _OTHER_PRIORITY, f"{device_type}_{{index}}_bfc", True
    )
    return _BY_TYPE.get(device_type, unlisted)
