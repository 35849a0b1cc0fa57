"""Checkpoints: TensorFlow's files of the values of variables, their readers and writers."""
