"""Making it happen: a plan bound to memory, and run."""
