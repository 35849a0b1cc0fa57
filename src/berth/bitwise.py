"""``tf.bitwise``: integers as rows of bits."""

from berth.ops.compare import bitwise_and, bitwise_or, bitwise_xor
from berth.ops.unary import invert

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
]
