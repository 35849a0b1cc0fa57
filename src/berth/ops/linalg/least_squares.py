"""Least squares: lstsq, pinv, matrix_rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.dtypes import int32
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.metadata import axis_size
from berth.ops.compose import convert, convert_like, scope
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater
from berth.ops.linalg.cholesky import cholesky_solve
from berth.ops.linalg.decompositions import svd
from berth.ops.linalg.diagonals import eye
from berth.ops.linalg.matmul import matmul
from berth.ops.linalg.matrices import cholesky
from berth.ops.reductions.reduction import reduce_max, reduce_sum
from berth.ops.rules import INEXACT
from berth.ops.types import Tensor, TensorLike
from berth.public import public


@public("linalg.lstsq")
def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Solve linear systems in the least-squares sense.

    Of many solutions it is the one of minimum norm. `fast` needs matrices of full rank.

    >>> lstsq([[1.0], [1.0]], [[1.0], [3.0]]).numpy().tolist()
    [[2.0]]
    """
    with scope("matrix_solve_ls", name):
        matrix = convert(matrix, None, "matrix")
        rhs = convert_like(rhs, matrix.dtype.base_dtype, "rhs")
        n_rows, n_columns = axis_size(matrix, -2), axis_size(matrix, -1)
        is_known = isinstance(n_rows, int) and isinstance(n_columns, int)
        if not fast or not (is_known or l2_regularizer):
            return matmul(pinv(matrix), rhs)
        is_tall = n_rows >= n_columns if is_known else True
        square = matmul(matrix, matrix, adjoint_a=is_tall, adjoint_b=not is_tall)
        if l2_regularizer:
            n_axes = n_columns if is_tall else n_rows
            square = square + eye(n_axes, dtype=matrix.dtype.base_dtype) * l2_regularizer
        factor = cholesky(square)
        if is_tall:
            return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))
        return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)


@public("linalg.pinv")
def pinv(
    a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Moore-Penrose pseudo-inverse of matrices.

    >>> pinv([[2.0, 0.0], [0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    with scope("pinv", name):
        a = _matrices(a)
        dtype = a.dtype.base_dtype
        if rcond is None:
            rcond = 10.0 * _relative_tolerance(a)
        s, u, v = svd(a, full_matrices=False)
        limit = rcond * reduce_max(s, -1, keepdims=True)
        infinite = np.array(np.inf, dtype.real_dtype.np_dtype)
        kept = where_v2(greater(s, limit), s, infinite)
        return matmul(v / cast(kept, dtype)[..., None, :], u, adjoint_b=True)


@public("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Rank of matrices: the number of singular values above a tolerance.

    >>> matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy().tolist()
    1
    """
    with scope("matrix_rank", name):
        a = _matrices(a)
        s = svd(a, compute_uv=False)
        if tol is None:
            tol = _relative_tolerance(a) * reduce_max(s, -1, keepdims=True)
        return reduce_sum(cast(greater(s, tol), int32), -1)


def _matrices(value: Any) -> Tensor:
    a = convert(value, None, "a")
    if a.dtype.base_dtype not in INEXACT:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    if a.dims is not None and len(a.dims) < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {len(a.dims)}).")
    return a


def _relative_tolerance(a: Any) -> Any:
    """Relative tolerance below which a singular value counts as zero."""
    real = a.dtype.real_dtype
    n_rows, n_columns = axis_size(a, -2), axis_size(a, -1)
    if isinstance(n_rows, int) and isinstance(n_columns, int):
        return max(n_rows, n_columns) * float(np.finfo(real.np_dtype).eps)
    return cast(maximum(n_rows, n_columns), real) * float(np.finfo(real.np_dtype).eps)
