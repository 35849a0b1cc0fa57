"""Placement and planning: devices, execution order and memory layout, as pure functions."""
