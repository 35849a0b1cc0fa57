"""Sparse tensors: `tf.SparseTensor` and `tf.sparse`, made of operations on their components."""
