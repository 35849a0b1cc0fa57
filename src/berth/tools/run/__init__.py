"""``berth run``: TensorFlow programs, unmodified, on berth."""
