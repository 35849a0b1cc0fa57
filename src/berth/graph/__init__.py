"""Graphs: operations, tensors, names and scopes."""
