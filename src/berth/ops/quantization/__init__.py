"""Quantization: what inference with integers would make of floating-point numbers."""
