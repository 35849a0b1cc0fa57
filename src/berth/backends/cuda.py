"""Real NVIDIA GPUs through CuPy: for now, only the reason why they cannot be used.

The protocol of `base` is CUDA's own model, so that this module can become a full
backend without changing anything above it.
"""

from __future__ import annotations

import importlib

_NOT_YET = "this version of berth cannot drive real GPUs yet"


def unavailable_reason() -> str:
    """Say why CUDA cannot be used here. Imports CuPy to find out."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        is_missing = getattr(error, "name", None) == "cupy"
        problem = "is not installed" if is_missing else f"cannot be imported: {error}"
        return f"{_NOT_YET} (and CuPy, which it will need, {problem})"
    if not cupy.cuda.is_available():
        return f"{_NOT_YET} (and CuPy finds no CUDA driver, or no GPU)"
    return f"{_NOT_YET} (CuPy finds {cupy.cuda.runtime.getDeviceCount()})"
