"""``tf.lookup``, as TensorFlow 1 has it: tables from keys to values."""

from berth.compat.v1.lookup import experimental as experimental

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.lookup import StaticHashTable, StaticVocabularyTable
from berth.data.lookup_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]
# --- end

__all__ += ["experimental"]
