"""``tf.random``: random numbers."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.random.sampling import categorical, shuffle
from berth.ops.random.seeded import random_normal as normal
from berth.ops.random.seeded import random_uniform as uniform
from berth.ops.random.seeded import set_random_seed as set_seed
from berth.ops.random.seeded import truncated_normal
from berth.ops.random.stateless import (
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
# --- end
