"""``tf.strings``: texts, which live on the CPU."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.arrays.strings import as_string
from berth.ops.arrays.strings import string_join as join
from berth.ops.text.mapping import (
    length,
    lower,
    regex_full_match,
    regex_replace,
    strip,
    substr,
    to_hash_bucket_fast,
    to_hash_bucket_strong,
    to_number,
    upper,
)

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
