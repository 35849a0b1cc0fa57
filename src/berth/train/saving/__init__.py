"""`tf.train.Saver`: its operations, the graph it builds, and the checkpoints it keeps."""
