"""``tf.sysconfig``: how TensorFlow was built."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.front.build_info import get_build_info

__all__ = [
    "get_build_info",
]
# --- end
