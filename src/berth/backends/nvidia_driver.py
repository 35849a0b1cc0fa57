"""Whether this computer has NVIDIA's driver: the first thing that CUDA needs."""

from __future__ import annotations

import ctypes
import sys


def library_name(platform: str = sys.platform) -> str:
    """Return the file by which programs reach the driver.

    >>> library_name("linux"), library_name("win32")
    ('libcuda.so.1', 'nvcuda.dll')
    """
    return "nvcuda.dll" if platform == "win32" else "libcuda.so.1"


def has_driver() -> bool:
    """Tell whether the driver is there, by loading it."""
    try:
        ctypes.CDLL(library_name())
    except OSError:
        return False
    return True
