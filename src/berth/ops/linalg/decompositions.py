"""Matrix decompositions: QR, singular values, eigenvalues, as LAPACK computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.dtypes import DType
from berth.ops.builder import apply
from berth.ops.elementwise.complex_numbers import real
from berth.ops.linalg.matrices import (
    check_matrix,
    fill_each,
    matrix_op,
    square_dims,
)
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


QR = matrix_op("Qr", "input:T", _qr_type, _bind_qr)
SVD = matrix_op("Svd", "input:T", _svd_type, _bind_svd)
SELF_ADJOINT_EIG = matrix_op("SelfAdjointEigV2", "input:T", _eigen_type, _bind_eigen)


class Qr(NamedTuple):
    """An orthogonal and a triangular factor."""

    q: Any
    r: Any


@public("linalg.qr")
@public_v1("qr")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Return matrices as products of one with orthonormal columns and an upper triangular one.

    >>> qr([[1.0, 0.0], [0.0, 1.0]]).r.numpy().shape
    (2, 2)
    """
    return Qr(*apply(QR, (input,), {"full_matrices": bool(full_matrices)}, name))


@public("linalg.svd")
@public_v1("svd")
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Return singular values s, and u and v with u diag(s) vᴴ = x unless only s is asked for.

    >>> svd([[0.0, 2.0], [1.0, 0.0]], compute_uv=False).numpy().tolist()
    [2.0, 1.0]
    """
    attrs = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}
    parts = apply(SVD, (tensor,), attrs, name)
    if not compute_uv:
        return real(parts)
    values, left, right = parts
    return real(values), left, right


@public("linalg.eigh")
@public_v1("self_adjoint_eig")
def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Any, Any]:
    """Return eigenvalues, the least first, and eigenvectors of self-adjoint matrices.

    Only the lower triangle is looked at.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]])[0].numpy().tolist()
    [1.0, 2.0]
    """
    values, vectors = apply(SELF_ADJOINT_EIG, (tensor,), {"compute_v": True}, name)
    return values, vectors


@public("linalg.eigvalsh")
@public_v1("self_adjoint_eigvals")
def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the eigenvalues of self-adjoint matrices, the least first.

    >>> eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy().tolist()
    [1.0, 2.0]
    """
    return apply(SELF_ADJOINT_EIG, (tensor,), {"compute_v": False}, name)
