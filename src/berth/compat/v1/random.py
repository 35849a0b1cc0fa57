"""``tf.random``: random numbers."""

from berth.ops.random import random_normal as normal
from berth.ops.random import random_uniform as uniform
from berth.ops.random import set_random_seed, truncated_normal
from berth.ops.sampling import categorical, multinomial, shuffle
from berth.ops.stateless import (
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "categorical",
    "multinomial",
    "normal",
    "set_random_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
