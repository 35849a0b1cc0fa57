"""Matrix decompositions: QR, SVD and eigenvalues, computed by LAPACK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.dtypes import COMPLEX, DType
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.filling import zeros_like
from berth.ops.builder import apply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.complex_numbers import real
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.elementwise.unary import conj, square
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.linalg.diagonals import band_part, diag, diag_part, set_diag
from berth.ops.linalg.matmul import matmul
from berth.ops.linalg.matrices import (
    check_matrix,
    fill_each,
    matrix_op,
    square_dims,
    triangular_solve,
)
from berth.ops.linalg.transposes import adjoint
from berth.ops.opdef import Attrs, Call, Launch, OutputType, Typed
from berth.ops.shape import Dims
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


def _sizes(dims: Dims) -> tuple[int | None, int | None, int | None]:
    """Return rows, columns, and the smaller of them."""
    rows, columns = (None, None) if dims is None else dims[-2:]
    return rows, columns, None if rows is None or columns is None else min(rows, columns)


def _with_batch(dtype: DType, dims: Dims, *sizes: int | None) -> OutputType:
    return (dtype, None if dims is None else (*dims[:-2], *sizes))


def _qr_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dtype, dims = inputs[0].dtype.base_dtype, inputs[0].dims
    check_matrix(dims)
    rows, columns, least = _sizes(dims)
    inner = rows if attrs["full_matrices"] else least
    return (_with_batch(dtype, dims, rows, inner), _with_batch(dtype, dims, inner, columns))


def _bind_qr(launch: Launch) -> Call:
    mode = "complete" if launch.attrs["full_matrices"] else "reduced"
    return fill_each, (lambda: launch.xp.linalg.qr(launch.inputs[0], mode), launch.outputs)


def _svd_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dtype, dims = inputs[0].dtype.base_dtype, inputs[0].dims
    check_matrix(dims)
    rows, columns, least = _sizes(dims)
    values = _with_batch(dtype, dims, least)
    if not attrs["compute_uv"]:
        return (values,)
    inner = (rows, columns) if attrs["full_matrices"] else (least, least)
    left = _with_batch(dtype, dims, rows, inner[0])
    return values, left, _with_batch(dtype, dims, columns, inner[1])


def _bind_svd(launch: Launch) -> Call:
    tensor, attrs = launch.inputs[0], launch.attrs

    def svd() -> Sequence[Any]:
        if not attrs["compute_uv"]:
            return (launch.xp.linalg.svd(tensor, compute_uv=False),)
        left, values, right = launch.xp.linalg.svd(tensor, attrs["full_matrices"])
        return values, left, right.swapaxes(-1, -2).conj()

    return fill_each, (svd, launch.outputs)


def _eigen_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dtype, dims = inputs[0].dtype.base_dtype, square_dims(inputs[0].dims)
    values = (dtype, None if dims is None else dims[:-1])
    return (values, (dtype, dims)) if attrs["compute_v"] else (values,)


def _bind_eigen(launch: Launch) -> Call:
    tensor = launch.inputs[0]
    if launch.attrs["compute_v"]:
        return fill_each, (lambda: launch.xp.linalg.eigh(tensor), launch.outputs)
    return fill_each, (lambda: (launch.xp.linalg.eigvalsh(tensor),), launch.outputs)


QR = matrix_op(
    "Qr", "input:T", _qr_type, _bind_qr, samples=("d(2, 4, 3), full_matrices=False",)
)
SVD = matrix_op(
    "Svd",
    "input:T",
    _svd_type,
    _bind_svd,
    samples=("d(2, 4, 3), compute_uv=True, full_matrices=True",),
)
SELF_ADJOINT_EIG = matrix_op(
    "SelfAdjointEigV2",
    "input:T",
    _eigen_type,
    _bind_eigen,
    samples=("matrices, compute_v=True",),
)


class Qr(NamedTuple):
    """Factors of a QR decomposition: orthogonal and upper triangular."""

    q: Any
    r: Any


@public("linalg.qr")
@public_v1("qr")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """QR decomposition of matrices, x = q r: q has orthonormal columns, r is upper triangular.

    >>> qr([[1.0, 0.0], [0.0, 1.0]]).r.numpy().shape
    (2, 2)
    """
    return Qr(*apply(QR, (input,), {"full_matrices": bool(full_matrices)}, name))


@gradient(QR)
def _qr_gradient(op: RecordedOp, grad_q: Any, grad_r: Any) -> Any:
    """Gradient for at least as many rows as columns, with square or reduced factors."""
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


@public("linalg.svd")
@public_v1("svd")
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Singular value decomposition, x = u diag(s) vᴴ: s, u, v, or s alone.

    >>> svd([[0.0, 2.0], [1.0, 0.0]], compute_uv=False).numpy().tolist()
    [2.0, 1.0]
    """
    attrs = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}
    parts = apply(SVD, (tensor,), attrs, name)
    if not compute_uv:
        return real(parts)
    values, left, right = parts
    return real(values), left, right


@gradient(SVD)
@takes_none
def _svd_gradient(
    op: RecordedOp, grad_values: Any, grad_left: Any = None, grad_right: Any = None
) -> Any:
    """U (diag(grad_s) + …) Vᴴ; through u and v for real matrices only: they are unique."""
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


@public("linalg.eigh")
@public_v1("self_adjoint_eig")
def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Any, Any]:
    """Eigenvalues in ascending order, and eigenvectors, of self-adjoint matrices.

    Only the lower triangle is read.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]])[0].numpy().tolist()
    [1.0, 2.0]
    """
    values, vectors = apply(SELF_ADJOINT_EIG, (tensor,), {"compute_v": True}, name)
    return values, vectors


@gradient(SELF_ADJOINT_EIG)
@takes_none
def _eigen_gradient(op: RecordedOp, grad_values: Any, grad_vectors: Any = None) -> Any:
    """V (diag(grad_e) + F ∘ Vᴴ grad_v) Vᴴ, with F = 1 / (eⱼ - eᵢ) and 0 on its diagonal.

    Only the lower triangle is read, so it gets the gradient of the upper one too.
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


@public("linalg.eigvalsh")
@public_v1("self_adjoint_eigvals")
def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Eigenvalues of self-adjoint matrices, in ascending order.

    >>> eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy().tolist()
    [1.0, 2.0]
    """
    return apply(SELF_ADJOINT_EIG, (tensor,), {"compute_v": False}, name)
