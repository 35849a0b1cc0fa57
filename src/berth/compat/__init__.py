"""``tf.compat``: the APIs of TensorFlow 1 and 2; bytes and text."""

from importlib import import_module
from typing import Any

from berth.eager.mode import set_eager

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

__all__ += ["v1"]


def __getattr__(name: str) -> Any:
    """Load ``tf.compat.v1`` for a program of TensorFlow 2, which stays one."""
    if name != "v1":
        raise AttributeError(f"module 'berth.compat' has no attribute {name!r}")
    module = import_module("berth.compat.v1")
    set_eager(True)
    return module
