"""Images: `tf.image`, composed of other operations."""
