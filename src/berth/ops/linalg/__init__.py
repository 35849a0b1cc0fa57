"""Products, factors and diagonals of matrices."""
