"""Diagonals of matrices: diag, diag_part, set_diag, band_part, eye, trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import NUMBERS, as_dtype, bool_, float32, int32
from berth.ops.arrays.array import reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import ones
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.compose import convert, is_integer, is_tensor, scope
from berth.ops.elementwise.arithmetic import minimum
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.matrix_diag import (
    MATRIX_BAND_PART,
    MATRIX_DIAG,
    MATRIX_DIAG_PART,
    MATRIX_SET_DIAG,
    fill_and_copy,
    one_diagonal,
)
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.shape import bracketed, is_known
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public, public_v1

# --- of matrices --------------------------------------------------------------------------


@public("linalg.diag")
@public_v1("matrix_diag")
def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Batch of matrices with the given diagonals.

    >>> diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    >>> diag([1, 2], k=1).numpy().tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    diagonal = convert(diagonal, None, "diagonal")
    inputs = (diagonal, k, num_rows, num_cols, _padding(padding_value, diagonal))
    return apply(MATRIX_DIAG, inputs, {"align": align}, name)


def _padding(value: Any, like: Any) -> Any:
    """Return the padding value as a tensor of the diagonals' type."""
    dtype = like.dtype.base_dtype
    if dtype is bool_ and not hasattr(value, "dtype"):
        return convert(bool(value), dtype)
    return convert(value, dtype)


@public("linalg.diag_part")
@public_v1("matrix_diag_part")
def diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Diagonals of a batch of matrices: one, or a packed band.

    >>> diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    >>> diag_part([[1, 2], [3, 4]], k=(-1, 0)).numpy().tolist()
    [[1, 4], [3, 0]]
    """
    input = convert(input, None, "input")
    inputs = (input, k, _padding(padding_value, input))
    return apply(MATRIX_DIAG_PART, inputs, {"align": align}, name)


@public("linalg.set_diag")
@public_v1("matrix_set_diag")
def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Replace the diagonals of a batch of matrices.

    >>> set_diag([[1, 2], [3, 4]], [0, 0]).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    return apply(MATRIX_SET_DIAG, (input, diagonal, k), {"align": align}, name)


@public("linalg.band_part")
@public_v1("matrix_band_part")
def band_part(
    input: TensorLike, num_lower: Any, num_upper: Any, name: str | None = None
) -> Tensor:
    """Set everything outside a central band of each matrix to 0; -1 keeps all on that side.

    >>> band_part([[1, 2], [3, 4]], -1, 0).numpy().tolist()
    [[1, 0], [3, 4]]
    """
    return apply(MATRIX_BAND_PART, (input, num_lower, num_upper), {}, name)


@public("linalg.trace")
@public_v1("trace")
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Trace of matrices: the sum of the main diagonal.

    >>> trace([[1, 2], [3, 4]]).numpy().tolist()
    5
    """
    with scope("Trace", name) as inner:
        return reduce_sum(diag_part(convert(x, None, "x")), [-1], name=inner)


@public("eye", "linalg.eye")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrix, or a batch of identity matrices.

    >>> eye(2, 3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    wanted = as_dtype(dtype)
    columns = num_rows if num_columns is None else num_columns
    with scope("eye", name) as inner:
        if is_integer(num_rows) and is_integer(columns):
            length: Any = [min(int(num_rows), int(columns))]
        else:
            length = reshape(minimum(convert(num_rows, int32), convert(columns, int32)), [1])
        unit = diag(ones(length, wanted), name=inner, num_rows=num_rows, num_cols=columns)
        if batch_shape is None:
            return unit
        if is_tensor(batch_shape) or not is_known(unit.dims):
            return broadcast_to(unit, concat([convert(batch_shape, int32), shape(unit)], 0))
        return broadcast_to(unit, (*batch_shape, *unit.shape.as_list()))


# --- diagonals of tensors -----------------------------------------------------------------


def _tensor_diag_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = inputs[0].dims
    return ((inputs[0].dtype.base_dtype, None if dims is None else (*dims, *dims)),)


def _bind_tensor_diag(launch: Launch) -> Call:
    diagonal, out = launch.inputs[0].reshape(-1), launch.outputs[0]
    square = out.reshape(diagonal.size, diagonal.size)
    pairs = ((one_diagonal(square, 0), diagonal),)
    return fill_and_copy, (launch.xp.copyto, (out, 0), pairs)


TENSOR_DIAG = OpDef(
    "Diag",
    "diagonal:T",
    _tensor_diag_type,
    types={"T": NUMBERS},
    kernels=all_devices(_bind_tensor_diag, NUMBERS),
    samples=("d(2, 3)",),
)


def _tensor_part_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dtype, dims = inputs[0].dtype.base_dtype, inputs[0].dims
    if dims is None:
        return ((dtype, None),)
    half = len(dims) // 2
    if len(dims) % 2 or not dims:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(dims)}")
    for axis, (a, b) in enumerate(zip(dims[:half], dims[half:], strict=True)):
        if a != b and None not in (a, b):
            raise ValueError(
                f"Invalid shape {bracketed(dims)}: dimensions {axis} and {axis + half} do not "
                "match."
            )
    sizes = zip(dims[:half], dims[half:], strict=True)
    return ((dtype, tuple(b if a is None else a for a, b in sizes)),)


def _bind_tensor_part(launch: Launch) -> Call:
    out = launch.outputs[0]
    square = launch.inputs[0].reshape(out.size, out.size)
    return launch.xp.copyto, (out.reshape(-1), one_diagonal(square, 0))


TENSOR_DIAG_PART = OpDef(
    "DiagPart",
    "input:T",
    _tensor_part_type,
    types={"T": NUMBERS},
    kernels=all_devices(_bind_tensor_part, NUMBERS),
    samples=("d(2, 3, 2, 3)",),
)


@public("linalg.tensor_diag")
@public_v1("diag")
def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Diagonal tensor with the given diagonal values, of twice the rank.

    >>> tensor_diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    return apply(TENSOR_DIAG, (diagonal,), {}, name)


@gradient(TENSOR_DIAG)
def _tensor_diag_gradient(op: RecordedOp, grad: Any) -> Any:
    return tensor_diag_part(grad)


@public("linalg.tensor_diag_part")
@public_v1("diag_part")
def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Diagonal part of a tensor of even rank: the inverse of `tensor_diag`.

    >>> tensor_diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    """
    return apply(TENSOR_DIAG_PART, (input,), {}, name)


@gradient(TENSOR_DIAG_PART)
def _tensor_diag_part_gradient(op: RecordedOp, grad: Any) -> Any:
    return tensor_diag(grad)
