"""Ragged tensors: `tf.RaggedTensor` and `tf.ragged`, made of operations on their components."""
