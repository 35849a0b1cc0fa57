"""Transposes and adjoints of matrices: the last two axes of a tensor."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import rank
from berth.ops.arrays.transpose import transpose
from berth.ops.compose import convert, scope
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


@public("linalg.matrix_transpose")
@public_v1("matrix_transpose")
def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Transpose the last two axes of a tensor.

    >>> matrix_transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    with scope("matrix_transpose", name):
        a = convert(a, None, "a")
        perm: Any
        if a.dims is not None:
            n_axes = len(a.dims)
            if n_axes < 2:
                raise ValueError(
                    "Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = "
                    f"{a} with shape: {a.shape}"
                )
            perm = [*range(n_axes - 2), n_axes - 1, n_axes - 2]
        else:
            last = rank(a) - 1
            perm = concat([range_of(last - 1), [last, last - 1]], 0)
        return transpose(a, perm, conjugate=conjugate)


@public("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Conjugate transpose of the last two axes of a tensor.

    >>> adjoint([[1j, 2]]).numpy().tolist()
    [[-1j], [(2-0j)]]
    """
    with scope("adjoint", name):
        return matrix_transpose(convert(matrix, None, "matrix"), conjugate=True)
