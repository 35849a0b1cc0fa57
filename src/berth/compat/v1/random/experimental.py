"""``tf.random.experimental``: generators and seeds, under the names they had first."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.eager.random_generator import (
    Algorithm,
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from berth.ops.random.keyed import stateless_fold_in, stateless_shuffle, stateless_split

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]
# --- end
