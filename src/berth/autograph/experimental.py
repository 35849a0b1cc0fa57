"""``tf.autograph.experimental``: what is left out, options of loops."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.autograph.api import Feature, do_not_convert, set_loop_options

__all__ = [
    "Feature",
    "do_not_convert",
    "set_loop_options",
]
# --- end
