"""berth: TensorFlow's device and GPU-memory system as a small Python runtime.

``import berth as tf`` is TensorFlow 2 style, eager first;
``import berth.compat.v1 as tf`` is TensorFlow 1 style.
"""

from berth import compat, config, debugging, device_lib, dtypes, errors, test, timeline
from berth.devices.spec import DeviceSpecV2 as DeviceSpec
from berth.front.context import reset, simulate, trim
from berth.front.device_scope import device
from berth.front.why import why
from berth.graph.expect import expect_device

__version__ = "0.1.0"

__all__ = [
    # TensorFlow's names
    "DeviceSpec",
    "compat",
    "config",
    "debugging",
    "device",
    "device_lib",
    "dtypes",
    "errors",
    "test",
    "timeline",
    # berth's own
    "__version__",
    "expect_device",
    "reset",
    "simulate",
    "trim",
    "why",
]
