"""Automatic differentiation: backpropagation over graphs and gradient tapes."""
