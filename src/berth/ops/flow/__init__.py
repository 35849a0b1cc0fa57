"""Control dependencies, functional ops, assertions and printing."""
