"""The update rules of optimizers, as operations on a variable and its slots."""
