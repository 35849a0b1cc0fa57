"""Random numbers, the same on every device."""
