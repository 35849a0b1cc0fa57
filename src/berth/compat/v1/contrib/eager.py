"""``tf.contrib.eager`` (``tfe``): eager execution in TensorFlow 1."""

from berth.compat.v1 import enable_eager_execution
from berth.eager.mode import executing_eagerly
from berth.eager.variable import Variable

__all__ = ["Variable", "enable_eager_execution", "executing_eagerly"]
