"""TensorFlow 1 style names, over the same devices: ``import berth.compat.v1 as tf``."""

from __future__ import annotations

from berth import config, debugging, errors, test
from berth.config import threading as _threading
from berth.devices.spec import DeviceSpecV1 as DeviceSpec
from berth.front.context import context as _context
from berth.front.options import ConfigProto, GPUOptions
from berth.front.options import device_options as _device_options

__all__ = [
    "ConfigProto",
    "DeviceSpec",
    "GPUOptions",
    "config",
    "debugging",
    "enable_eager_execution",
    "errors",
    "test",
]


def enable_eager_execution(config: ConfigProto | None = None) -> None:
    """Run operations as they are written, on the devices that the options ask for."""
    if config is None:
        return
    context = _context()
    context.devices.adopt(_device_options(config))
    if config.intra_op_parallelism_threads:
        _threading.set_intra_op_parallelism_threads(config.intra_op_parallelism_threads)
    if config.inter_op_parallelism_threads:
        _threading.set_inter_op_parallelism_threads(config.inter_op_parallelism_threads)
    context.switches.soft_placement = config.allow_soft_placement or None
    context.switches.log_placement = config.log_device_placement
