"""What is computed from Cholesky factors: log-determinants, and solutions of linear systems."""

from __future__ import annotations

from typing import Any

from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.complex_numbers import real
from berth.ops.elementwise.unary import log
from berth.ops.linalg.diagonals import diag_part
from berth.ops.linalg.matrices import cholesky, triangular_solve
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


@public("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Logarithm of the determinant of positive definite matrices.

    >>> logdet([[1.0, 0.0], [0.0, 1.0]]).numpy().tolist()
    0.0
    """
    with scope("logdet", name):
        diagonal = diag_part(cholesky(matrix))
        return multiply(2.0, reduce_sum(log(real(diagonal)), [-1]))


@public("linalg.cholesky_solve")
@public_v1("cholesky_solve")
def cholesky_solve(chol: Any, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve linear systems A x = rhs, given the Cholesky factor of A.

    >>> cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [[4.0], [3.0]]).numpy().tolist()
    [[1.0], [3.0]]
    """
    with scope("cholesky_solve", name):
        chol = convert(chol, type_of(rhs), "chol")
        half = triangular_solve(chol, rhs, lower=True, adjoint=False)
        return triangular_solve(chol, half, lower=True, adjoint=True)
