"""Initializers of `tf.contrib.layers`: Xavier and variance scaling."""

from __future__ import annotations

import math
from typing import Any

from berth.dtypes import as_dtype, float32
from berth.ops.random.seeded import random_uniform, truncated_normal
from berth.public import public_v1, public_value


@public_v1("contrib.layers.xavier_initializer", "contrib.slim.xavier_initializer")
def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = float32
) -> Any:
    """Xavier initializer: the variance of activations stays about the same in all layers."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer
public_value(
    __name__,
    "xavier_initializer_conv2d",
    "contrib.layers.xavier_initializer_conv2d",
    "contrib.slim.xavier_initializer_conv2d",
    apis=("v1",),
)


@public_v1(
    "contrib.layers.variance_scaling_initializer", "contrib.slim.variance_scaling_initializer"
)
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = float32,
) -> Any:
    """Variance scaling initializer, with the variance `factor` divided by the fan."""
    _check_type(dtype)
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
        _check_type(dtype)
        sizes = [float(size) for size in shape]
        field = math.prod(sizes[:-2])
        fan_in = (sizes[-2] if len(sizes) > 1 else (sizes or [1.0])[-1]) * field
        fan_out = (sizes or [1.0])[-1] * field
        fan = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / fan)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        # A normal distribution without its tails has a smaller variance.
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / fan), dtype, seed=seed)

    return initializer


def _check_type(dtype: Any) -> None:
    if not as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
