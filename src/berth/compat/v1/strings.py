"""``tf.strings``: texts, as TensorFlow 1 has them."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.arrays.strings import as_string
from berth.ops.arrays.strings import string_join as join
from berth.ops.text.mapping import length_v1 as length
from berth.ops.text.mapping import (
    lower,
    regex_full_match,
    regex_replace,
    strip,
    to_hash_bucket_fast,
    to_hash_bucket_strong,
    upper,
)
from berth.ops.text.mapping import substr_v1 as substr
from berth.ops.text.mapping import to_number_v1 as to_number

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "regex_full_match",
    "regex_replace",
    "strip",
    "substr",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "upper",
]
# --- end
