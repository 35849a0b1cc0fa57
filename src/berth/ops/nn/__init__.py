"""Neural networks: convolution, pooling, normalization, activations, losses, embeddings."""
