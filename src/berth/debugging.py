"""``tf.debugging``: say where each operation runs."""

from __future__ import annotations

from berth.front.context import context

__all__ = ["get_log_device_placement", "set_log_device_placement"]


def get_log_device_placement() -> bool:
    """Tell whether placements are logged."""
    return context().switches.log_placement


def set_log_device_placement(enabled: bool) -> None:
    """Log the device of each operation when it runs."""
    context().switches.log_placement = enabled
