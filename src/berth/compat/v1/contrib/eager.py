"""``tf.contrib.eager`` (``tfe``): eager execution in TensorFlow 1."""

from berth import executing_eagerly
from berth.compat.v1 import enable_eager_execution
from berth.eager.variable import Variable

__all__ = ["Variable", "enable_eager_execution", "executing_eagerly"]
