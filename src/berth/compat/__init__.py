"""TensorFlow's older faces."""

from berth.compat import v1

__all__ = ["v1"]
