"""``tf.contrib.lookup``: lookup tables, as TensorFlow 1's contrib has them."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.lookup import HashTable
from berth.data.lookup_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from berth.data.lookup_mutable import DenseHashTable as MutableDenseHashTable
from berth.data.lookup_mutable import MutableHashTable
from berth.data.lookup_v1 import (
    index_table_from_file,
    index_table_from_tensor,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
)

__all__ = [
    "HashTable",
    "KeyValueTensorInitializer",
    "MutableDenseHashTable",
    "MutableHashTable",
    "TextFileIndex",
    "TextFileInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]
# --- end
