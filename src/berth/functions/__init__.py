"""`tf.function`: Python functions traced into graphs."""
