"""Metrics (`tf.metrics`): numbers over many batches, which local variables accumulate."""
