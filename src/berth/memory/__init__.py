"""Allocators: addresses and sizes as integers, no tensors."""
