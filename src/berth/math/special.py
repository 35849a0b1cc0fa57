"""``tf.math.special``: special functions."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.special.bessel import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e

__all__ = [
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
]
# --- end
