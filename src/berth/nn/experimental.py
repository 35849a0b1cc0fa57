"""``tf.nn.experimental``: functions for neural networks that may still change."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.nn.dropout import general_dropout, stateless_dropout

__all__ = [
    "general_dropout",
    "stateless_dropout",
]
# --- end
