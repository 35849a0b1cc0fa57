"""``tf.compat``: the APIs of TensorFlow 1 and 2."""

from importlib import import_module
from typing import Any

from berth.eager.mode import set_eager

__all__ = ["v1"]


def __getattr__(name: str) -> Any:
    """Load ``tf.compat.v1`` for a program of TensorFlow 2, which stays one."""
    if name != "v1":
        raise AttributeError(f"module 'berth.compat' has no attribute {name!r}")
    module = import_module("berth.compat.v1")
    set_eager(True)
    return module
