"""``tf.types.experimental.distributed``: values of replicas."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.distribute.values import Mirrored, PerReplica

__all__ = [
    "Mirrored",
    "PerReplica",
]
# --- end
