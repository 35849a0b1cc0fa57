"""``tf.summary.experimental``: the default step."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.summary.writer import get_step, set_step

__all__ = [
    "get_step",
    "set_step",
]
# --- end
