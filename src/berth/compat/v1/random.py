"""``tf.random``: random numbers."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.random.sampling import categorical, multinomial, shuffle
from berth.ops.random.seeded import random_normal as normal
from berth.ops.random.seeded import random_uniform as uniform
from berth.ops.random.seeded import set_random_seed, truncated_normal
from berth.ops.random.stateless import (
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
# --- end

_explain_missing_names(__name__, __all__)
