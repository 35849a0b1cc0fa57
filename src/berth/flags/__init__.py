"""``tf.flags``: the command-line flags of a program, without absl-py."""
