"""Gradients of inverses, solutions and factors of matrices, and of their diagonals.

The names are those of M. Giles, "Collected matrix derivative results" (2008); I. Murray,
"Differentiation of the Cholesky decomposition" (2016).
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import COMPLEX
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import axis_size
from berth.ops.builder import apply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.complex_numbers import real
from berth.ops.elementwise.quotients import divide_no_nan
from berth.ops.elementwise.unary import conj, square
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.linalg.bands import (
    MATRIX_BAND_PART,
    MATRIX_DIAG,
    MATRIX_DIAG_PART,
    MATRIX_SET_DIAG,
)
from berth.ops.linalg.decompositions import QR, SELF_ADJOINT_EIG, SVD, svd
from berth.ops.linalg.diagonals import (
    TENSOR_DIAG,
    TENSOR_DIAG_PART,
    band_part,
    diag,
    diag_part,
    set_diag,
    tensor_diag,
    tensor_diag_part,
)
from berth.ops.linalg.exponential import MATRIX_EXPONENTIAL, expm
from berth.ops.linalg.linear_systems import adjoint
from berth.ops.linalg.matrices import (
    CHOLESKY,
    LOG_MATRIX_DETERMINANT,
    MATRIX_DETERMINANT,
    MATRIX_INVERSE,
    MATRIX_SOLVE,
    MATRIX_TRIANGULAR_SOLVE,
    inv,
    solve,
    triangular_solve,
)
from berth.ops.linalg.products import matmul

# --- inverses and solutions ---------------------------------------------------------------


@gradient(MATRIX_EXPONENTIAL)
def _exponential(op: RecordedOp, grad: Any) -> Any:
    """Take it out of a larger exponential: that of [[aᴴ, grad], [0, aᴴ]] has it in a corner."""
    a = op.inputs[0]
    turned, size = adjoint(a), axis_size(a, -1)
    rows = concat([turned, grad], -1), concat([zeros_like(a), turned], -1)
    return expm(concat(rows, -2))[..., :size, size:]


@gradient(MATRIX_INVERSE)
def _inverse(op: RecordedOp, grad: Any) -> Any:
    """-X⁻ᴴ grad X⁻ᴴ; of the adjoint's inverse, the adjoint of that."""
    inverse = op.outputs[0]
    grad = -matmul(inverse, matmul(grad, inverse, adjoint_b=True), adjoint_a=True)
    return adjoint(grad) if op.attrs["adjoint"] else grad


def _as_number(grad: Any) -> Any:
    """Return what arrives at a number as a matrix of one element."""
    return expand_dims(expand_dims(grad, -1), -1)


@gradient(MATRIX_DETERMINANT)
def _determinant(op: RecordedOp, grad: Any) -> Any:
    return _as_number(grad * conj(op.outputs[0])) * inv(op.inputs[0], adjoint=True)


@gradient(LOG_MATRIX_DETERMINANT)
def _log_determinant(op: RecordedOp, grad_sign: Any, grad: Any) -> Any:
    """The sign does not change a little."""
    return _as_number(grad) * inv(op.inputs[0], adjoint=True)


@gradient(MATRIX_SOLVE)
def _solve(op: RecordedOp, grad: Any) -> Any:
    matrix, solution = op.inputs[0], op.outputs[0]
    is_adjoint = op.attrs["adjoint"]
    by_rhs = solve(matrix, grad, adjoint=not is_adjoint)
    if is_adjoint:
        return -matmul(solution, by_rhs, adjoint_b=True), by_rhs
    return -matmul(by_rhs, solution, adjoint_b=True), by_rhs


@gradient(MATRIX_TRIANGULAR_SOLVE)
def _triangular_solve(op: RecordedOp, grad: Any) -> Any:
    matrix, rhs = op.inputs
    solution, is_adjoint, is_lower = op.outputs[0], op.attrs["adjoint"], op.attrs["lower"]
    by_rhs = triangular_solve(matrix, grad, lower=is_lower, adjoint=not is_adjoint)
    if is_adjoint:
        by_matrix = -matmul(solution, by_rhs, adjoint_b=True)
    else:
        by_matrix = -matmul(by_rhs, solution, adjoint_b=True)
    by_matrix = band_part(by_matrix, -1, 0) if is_lower else band_part(by_matrix, 0, -1)
    return sum_like(by_matrix, matrix), sum_like(by_rhs, rhs)


# --- factors ------------------------------------------------------------------------------


@gradient(CHOLESKY)
def _cholesky(op: RecordedOp, grad: Any) -> Any:
    factor = op.outputs[0]
    middle = matmul(factor, grad, adjoint_a=True)
    middle = set_diag(middle, 0.5 * diag_part(middle))
    middle = band_part(middle, -1, 0)
    # L⁻ᴴ middle L⁻¹
    left = triangular_solve(factor, middle, adjoint=True)
    whole = adjoint(triangular_solve(factor, adjoint(left), adjoint=True))
    return (whole + adjoint(whole)) * 0.5


@gradient(SELF_ADJOINT_EIG)
@takes_none
def _eigen(op: RecordedOp, grad_values: Any, grad_vectors: Any = None) -> Any:
    """V (diag(grad_e) + F ∘ Vᴴ grad_v) Vᴴ, with F = 1 / (eⱼ - eᵢ) and 0 on its diagonal.

    Only the lower triangle is looked at, so it gets what belongs to the upper one too.
    """
    if not op.attrs["compute_v"]:
        values, vectors = apply(SELF_ADJOINT_EIG, (op.inputs[0],), {"compute_v": True})
    else:
        values, vectors = op.outputs
    middle = zeros_like(vectors) if grad_values is None else diag(grad_values)
    if grad_vectors is not None:
        apart = expand_dims(values, -2) - expand_dims(values, -1)
        inverse = divide_no_nan(zeros_like(apart) + 1, apart)
        middle = middle + conj(inverse) * matmul(vectors, grad_vectors, adjoint_a=True)
    whole = matmul(vectors, matmul(middle, vectors, adjoint_b=True))
    lower = band_part(whole + adjoint(whole), -1, 0)
    return set_diag(lower, 0.5 * diag_part(lower))


@gradient(QR)
def _qr(op: RecordedOp, grad_q: Any, grad_r: Any) -> Any:
    """Of matrices with at least as many rows as columns, and square or reduced factors."""
    q, r = op.outputs
    dims = op.inputs[0].dims
    if dims is None or None in dims[-2:]:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    rows, columns = dims[-2:]
    if rows < columns or (op.attrs["full_matrices"] and rows > columns):
        raise NotImplementedError(
            "The gradient of qr is there for matrices with at least as many rows as columns, "
            "and without full_matrices."
        )
    middle = matmul(r, grad_r, adjoint_b=True) - matmul(grad_q, q, adjoint_a=True)
    lower = band_part(middle, -1, 0)
    lower = set_diag(lower, zeros_like(diag_part(lower)))
    symmetric = lower + adjoint(lower)
    diagonal = diag_part(middle)
    symmetric = set_diag(symmetric, cast(real(diagonal), diagonal.dtype.base_dtype))
    right = grad_q + matmul(q, symmetric)
    return adjoint(triangular_solve(r, adjoint(right), lower=False, adjoint=False))


@gradient(SVD)
@takes_none
def _svd(
    op: RecordedOp, grad_values: Any, grad_left: Any = None, grad_right: Any = None
) -> Any:
    """U (diag(grad_s) + …) Vᴴ; of the vectors of real matrices only, as they are unique."""
    tensor = op.inputs[0]
    if op.attrs["compute_uv"]:
        values, left, right = op.outputs
    else:
        values, left, right = svd(tensor)
    has_vectors = grad_left is not None or grad_right is not None
    if has_vectors and (tensor.dtype.base_dtype in COMPLEX or op.attrs["full_matrices"]):
        raise NotImplementedError(
            "The gradient of svd's vectors is there for real matrices, and without "
            "full_matrices."
        )
    middle = zeros_like(diag(values)) if grad_values is None else diag(grad_values)
    outside = zeros_like(tensor)
    row, column = expand_dims(values, -2), expand_dims(values, -1)
    apart = square(row) - square(column)
    inverse = divide_no_nan(zeros_like(apart) + 1, apart)
    if grad_left is not None:
        turned = inverse * matmul(left, grad_left, adjoint_a=True)
        middle = middle + (turned + adjoint(turned)) * row
        rest = grad_left - matmul(left, matmul(left, grad_left, adjoint_a=True))
        outside = outside + matmul(divide_no_nan(rest, row), right, adjoint_b=True)
    if grad_right is not None:
        turned = inverse * matmul(right, grad_right, adjoint_a=True)
        middle = middle + column * (turned + adjoint(turned))
        rest = grad_right - matmul(right, matmul(right, grad_right, adjoint_a=True))
        outside = outside + matmul(left, divide_no_nan(rest, row), adjoint_b=True)
    return matmul(left, matmul(middle, right, adjoint_b=True)) + outside


# --- diagonals ----------------------------------------------------------------------------


@gradient(MATRIX_DIAG)
def _diag(op: RecordedOp, grad: Any) -> Any:
    part = diag_part(grad, k=op.inputs[1], align=op.attrs["align"])
    return part, None, None, None, None


@gradient(MATRIX_DIAG_PART)
def _diag_part(op: RecordedOp, grad: Any) -> Any:
    matrices, k, _ = op.inputs
    return set_diag(zeros_like(matrices), grad, k=k, align=op.attrs["align"]), None, None


@gradient(MATRIX_SET_DIAG)
def _set_diag(op: RecordedOp, grad: Any) -> Any:
    _, diagonal, k = op.inputs
    align = op.attrs["align"]
    around = set_diag(grad, zeros_like(diagonal), k=k, align=align)
    return around, diag_part(grad, k=k, align=align), None


@gradient(MATRIX_BAND_PART)
def _band_part(op: RecordedOp, grad: Any) -> Any:
    return band_part(grad, *op.inputs[1:]), None, None


@gradient(TENSOR_DIAG)
def _tensor_diag(op: RecordedOp, grad: Any) -> Any:
    return tensor_diag_part(grad)


@gradient(TENSOR_DIAG_PART)
def _tensor_diag_part(op: RecordedOp, grad: Any) -> Any:
    return tensor_diag(grad)
