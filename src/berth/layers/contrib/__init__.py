"""``tf.contrib.layers``, ``slim`` and ``framework`` of TensorFlow 1."""
