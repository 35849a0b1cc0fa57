"""Eager execution: operations are computed as they are called."""
