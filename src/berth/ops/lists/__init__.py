"""Lists of tensors: the values behind `tf.TensorArray`, and the operations on them."""
