"""Linear algebra: products, decompositions, linear systems, diagonals."""
