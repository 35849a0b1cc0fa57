"""``tf.random``: random numbers."""

from berth.ops.random import random_normal as normal
from berth.ops.random import random_uniform as uniform
from berth.ops.random import set_random_seed as set_seed
from berth.ops.random import truncated_normal
from berth.ops.sampling import categorical, shuffle
from berth.ops.stateless import (
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "categorical",
    "normal",
    "set_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
