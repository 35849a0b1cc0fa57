"""Matrix decompositions of any square matrix: LU with partial pivoting, and eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.dtypes import COMPLEX, DType, as_dtype, complex64, complex128, float32, int32
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.sorting import argsort
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.complex_numbers import real
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.linalg.diagonals import band_part, diag, diag_part, set_diag
from berth.ops.linalg.matmul import matmul
from berth.ops.linalg.matrices import (
    fill_each,
    inv,
    matrix_op,
    square_dims,
    triangular_solve,
)
from berth.ops.linalg.transposes import adjoint
from berth.ops.opdef import Attrs, Call, Launch, OutputType, Typed
from berth.ops.rules import ShapeMismatch
from berth.ops.shape import Dims
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


def _dims(dims: Dims, what: str) -> Dims:
    """Return the shape of square matrices, or raise TensorFlow's error."""
    if dims is not None and len(dims) < 2:
        at_run = f"{what} must have rank >= 2, got {len(dims)}"
        raise ShapeMismatch(f"Shape must be at least rank 2 but is rank {len(dims)}", at_run)
    return square_dims(dims)


# --- LU -------------------------------------------------------------------------------------


class Lu(NamedTuple):
    """Factors of a matrix in one, and the order of its rows."""

    lu: Any
    p: Any


def _lu_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = _dims(inputs[0].dims, "Input tensor")
    rows = None if dims is None else dims[:-1]
    return ((inputs[0].dtype.base_dtype, dims), (attrs["output_idx_type"], rows))


def _factor(xp: Any, tensor: Any, lu: Any, order: Any) -> None:
    """Eliminate column by column, in all matrices of a batch at once."""
    size = tensor.shape[-1]
    work = xp.array(tensor).reshape(-1, size, size)
    rows = xp.broadcast_to(xp.arange(size), (len(work), size)).copy()
    which = xp.arange(len(work))
    for k in range(size):
        pivot = k + xp.argmax(xp.abs(work[:, k:, k]), axis=1)
        for each in (work, rows):
            kept = each[which, pivot].copy()
            each[which, pivot] = each[:, k]
            each[:, k] = kept
        if bool((work[:, k, k] == 0).any()):
            raise InvalidArgumentError(None, None, "Input is not invertible.")
        work[:, k + 1 :, k] /= work[:, k, k][:, None]
        below = work[:, k + 1 :, k][:, :, None] * work[:, k, k + 1 :][:, None, :]
        work[:, k + 1 :, k + 1 :] -= below
    lu[...] = work.reshape(lu.shape)
    order[...] = rows.reshape(order.shape)


def _bind_lu(launch: Launch) -> Call:
    return _factor, (launch.xp, launch.inputs[0], *launch.outputs)


LU = matrix_op(
    "Lu", "input:T", _lu_type, _bind_lu, samples=("matrices, output_idx_type=int32",)
)


@public("linalg.lu")
def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> Lu:
    """LU decomposition of matrices with rows in another order: both factors in one, the order.

    >>> lu([[1.0, 2.0], [4.0, 4.0]]).p.numpy().tolist()
    [1, 0]
    """
    return Lu(*apply(LU, (input,), {"output_idx_type": as_dtype(output_idx_type)}, name))


@gradient(LU)
@takes_none
def _lu_gradient(op: RecordedOp, grad: Any, grad_order: Any = None) -> Any:
    """L⁻ᴴ (strict lower part of Lᴴ grad_L + upper part of grad_U Uᴴ) U⁻ᴴ, rows put back."""
    factors, order = op.outputs
    if grad is None:
        return None
    upper = band_part(factors, 0, -1)
    lower = set_diag(_strictly_lower(factors), ones_like(diag_part(factors)))
    below = _strictly_lower(matmul(adjoint(lower), _strictly_lower(grad)))
    middle = below + band_part(matmul(band_part(grad, 0, -1), adjoint(upper)), 0, -1)
    left = triangular_solve(adjoint(lower), middle, lower=False)
    whole = adjoint(triangular_solve(upper, adjoint(left), lower=False))
    back = argsort(order, axis=-1)
    return gather(whole, back, batch_dims=len(order.dims) - 1)


def _strictly_lower(matrix: Any) -> Any:
    return matrix - band_part(matrix, 0, -1)


# --- eigenvalues ----------------------------------------------------------------------------


def _eig_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = _dims(inputs[0].dims, "Input tensor 0")
    values = (attrs["Tout"], None if dims is None else dims[:-1])
    return (values, (attrs["Tout"], dims)) if attrs["compute_v"] else (values,)


def _bind_eig(launch: Launch) -> Call:
    tensor = launch.inputs[0]
    if launch.attrs["compute_v"]:
        return fill_each, (lambda: launch.xp.linalg.eig(tensor), launch.outputs)
    return fill_each, (lambda: (launch.xp.linalg.eigvals(tensor),), launch.outputs)


EIG = matrix_op(
    "Eig",
    "input:T",
    _eig_type,
    _bind_eig,
    samples=("matrices, compute_v=True, Tout=complex128",),
)


def _complex(dtype: DType) -> DType:
    if dtype in COMPLEX:
        return dtype
    return complex64 if dtype is float32 else complex128


@public("linalg.eig", "eig")
def eig(tensor: TensorLike, name: str | None = None) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of matrices, which are complex.

    >>> eig([[2.0, 0.0], [0.0, 1.0]])[0].numpy().tolist()
    [(2+0j), (1+0j)]
    """
    matrix = convert(tensor)
    attrs = {"compute_v": True, "Tout": _complex(matrix.dtype.base_dtype)}
    values, vectors = apply(EIG, (matrix,), attrs, name)
    return values, vectors


@public("linalg.eigvals", "eigvals")
def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Eigenvalues of matrices, which are complex.

    >>> eigvals([[2.0, 0.0], [0.0, 1.0]]).numpy().tolist()
    [(2+0j), (1+0j)]
    """
    matrix = convert(tensor)
    attrs = {"compute_v": False, "Tout": _complex(matrix.dtype.base_dtype)}
    return apply(EIG, (matrix,), attrs, name)


@gradient(EIG)
@takes_none
def _eig_gradient(op: RecordedOp, grad_values: Any, grad_vectors: Any = None) -> Any:
    """V⁻ᴴ (diag(grad_e) + F* ∘ (Vᴴ grad_v - Vᴴ V diag(…))) Vᴴ: vectors keep their length."""
    tensor, attrs = op.inputs[0], op.attrs
    if attrs["compute_v"]:
        values, vectors = op.outputs
    else:
        values, vectors = apply(EIG, (tensor,), {**attrs, "compute_v": True})
    turned = adjoint(vectors)
    middle = zeros_like(vectors) if grad_values is None else diag(grad_values)
    if grad_vectors is not None:
        apart = expand_dims(values, -2) - expand_dims(values, -1)
        inverse = divide_no_nan(zeros_like(apart) + 1, apart)
        inner = matmul(turned, grad_vectors)
        lengths = cast(real(diag_part(inner)), inner.dtype.base_dtype)
        along = matmul(turned, vectors) * expand_dims(lengths, -2)
        middle = middle + conj(inverse) * (inner - along)
    whole = matmul(inv(turned), matmul(middle, turned))
    dtype = tensor.dtype.base_dtype
    return whole if dtype in COMPLEX else cast(real(whole), dtype)
