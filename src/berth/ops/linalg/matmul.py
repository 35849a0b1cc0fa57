"""Matrix multiplication: MatMul, BatchMatMulV2 and ``tf.matmul``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from berth.dtypes import COMPLEX, FLOATING, DType, as_dtype, int8, int16, int32, int64, uint8
from berth.errors import InvalidArgumentError, NotFoundError
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.attributes import FixedAttrs
from berth.ops.builder import apply
from berth.ops.compose import convert_like, is_eager, is_tensor, scope, type_of
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.gemm import product
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Parts, Typed, all_devices
from berth.ops.rules import ShapeMismatch, common_dims
from berth.ops.shape import Dims, bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public

_PRODUCT_TYPES = (*FLOATING, int16, int32, int64, *COMPLEX)


def _flops(inputs: Sequence[Typed], outputs: Sequence[Typed]) -> float:
    """Count a multiplication and an addition for each pair of factors."""
    n_factors, n_products = 1.0, 1.0
    for size in inputs[0].dims or ():
        n_factors *= size or 0
    for size in (outputs[0].dims or ())[-1:]:
        n_products *= size or 0
    return 2.0 * n_factors * n_products


# --- two matrices -------------------------------------------------------------------------


def _product_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    a, b = inputs
    for tensor in inputs:
        if tensor.dims is not None and len(tensor.dims) != 2:
            rank = len(tensor.dims)
            raise ShapeMismatch(
                f"Shape must be rank 2 but is rank {rank}",
                f"In[0] and In[1] ndims must be == 2: {rank}",
            )
    rows, inner = _matrix(a.dims, attrs["transpose_a"])
    other, columns = _matrix(b.dims, attrs["transpose_b"])
    _check_inner(inner, other, inputs)
    return ((a.dtype.base_dtype, (rows, columns)),)


def _matrix(dims: Dims, is_transposed: bool) -> tuple[int | None, int | None]:
    if dims is None:
        return None, None
    rows, columns = dims[-2:]
    return (columns, rows) if is_transposed else (rows, columns)


def _check_inner(a: int | None, b: int | None, inputs: Sequence[Typed]) -> None:
    if a != b and None not in (a, b):
        shapes = [bracketed(tensor.dims) for tensor in inputs]
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {a} and {b}",
            f"Matrix size-incompatible: In[0]: {shapes[0]}, In[1]: {shapes[1]}",
        )


def _bind_matmul(launch: Launch) -> Call | Parts:
    a, b = launch.inputs
    a = a.T if launch.attrs["transpose_a"] else a
    b = b.T if launch.attrs["transpose_b"] else b
    return product(launch.xp, a, b, launch.outputs[0], launch.n_threads)


MATMUL = OpDef(
    "MatMul",
    "a:T b:T",
    _product_type,
    types={"T": _PRODUCT_TYPES},
    kernels=all_devices(_bind_matmul, _PRODUCT_TYPES),
    flops=_flops,
    samples=(
        "f(2, 3), f(3, 4), transpose_a=False, transpose_b=False",
        "f(3, 2), f(4, 3), transpose_a=True, transpose_b=True",
    ),
    large_samples=("square, square, transpose_a=True, transpose_b=False",),
)

# --- stacks of matrices -------------------------------------------------------------------


def _batch_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    x, y = inputs
    for tensor in inputs:
        if tensor.dims is not None and len(tensor.dims) < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {len(tensor.dims)}")
    rows, inner = _matrix(x.dims, attrs["adj_x"])
    other, columns = _matrix(y.dims, attrs["adj_y"])
    _check_inner(inner, other, inputs)
    if x.dims is None or y.dims is None:
        return ((x.dtype.base_dtype, None),)
    try:
        batch = common_dims(x.dims[:-2], y.dims[:-2])
    except ShapeMismatch as error:
        at_run = (
            "In[0] and In[1] must have compatible batch dimensions: "
            f"{bracketed(x.dims)} vs. {bracketed(y.dims)}"
        )
        raise ShapeMismatch(str(error), at_run) from None
    return ((x.dtype.base_dtype, (*(batch or ()), rows, columns)),)


def _bind_batch_matmul(launch: Launch) -> Call | Parts:
    x, y = launch.inputs
    x = x.swapaxes(-1, -2) if launch.attrs["adj_x"] else x
    y = y.swapaxes(-1, -2) if launch.attrs["adj_y"] else y
    return product(launch.xp, x, y, launch.outputs[0], launch.n_threads)


BATCH_MATMUL = OpDef(
    "BatchMatMulV2",
    "x:T y:T",
    _batch_type,
    types={"T": _PRODUCT_TYPES},
    kernels=all_devices(_bind_batch_matmul, _PRODUCT_TYPES),
    flops=_flops,
    samples=(
        "f(5, 2, 3), f(1, 3, 4), adj_x=False, adj_y=False",
        "f(5, 3, 2), f(4, 3), adj_x=True, adj_y=True",
    ),
    large_samples=(
        "square.reshape(4, 256, 256), square.reshape(4, 256, 256), adj_x=True, adj_y=False",
    ),
)


_CHOICES = list(itertools.product((False, True), repeat=2))
_TRANSPOSES = {(a, b): FixedAttrs(transpose_a=a, transpose_b=b) for a, b in _CHOICES}
_BATCH_TRANSPOSES = {(a, b): FixedAttrs(adj_x=a, adj_y=b) for a, b in _CHOICES}


@public("matmul", "linalg.matmul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrix product of a and b, or of batches of them, each optionally transposed or adjoint.

    8-bit integers are summed up in 32 bits if `output_type` is int32. That a factor is sparse,
    or a gradient, makes no difference.

    >>> matmul([[1, 2], [3, 4]], [[1], [1]]).numpy().tolist()
    [[3], [7]]
    >>> matmul([[1, 2]], [[3, 4]], transpose_b=True).numpy().tolist()
    [[11]]
    """
    if transpose_a or transpose_b or adjoint_a or adjoint_b:
        _check_once("a", transpose_a, adjoint_a)
        _check_once("b", transpose_b, adjoint_b)
    transposes = bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)
    if output_type is not None:
        a, b = convert_like(a, type_of(b), "a"), convert_like(b, type_of(a), "b")
        a, b = _widened(a, b, as_dtype(output_type), transposes)
    if is_tensor(a) and is_tensor(b) and not (adjoint_a or adjoint_b):
        return _multiply(a, b, transposes, name or "MatMul")
    with scope("MatMul", name) as inner:
        a = convert_like(a, type_of(b), "a")
        b = convert_like(b, type_of(a), "b")
        # The kernel does not conjugate, so `adj_x` is a plain transpose here.
        return _multiply(
            conj(a) if adjoint_a else a, conj(b) if adjoint_b else b, transposes, inner
        )


def _widened(
    a: Any, b: Any, wanted: DType, transposes: tuple[bool, bool]
) -> tuple[Tensor, Tensor]:
    """Cast 8-bit factors to the type of their product; NotFoundError for other types."""
    types = a.dtype.base_dtype, b.dtype.base_dtype
    if types == (wanted, wanted):
        return a, b
    if wanted is int32 and set(types) <= {int8, uint8}:
        return cast(a, int32), cast(b, int32)
    names = [dtype.enum_name for dtype in (*types, wanted)]
    turned = [str(turns).lower() for turns in transposes]
    kind = NotFoundError if is_eager() else InvalidArgumentError
    raise kind(
        None,
        None,
        "Could not find device for node: {{node BatchMatMulV3}} = BatchMatMulV3"
        f"[Ta={names[0]}, Tb={names[1]}, Tout={names[2]}, adj_x={turned[0]}, "
        f"adj_y={turned[1]}, grad_x=false, grad_y=false]",
    )


def _check_once(factor: str, transpose: bool, adjoint: bool) -> None:
    """Raise ValueError for a factor that is to be both transposed and adjoint."""
    if transpose and adjoint:
        raise ValueError(
            f"Only one of `transpose_{factor}` and `adjoint_{factor}` can be True. Received "
            f"`transpose_{factor}`={transpose}, `adjoint_{factor}`={adjoint}."
        )


def _multiply(a: Any, b: Any, transposes: tuple[bool, bool], name: str) -> Tensor:
    x, y = a.dims, b.dims
    if x is not None and y is not None and len(x) <= 2 and len(y) <= 2:
        return apply(MATMUL, (a, b), _TRANSPOSES[transposes], name)
    return apply(BATCH_MATMUL, (a, b), _BATCH_TRANSPOSES[transposes], name)


@gradient(MATMUL)
def _matmul_gradient(op: RecordedOp, grad: Any) -> Any:
    return _product(op, grad, op.attrs["transpose_a"], op.attrs["transpose_b"])


@gradient(BATCH_MATMUL)
def _batch_matmul_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    of_x, of_y = _product(op, grad, op.attrs["adj_x"], op.attrs["adj_y"])
    return lambda: sum_like(of_x(), x), lambda: sum_like(of_y(), y)


def _product(op: RecordedOp, grad: Any, turns_a: bool, turns_b: bool) -> tuple[Any, Any]:
    """Gradients of both factors: each is a product of `grad` and the other."""
    a, b = op.inputs

    def of_a() -> Any:
        other = conj(b)
        if turns_a:
            return matmul(other, grad, transpose_a=turns_b, transpose_b=True)
        return matmul(grad, other, transpose_b=not turns_b)

    def of_b() -> Any:
        other = conj(a)
        if turns_b:
            return matmul(grad, other, transpose_a=True, transpose_b=turns_a)
        return matmul(other, grad, transpose_a=not turns_a)

    return of_a, of_b
