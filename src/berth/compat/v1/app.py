"""``tf.app``: flags, and running a program's ``main``."""

from berth.compat.v1 import flags

# --- written by dev/make_api.py: make api
# isort: split
from berth.front.app import run

__all__ = [
    "run",
]
# --- end

__all__ += ["flags"]
