"""``tf.types.experimental``."""
