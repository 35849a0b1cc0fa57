"""``tf.types``: the types of values, for `isinstance`."""
