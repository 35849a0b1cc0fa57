"""``tf.nn``: functions for neural networks."""

from berth.ops.unary import relu, sigmoid, tanh

__all__ = ["relu", "sigmoid", "tanh"]
