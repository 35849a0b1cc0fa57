"""``tf.strings``: texts, which live on the CPU."""

from berth.ops.strings import as_string
from berth.ops.strings import string_join as join

__all__ = [
    "as_string",
    "join",
]
