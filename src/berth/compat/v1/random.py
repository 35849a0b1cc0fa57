"""``tf.random``: random numbers."""

from berth.ops.random import random_normal as normal
from berth.ops.random import random_uniform as uniform
from berth.ops.random import set_random_seed, truncated_normal

__all__ = ["normal", "set_random_seed", "truncated_normal", "uniform"]
