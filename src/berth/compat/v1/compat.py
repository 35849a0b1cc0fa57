"""``tf.compat``: bytes and text."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.text import (
    as_bytes,
    as_str_any,
    as_text,
    bytes_or_text_types,
    complex_types,
    integral_types,
    path_to_str,
    real_types,
)
from berth.text import as_text as as_str

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "integral_types",
    "path_to_str",
    "real_types",
]
# --- end
