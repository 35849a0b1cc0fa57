"""The gradients of all operations, family by family. Loading this enters them all."""

from berth.ops.gradients import (
    activations,
    arithmetic,
    contraction,
    convolution,
    cumulative,
    functions,
    linalg,
    matrices,
    normalization,
    parts,
    pooling,
    rearranging,
    reductions,
    segments,
    softmax,
    unary,
)

__all__ = [
    "activations",
    "arithmetic",
    "contraction",
    "convolution",
    "cumulative",
    "functions",
    "linalg",
    "matrices",
    "normalization",
    "parts",
    "pooling",
    "rearranging",
    "reductions",
    "segments",
    "softmax",
    "unary",
]
