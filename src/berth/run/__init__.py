"""Execution: plans are bound to memory and run."""
