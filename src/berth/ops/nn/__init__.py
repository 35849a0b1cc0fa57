"""Layers of neural networks: convolutions, pools, normalizations, activations, losses."""
