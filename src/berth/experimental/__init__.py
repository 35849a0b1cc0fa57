"""``tf.experimental``: what may still change."""

from berth.experimental import dlpack as dlpack

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.optionals import Optional

__all__ = [
    "Optional",
]
# --- end

__all__ += ["dlpack"]
