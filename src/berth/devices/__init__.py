"""A place to run: names, and physical → visible → logical devices."""
