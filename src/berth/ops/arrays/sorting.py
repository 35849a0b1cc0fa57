"""`top_k`, `sort`, `argsort` and `in_top_k`.

`sort` is `top_k` of all elements. The order of equal elements is kept, in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.dtypes import REAL, as_dtype, bool_, int16, int32
from berth.ops.arrays.any_rank import Around
from berth.ops.arrays.array import expand_dims, reshape
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import axis_size, shape, size
from berth.ops.arrays.scattering import scatter_nd
from berth.ops.arrays.transpose import transpose
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.unary import INVERT, negative
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.rules import INDEX, ShapeMismatch, check_rank
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- top_k --------------------------------------------------------------------------------


class TopK(NamedTuple):
    """The k largest elements, and their indices."""

    values: Tensor
    indices: Tensor


def _top_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, k = inputs
    dtype, positions = tensor.dtype.base_dtype, attrs["index_type"]
    check_rank(k.dims, 0)
    if tensor.dims == ():
        raise ShapeMismatch(
            "Shape must be at least rank 1 but is rank 0", "input must be >= 1-D, got shape []"
        )
    count = None if k.value is None else int(k.value)
    if count is not None and count < 0:
        message = (
            f"Dimension size, given by scalar input 1, must be non-negative but is {count}"
        )
        raise ShapeMismatch(message, f"Need k >= 0, got {count}")
    if tensor.dims is None:
        return ((dtype, None), (positions, None))
    size = tensor.dims[-1]
    if count is not None and size is not None and count > size:
        raise ShapeMismatch(
            f"input must have last dimension >= k = {count} but is {size}",
            f"input must have at least k columns. Had {size}, needed {count}",
        )
    dims = (*tensor.dims[:-1], count)
    return ((dtype, dims), (positions, dims))


def _bind_top(launch: Launch) -> Call | None:
    tensor = launch.inputs[0]
    values, indices = launch.outputs
    if not values.size:
        return None
    if values.shape[-1] == 1:
        return _largest, (launch.xp, tensor, values, indices)
    return _top, (launch.xp, tensor, values, indices)


def _largest(xp: Any, tensor: Any, values: Any, indices: Any) -> None:
    indices[..., 0] = tensor.argmax(-1)
    xp.amax(tensor, -1, out=values, keepdims=True)


def _top(xp: Any, tensor: Any, values: Any, indices: Any) -> None:
    """Sort stably from the other end, so that of equal elements the first comes first."""
    size, k = tensor.shape[-1], values.shape[-1]
    order = xp.argsort(tensor[..., ::-1], axis=-1, kind="stable")[..., size - k :][..., ::-1]
    xp.subtract(size - 1, order, out=order)
    xp.copyto(indices, order, casting="same_kind")
    xp.copyto(values, xp.take_along_axis(tensor, order, -1))


TOP_K = OpDef(
    "TopKV2",
    "input:T k:Tk",
    _top_type,
    types={"T": REAL, "Tk": (int16, *INDEX)},
    kernels=all_devices(_bind_top, REAL),
    host_inputs=(1,),
    samples=(
        "f(2, 5), at(3), sorted=True, index_type=int32",
        "f(2, 5), at(1), sorted=True, index_type=int64",
    ),
)


@public("math.top_k", "nn.top_k")
def top_k(
    input: TensorLike,
    k: Any = 1,
    sorted: bool = True,
    index_type: Any = int32,
    name: str | None = None,
) -> TopK:
    """The k largest elements along the last axis, in descending order, and their indices.

    >>> values, indices = top_k([3, 9, 5, 9], 2)
    >>> values.numpy().tolist(), indices.numpy().tolist()
    ([9, 9], [1, 3])
    """
    attrs = {"sorted": bool(sorted), "index_type": as_dtype(index_type)}
    return TopK(*apply(TOP_K, (input, convert(k)), attrs, name))


@gradient(TOP_K)
def _top_k_gradient(op: RecordedOp, grad: Any, _: Any) -> Any:
    """Scatter the gradients to the indices of the elements, in the flattened input."""
    tensor, indices = op.inputs[0], op.outputs[1]
    n_elements, width = size(tensor), shape(tensor)[-1]
    n_rows = n_elements // maximum(width, 1)
    rows = reshape(cast(indices, int32), stack([n_rows, shape(indices)[-1]]))
    starts = range_op(n_rows) * width
    numbers = reshape(rows + expand_dims(starts, 1), [-1, 1])
    put = scatter_nd(numbers, reshape(grad, [-1]), reshape(n_elements, [1]))
    return reshape(put, shape(tensor)), None


# --- sort and argsort ---------------------------------------------------------------------


@public("sort")
def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sort a tensor along an axis.

    >>> sort([3, 1, 2]).numpy().tolist()
    [1, 2, 3]
    >>> sort([[3, 1], [2, 4]], axis=0, direction="DESCENDING").numpy().tolist()
    [[3, 4], [2, 1]]
    """
    with scope("sort", name):
        values = convert(values, None, "values")
        if _is_ascending(direction):
            return _backwards(_in_order(_backwards(values), axis).values)
        return _in_order(values, axis).values


@public("argsort")
def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Indices that sort a tensor along an axis.

    It is always stable: of equal elements the first comes first.

    >>> argsort([3, 1, 2]).numpy().tolist()
    [1, 2, 0]
    """
    with scope("argsort", name):
        values = convert(values, None, "values")
        if _is_ascending(direction):
            values = _backwards(values)
        return _in_order(values, axis).indices


def _is_ascending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            "Argument `direction` should be one of ASCENDING, DESCENDING. Received: "
            f"direction={direction}"
        )
    return direction == "ASCENDING"


def _backwards(values: Any) -> Tensor:
    """Return numbers whose order is the reverse: for integers, without overflow."""
    if values.dtype.is_floating:
        return negative(values)
    return apply(INVERT, (values,), {})


def _in_order(values: Any, axis: int) -> TopK:
    """Return all elements along an axis in descending order, and their indices."""
    if axis == -1:
        return top_k(values, axis_size(values, -1))
    if values.dims is None:
        around = Around.of(values, axis)
        top = _in_order(around.block, 1)
        return TopK(around.restored(top.values), around.restored(top.indices))
    rank = len(values.dims)
    if not -rank <= axis < rank:
        return top_k(values, shape(values)[axis])  # which fails, as a slice does
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    turned = transpose(values, order)
    top = top_k(turned, axis_size(turned, -1))
    return TopK(transpose(top.values, order), transpose(top.indices, order))


# --- in_top_k -----------------------------------------------------------------------------


def _among_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    predictions, targets, k = inputs
    check_rank(predictions.dims, 2)
    check_rank(targets.dims, 1)
    check_rank(k.dims, 0)
    n_rows = predictions.dims[0] if predictions.dims else None
    n_targets = targets.dims[0] if targets.dims else None
    if n_rows != n_targets and None not in (n_rows, n_targets):
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {n_rows} and {n_targets}",
            f"First dimension of predictions {n_rows} must match length of targets {n_targets}",
        )
    return ((bool_, (n_targets if n_rows is None else n_rows,)),)


def _among_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory to mark what is larger."""
    return ((bool_, inputs[0].dims),)


def _bind_among(launch: Launch) -> Call:
    return _among, (launch.xp, *launch.inputs, launch.scratch[0], launch.outputs[0])


def _among(xp: Any, predictions: Any, targets: Any, k: Any, larger: Any, out: Any) -> None:
    n_rows, n_classes = predictions.shape
    if not n_rows or not n_classes:
        out[...] = False
        return
    is_class = (targets >= 0) & (targets < n_classes)
    chosen = predictions[xp.arange(n_rows), xp.where(is_class, targets, 0)]
    xp.greater(predictions, chosen[:, None], out=larger)
    xp.less(larger.sum(1), k, out=out)
    xp.isfinite(predictions, out=larger)  # as in TensorFlow, other rows say nothing
    xp.logical_and(out, is_class & larger.all(1), out=out)


IN_TOP_K = OpDef(
    "InTopKV2",
    "predictions:float32 targets:T k:T",
    _among_type,
    types={"T": INDEX},
    kernels=all_devices(_bind_among, INDEX, _among_scratch),
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(3, 4), i(0, 5, 2), at(2)",),
    large_samples=("square, i(*range(512)), at(3)",),
)


@public_v2("math.in_top_k", "nn.in_top_k")
def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: Any, name: str | None = None
) -> Tensor:
    """Whether the target of each row is among its k largest predictions.

    >>> in_top_k([0, 2], [[0.1, 0.8, 0.3], [0.2, 0.1, 0.5]], 2).numpy().tolist()
    [False, True]
    """
    return apply(IN_TOP_K, (predictions, targets, k), {}, name)


@public_v1("math.in_top_k", "nn.in_top_k")
def in_top_k_v1(
    predictions: TensorLike, targets: TensorLike, k: Any, name: str | None = None
) -> Tensor:
    """Whether targets are among the k largest of each row, with TensorFlow 1's argument names.

    >>> in_top_k_v1([[0.1, 0.8, 0.3], [0.2, 0.1, 0.5]], [0, 2], 2).numpy().tolist()
    [False, True]
    """
    return in_top_k(targets, predictions, k, name)
