"""Conditionals and loops in graphs, and their gradients."""
