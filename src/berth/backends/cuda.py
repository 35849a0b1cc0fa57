"""Real NVIDIA GPUs through CuPy: for now, only the reason why they cannot be used.

The protocol of `base` is CUDA's own model, so that this module can become a full
backend without changing anything above it.
"""

from __future__ import annotations

import importlib


def unavailable_reason() -> str:
    """Say why CUDA cannot be used here. Imports CuPy to find out."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        if getattr(error, "name", None) == "cupy":
            return "CuPy is not installed"
        return f"CuPy cannot be imported ({error})"
    if not cupy.cuda.is_available():
        return "CuPy finds no CUDA driver, or no GPU"
    n_gpus = cupy.cuda.runtime.getDeviceCount()
    return f"CuPy finds {n_gpus} GPU(s), but this version of berth cannot drive them yet"
