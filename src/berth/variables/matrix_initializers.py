"""Initializers for matrices: orthogonal ones and the identity, as in TensorFlow 2."""

from __future__ import annotations

import math
from typing import Any

from berth.dtypes import DType
from berth.ops.arrays.array import reshape
from berth.ops.arrays.transpose import transpose
from berth.ops.elementwise.unary import sign
from berth.ops.linalg.decompositions import qr
from berth.ops.linalg.diagonals import eye, tensor_diag_part
from berth.ops.shape import Known
from berth.public import public_v2
from berth.variables.initializers import Initializer, RandomInitializer, check_floating


@public_v2("initializers.Orthogonal")
class Orthogonal(RandomInitializer):
    """Initializer of orthogonal matrices, times `gain`."""

    parameters = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain = gain
        self.seed = seed

    def values(self, shape: Known, dtype: DType) -> Any:
        """Draw one; what has more axes counts as a matrix with as many columns as the last."""
        check_floating(dtype)
        if len(shape) < 2:
            raise _not_a_matrix(shape)
        n_rows, n_columns = math.prod(shape[:-1]), shape[-1]
        tall = max(n_rows, n_columns), min(n_rows, n_columns)
        q, r = qr(self._normal(tall, 0.0, 1.0, dtype), full_matrices=False)
        # All orthogonal matrices are equally likely if the diagonal of r is positive.
        q = q * sign(tensor_diag_part(r))
        if n_rows < n_columns:
            q = transpose(q)
        return self.gain * reshape(q, shape)


@public_v2("initializers.Identity")
class Identity(Initializer):
    """Initializer of the identity matrix, times `gain`.

    >>> Identity(2.0)([2, 3]).numpy().tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """

    parameters = ("gain",)

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def values(self, shape: Known, dtype: DType) -> Any:
        """Make it."""
        check_floating(dtype)
        if len(shape) != 2:
            raise _not_a_matrix(shape)
        return self.gain * eye(*shape, dtype=dtype)


def _not_a_matrix(shape: Known) -> ValueError:
    return ValueError(
        "The tensor to initialize, specified by argument `shape` must be at least "
        f"two-dimensional. Received shape={shape}"
    )
