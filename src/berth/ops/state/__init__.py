"""Variables, and what is written to them."""
