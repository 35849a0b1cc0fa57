"""Devices: their names, and physical → visible → logical devices."""
