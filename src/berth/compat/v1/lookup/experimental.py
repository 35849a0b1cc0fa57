"""``tf.lookup.experimental``, as TensorFlow 1 has it: lookup tables that change."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.lookup_mutable import DenseHashTable, MutableHashTable

__all__ = [
    "DenseHashTable",
    "MutableHashTable",
]
# --- end
