"""Layers of TensorFlow 1 (`tf.layers`): functions with variables, found again by scope."""
