"""Optimizers of `tf.train`: they add operations that update variables by gradients."""
