"""Inverse, determinant, Cholesky factor and linear systems, computed by LAPACK.

All of it works on the last two axes; the others are a batch. The array module's routines return
new arrays; one copy of the result is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import COMPLEX, float32, float64
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.builder import apply
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg import transposes
from berth.ops.linalg.diagonals import band_part, diag_part, set_diag
from berth.ops.linalg.matmul import matmul
from berth.ops.opdef import Attrs, Bind, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import ShapeMismatch, common_dims, merge_dims
from berth.ops.shape import Dims
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

_TYPES = (float32, float64, *COMPLEX)

# --- shapes -------------------------------------------------------------------------------


def check_matrix(dims: Dims) -> None:
    if dims is not None and len(dims) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(dims)}")


def square_dims(dims: Dims) -> Dims:
    """Return the shape of square matrices; ValueError if they are not square."""
    check_matrix(dims)
    if dims is None:
        return None
    rows, columns = dims[-2:]
    if rows != columns and None not in (rows, columns):
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {rows} and {columns}",
            "Input matrix must be square.",
        )
    size = columns if rows is None else rows
    return (*dims[:-2], size, size)


def square_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[0].dtype.base_dtype, square_dims(inputs[0].dims)),)


def _number_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = square_dims(inputs[0].dims)
    return ((inputs[0].dtype.base_dtype, None if dims is None else dims[:-2]),)


def _solved_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    matrix, rhs = inputs
    dims = square_dims(matrix.dims)
    check_matrix(rhs.dims)
    if dims is None or rhs.dims is None:
        return ((matrix.dtype.base_dtype, None),)
    at_run = "All input tensors must have the same outer dimensions."
    batch = merge_dims(dims[:-2], rhs.dims[:-2], at_run) or ()
    [rows] = merge_dims(dims[-1:], rhs.dims[-2:-1], _INCOMPATIBLE) or ()
    return ((matrix.dtype.base_dtype, (*batch, rows, rhs.dims[-1])),)


_INCOMPATIBLE = "Input matrix and rhs are incompatible."


def _triangular_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    matrix, rhs = inputs
    dims = square_dims(matrix.dims)
    check_matrix(rhs.dims)
    if dims is None or rhs.dims is None:
        return ((matrix.dtype.base_dtype, None),)
    batch = common_dims(dims[:-2], rhs.dims[:-2]) or ()
    [rows] = merge_dims(dims[-1:], rhs.dims[-2:-1], _INCOMPATIBLE) or ()
    return ((matrix.dtype.base_dtype, (*batch, rows, rhs.dims[-1])),)


# --- kernels ------------------------------------------------------------------------------


def _transposed(launch: Launch) -> tuple[Any, bool]:
    """Return the matrix, transposed for the adjoint, and whether to conjugate it too.

    The transpose is a view; the conjugate has to be computed when the operation runs.
    """
    matrix = launch.inputs[0]
    if not launch.attrs["adjoint"]:
        return matrix, False
    return matrix.swapaxes(-1, -2), matrix.dtype.kind == "c"


def _bind_inverse(launch: Launch) -> Call:
    message = "Input is not invertible."
    return _fill, (launch.xp.linalg.inv, *_transposed(launch), (), launch.outputs[0], message)


def _bind_solve(launch: Launch) -> Call:
    matrix, is_conjugate = _transposed(launch)
    message = "Input matrix is not invertible."
    operands = matrix, is_conjugate, launch.inputs[1:]
    return _fill, (launch.xp.linalg.solve, *operands, launch.outputs[0], message)


def _bind_determinant(launch: Launch) -> Call:
    return _fill, (launch.xp.linalg.det, launch.inputs[0], False, (), launch.outputs[0], "")


def _fill(
    function: Callable[..., Any],
    matrix: Any,
    is_conjugate: bool,
    more: Sequence[Any],
    out: Any,
    error: str,
) -> None:
    try:
        out[...] = function(matrix.conj() if is_conjugate else matrix, *more)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(None, None, error) from None


def _bind_cholesky(launch: Launch) -> Call:
    out = launch.outputs[0]
    shape = (-1, *out.shape[-2:]) if out.size else (0, *out.shape[-2:])
    each = launch.inputs[0].reshape(shape), out.reshape(shape)
    return _cholesky, (launch.xp.linalg.cholesky, *each)


def _cholesky(function: Callable[..., Any], matrices: Any, out: Any) -> None:
    """Factor all matrices at once with NumPy; if one fails, factor each, NaN where it fails."""
    try:
        out[...] = function(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            out[...] = np.nan
            return
        for k in range(len(matrices)):
            _cholesky(function, matrices[k : k + 1], out[k : k + 1])


def _bind_triangular(launch: Launch) -> Call:
    out, lower = launch.outputs[0], launch.attrs["lower"]
    is_lower = lower != launch.attrs["adjoint"]
    return _substitute, (launch.xp, *_transposed(launch), launch.inputs[1], out, is_lower)


def _substitute(
    xp: Any, matrix: Any, is_conjugate: bool, rhs: Any, out: Any, is_lower: bool
) -> None:
    """Substitution: solve for one row after the other, for all right-hand sides at once."""
    matrix = matrix.conj() if is_conjugate else matrix
    xp.copyto(out, rhs)
    n_rows = out.shape[-2]
    for k in range(n_rows) if is_lower else reversed(range(n_rows)):
        done = slice(0, k) if is_lower else slice(k + 1, n_rows)
        row = out[..., k : k + 1, :]
        row -= xp.matmul(matrix[..., k : k + 1, done], out[..., done, :])
        row /= matrix[..., k : k + 1, k : k + 1]


def matrix_op(
    name: str,
    arguments: str,
    infer: Any,
    bind: Bind,
    samples: Sequence[str] = (),
    large_samples: Sequence[str] = (),
) -> OpDef:
    return OpDef(
        name,
        arguments,
        infer,
        types={"T": _TYPES},
        kernels=all_devices(bind, _TYPES),
        samples=samples,
        large_samples=large_samples,
    )


MATRIX_INVERSE = matrix_op(
    "MatrixInverse", "input:T", square_type, _bind_inverse, samples=("matrices, adjoint=True",)
)
MATRIX_DETERMINANT = matrix_op(
    "MatrixDeterminant", "input:T", _number_type, _bind_determinant, samples=("matrices",)
)
MATRIX_SOLVE = matrix_op(
    "MatrixSolve",
    "matrix:T rhs:T",
    _solved_type,
    _bind_solve,
    samples=("matrices, d(2, 3, 1), adjoint=False",),
)
CHOLESKY = matrix_op("Cholesky", "input:T", square_type, _bind_cholesky, samples=("matrices",))
MATRIX_TRIANGULAR_SOLVE = matrix_op(
    "MatrixTriangularSolve",
    "matrix:T rhs:T",
    _triangular_type,
    _bind_triangular,
    samples=("matrices, d(3, 2), adjoint=True, lower=True",),
    large_samples=(
        "sample('d', (512, 512)), sample('d', (512, 512)), adjoint=True, lower=False",
    ),
)

# --- taken apart --------------------------------------------------------------------------


def fill_each(function: Callable[[], Sequence[Any]], outputs: Sequence[Any]) -> None:
    for out, part in zip(outputs, function(), strict=True):
        out[...] = part


def _log_determinant_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return tuple(_number_type(inputs, attrs)) * 2


def _bind_log_determinant(launch: Launch) -> Call:
    return fill_each, (lambda: launch.xp.linalg.slogdet(launch.inputs[0]), launch.outputs)


LOG_MATRIX_DETERMINANT = matrix_op(
    "LogMatrixDeterminant",
    "input:T",
    _log_determinant_type,
    _bind_log_determinant,
    samples=("matrices",),
)

# --- what users call ----------------------------------------------------------------------


@public("linalg.inv")
@public_v1("matrix_inverse")
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverse of square matrices, or of their adjoints.

    >>> inv([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return apply(MATRIX_INVERSE, (input,), {"adjoint": bool(adjoint)}, name)


@gradient(MATRIX_INVERSE)
def _inverse_gradient(op: RecordedOp, grad: Any) -> Any:
    """-X⁻ᴴ grad X⁻ᴴ; of the adjoint's inverse, the adjoint of that."""
    inverse = op.outputs[0]
    grad = -matmul(inverse, matmul(grad, inverse, adjoint_b=True), adjoint_a=True)
    return transposes.adjoint(grad) if op.attrs["adjoint"] else grad


@public("linalg.det")
@public_v1("matrix_determinant")
def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Determinant of square matrices.

    >>> det([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    8.0
    """
    return apply(MATRIX_DETERMINANT, (input,), {}, name)


@gradient(MATRIX_DETERMINANT)
def _determinant_gradient(op: RecordedOp, grad: Any) -> Any:
    return _as_number(grad * conj(op.outputs[0])) * inv(op.inputs[0], adjoint=True)


def _as_number(grad: Any) -> Any:
    """Return the gradient of a determinant, with two axes of size 1."""
    return expand_dims(expand_dims(grad, -1), -1)


class LogMatrixDeterminant(NamedTuple):
    """Sign, and logarithm of the absolute value, of determinants."""

    sign: Any
    log_abs_determinant: Any


@public("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Sign, and logarithm of the absolute value, of the determinant of square matrices.

    >>> slogdet([[1.0, 0.0], [0.0, -1.0]]).sign.numpy().tolist()
    -1.0
    """
    return LogMatrixDeterminant(*apply(LOG_MATRIX_DETERMINANT, (input,), {}, name))


@gradient(LOG_MATRIX_DETERMINANT)
def _log_determinant_gradient(op: RecordedOp, grad_sign: Any, grad: Any) -> Any:
    """The sign is constant almost everywhere: no gradient through it."""
    return _as_number(grad) * inv(op.inputs[0], adjoint=True)


@public("linalg.solve")
@public_v1("matrix_solve")
def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve systems of linear equations, matrix x = rhs, or with the matrix's adjoint.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [[1.0], [1.0]]).numpy().tolist()
    [[0.5], [0.25]]
    """
    return apply(MATRIX_SOLVE, (matrix, rhs), {"adjoint": bool(adjoint)}, name)


@gradient(MATRIX_SOLVE)
def _solve_gradient(op: RecordedOp, grad: Any) -> Any:
    matrix, solution = op.inputs[0], op.outputs[0]
    is_adjoint = op.attrs["adjoint"]
    by_rhs = solve(matrix, grad, adjoint=not is_adjoint)
    if is_adjoint:
        return -matmul(solution, by_rhs, adjoint_b=True), by_rhs
    return -matmul(by_rhs, solution, adjoint_b=True), by_rhs


@public("linalg.triangular_solve")
@public_v1("matrix_triangular_solve")
def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve systems of linear equations with lower or upper triangular matrices.

    >>> triangular_solve([[2.0, 9.0], [1.0, 4.0]], [[2.0], [5.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    attrs = {"lower": bool(lower), "adjoint": bool(adjoint)}
    return apply(MATRIX_TRIANGULAR_SOLVE, (matrix, rhs), attrs, name)


@gradient(MATRIX_TRIANGULAR_SOLVE)
def _triangular_solve_gradient(op: RecordedOp, grad: Any) -> Any:
    matrix, rhs = op.inputs
    solution, is_adjoint, is_lower = op.outputs[0], op.attrs["adjoint"], op.attrs["lower"]
    by_rhs = triangular_solve(matrix, grad, lower=is_lower, adjoint=not is_adjoint)
    if is_adjoint:
        by_matrix = -matmul(solution, by_rhs, adjoint_b=True)
    else:
        by_matrix = -matmul(by_rhs, solution, adjoint_b=True)
    by_matrix = band_part(by_matrix, -1, 0) if is_lower else band_part(by_matrix, 0, -1)
    return sum_like(by_matrix, matrix), sum_like(by_rhs, rhs)


@public("linalg.cholesky")
@public_v1("cholesky")
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Cholesky decomposition of positive definite matrices: lower triangular L with L Lᴴ = x.

    >>> cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy().tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    return apply(CHOLESKY, (input,), {}, name)


@gradient(CHOLESKY)
def _cholesky_gradient(op: RecordedOp, grad: Any) -> Any:
    factor = op.outputs[0]
    middle = matmul(factor, grad, adjoint_a=True)
    middle = set_diag(middle, 0.5 * diag_part(middle))
    middle = band_part(middle, -1, 0)
    # L⁻ᴴ middle L⁻¹
    left = triangular_solve(factor, middle, adjoint=True)
    whole = transposes.adjoint(triangular_solve(factor, transposes.adjoint(left), adjoint=True))
    return (whole + transposes.adjoint(whole)) * 0.5
