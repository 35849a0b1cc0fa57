"""Special functions: Bessel functions and others that few programs need."""
