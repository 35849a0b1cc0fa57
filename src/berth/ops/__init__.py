"""What an operation is: signature, shape rule, kernels, gradient."""
