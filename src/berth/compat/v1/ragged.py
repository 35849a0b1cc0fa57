"""``tf.ragged`` of TensorFlow 1: tensors whose rows differ in length."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.ragged.constant import boolean_mask, constant, map_flat_values, stack
from berth.ops.ragged.constant import ragged_range as range
from berth.ops.ragged.ragged_tensor import RaggedTensorValue

__all__ = [
    "RaggedTensorValue",
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "stack",
]
# --- end
