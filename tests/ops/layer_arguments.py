"""Arguments of neural-network operations and matrices, under the names that samples use."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.calls import f

_NHWC = {"data_format": "NHWC"}
_NCHW = {"data_format": "NCHW"}
_WINDOWS = {
    "strides": [1, 2, 1, 1],
    "dilations": [1, 1, 1, 1],
    "padding": "SAME",
    "explicit_paddings": [],
    **_NHWC,
}
_NORM = {"epsilon": 1e-3, "exponential_avg_factor": 1.0, "is_training": True}

LAYER_NAMES: dict[str, Any] = {
    "nhwc": _NHWC,
    "nchw": _NCHW,
    "windows": _WINDOWS,
    "same": {**_WINDOWS, "strides": [1, 1, 1, 1]},
    "edges": {
        "strides": [1, 1, 1, 2],
        "dilations": [1, 1, 2, 1],
        "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, 0, 0, 1, 0, 0, 1],
        **_NCHW,
    },
    "pool": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "padding": "VALID", **_NHWC},
    "pool_edges": {"ksize": [1, 1, 2, 3], "strides": [1, 1, 2, 1], "padding": "SAME", **_NCHW},
    "half": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME", **_NHWC},
    "lrn": {"depth_radius": 2, "bias": 1.5, "alpha": 0.5, "beta": 0.75},
    "norm": _NORM,
    "mixed": {**_NORM, "exponential_avg_factor": 0.5},
    "given": {**_NORM, "is_training": False},
    "channels": [f(3), f(3), f(3), f(3) ** 2],
    "statistics": [f(3), f(3), f(3) ** 2, np.zeros((), np.float32)],
    "images": f(8, 64, 64, 16),
    "wide_channels": [f(16), f(16), f(16), f(16) ** 2],
    "wide_statistics": [f(16), f(16), f(16) ** 2, np.zeros((), np.float32)],
    "matrices": np.stack([np.eye(3) * 2 + 1, np.eye(3) * 3]),
}
