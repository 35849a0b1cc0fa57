"""``tf.bitwise``: integers as rows of bits."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.elementwise.compare import bitwise_and, bitwise_or, bitwise_xor
from berth.ops.elementwise.shifts import left_shift, right_shift
from berth.ops.elementwise.unary import invert

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
# --- end
