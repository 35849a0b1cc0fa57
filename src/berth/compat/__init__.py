"""TensorFlow's older faces."""
