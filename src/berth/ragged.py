"""``tf.ragged``: tensors whose rows differ in length."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.ragged.constant import boolean_mask, constant, map_flat_values, stack
from berth.ops.ragged.constant import ragged_range as range

__all__ = [
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "stack",
]
# --- end
