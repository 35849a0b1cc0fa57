"""Hooks of ``tf.train``: what is done before and after each run of a training session."""
