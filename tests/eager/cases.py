"""Tables of eager programs: an expression, and what TensorFlow 2.21 makes of it.

The texts were read off TensorFlow. Two things of its messages are left out: the name of the
one-op function that an operation runs in (``{{function_node __wrapped__...}}``), and the
modules of its classes. A row that berth does not meet yet is wrapped in `Differs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import berth as tf

CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
GPU_0 = "/job:localhost/replica:0/task:0/device:GPU:0"
GPU_1 = "/job:localhost/replica:0/task:0/device:GPU:1"


@dataclass
class Differs:
    """What TensorFlow gives where berth does something else today, and what that is."""

    expected: Any
    reason: str


def cases(table: Mapping[str, Any]) -> list[Any]:
    """Parameters of a test, one for each row, named after its expression."""
    parameters = []
    for call, expected in table.items():
        if isinstance(expected, Differs):
            mark = pytest.mark.xfail(strict=True, reason=expected.reason)
            parameters.append(pytest.param(call, expected.expected, id=call, marks=mark))
        else:
            parameters.append(pytest.param(call, expected, id=call))
    return parameters


def evaluate(call: str, **names: Any) -> Any:
    """The value of an expression that knows `tf` and `np`."""
    return eval(call, {"tf": tf, "np": np, **names})


def two_cpus() -> None:
    """Split the CPU in two logical devices: call before anything is computed."""
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )


def in_use(device: str = "GPU:0") -> int:
    """The bytes that are in use on a device."""
    return int(tf.config.experimental.get_memory_info(device)["current"])
