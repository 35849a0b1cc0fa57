"""``tf.strings``: texts, which live on the CPU."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.arrays.strings import as_string
from berth.ops.arrays.strings import string_join as join

__all__ = [
    "as_string",
    "join",
]
# --- end
