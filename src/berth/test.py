"""``tf.test``: is there a GPU? And a base class of tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from berth.device_lib import list_local_devices
from berth.front.deprecation import warn_deprecated
from berth.missing import LazyNames as _LazyNames
from berth.missing import explain_missing_names as _explain_missing_names
from berth.public import public

# --- written by dev/make_api.py: make api
# isort: split
from berth.front.build_info import (
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_built_with_xla,
)

__all__ = [
    "TestCase",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
]

_LAZY_NAMES: _LazyNames = {
    "TestCase": ("berth.session.test_case", "TestCase"),
    "get_temp_dir": ("berth.session.test_case", "get_temp_dir"),
    "main": ("berth.session.test_case", "main"),
}

if TYPE_CHECKING:
    from berth.session.test_case import TestCase as TestCase
    from berth.session.test_case import get_temp_dir as get_temp_dir
    from berth.session.test_case import main as main
# --- end

_explain_missing_names(__name__, __all__, (), _LAZY_NAMES)

_CAPABILITY = re.compile(r"compute capability: (\d+)\.(\d+)")


@public("test.is_gpu_available")
def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Tell whether there is a GPU, of some capability at least. Makes the devices."""
    warn_deprecated("tf.test.is_gpu_available", "tf.config.list_physical_devices('GPU')")
    del cuda_only  # accepted and ignored, as in TensorFlow today
    least = min_cuda_compute_capability or (0, 0)
    for device in list_local_devices():
        found = _CAPABILITY.search(device.physical_device_desc)
        capability = (int(found[1]), int(found[2])) if found else (0, 0)
        if device.device_type == "GPU" and capability >= tuple(least):
            return True
    return False


@public("test.gpu_device_name")
def gpu_device_name() -> str:
    """Return the name of the first GPU, or an empty string. Makes the devices."""
    for device in list_local_devices():
        if device.device_type == "GPU":
            return str(device.name)
    return ""
