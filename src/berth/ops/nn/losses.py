"""Loss functions: cross entropy, log-Poisson, L2.

Softmax runs along the last axis of a matrix; other tensors are reshaped to one first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from berth.dtypes import FLOATING, float16, float32
from berth.ops.arrays.any_rank import Around
from berth.ops.arrays.array import either_name, reshape, stop_gradient
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.stacking import pack
from berth.ops.arrays.transpose import transpose
from berth.ops.builder import apply
from berth.ops.compose import convert, convert_like, scope
from berth.ops.elementwise.arithmetic import add
from berth.ops.elementwise.blocks import in_blocks
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater_equal, less_equal, logical_and
from berth.ops.elementwise.sigmoid import sigmoid
from berth.ops.elementwise.unary import exp, log, negative
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.cross_entropy import SOFTMAX_CROSS_ENTROPY as SOFTMAX_CROSS_ENTROPY
from berth.ops.nn.cross_entropy import (
    SPARSE_SOFTMAX_CROSS_ENTROPY as SPARSE_SOFTMAX_CROSS_ENTROPY,
)
from berth.ops.nn.softmax import order_to_last
from berth.ops.nn.softplus import BEND_LENGTH, bend, softplus
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.reductions.reduction import reduce_prod
from berth.ops.rules import elementwise, like_both
from berth.ops.shape import is_known, merge, text
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- of a softmax -------------------------------------------------------------------------


@public_v2("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """Softmax cross entropy between logits and labels.

    >>> softmax_cross_entropy_with_logits([[0.5, 0.5]], [[0.0, 0.0]]).numpy().tolist()
    [0.6931471824645996]
    """
    with scope("softmax_cross_entropy_with_logits", name) as inner:
        logits = convert(logits, None, "logits")
        dtype = logits.dtype.base_dtype
        wide = cast(logits, float32) if dtype is float16 else logits
        labels = cast(convert(labels, None, "labels"), wide.dtype.base_dtype)
        if logits.dims is None and axis != -1:
            around, other = Around.of(logits, axis), Around.of(labels, axis)
            loss = softmax_cross_entropy_with_logits(other.block, around.block, 1)
            return around.without_axis(loss)
        order = None if logits.dims is None else order_to_last(logits.dims, axis)
        if order is not None:
            wide, labels = transpose(wide, order), transpose(labels, order)
        matrices = _as_matrix(wide), _as_matrix(labels)
        loss, _ = apply(SOFTMAX_CROSS_ENTROPY, matrices, {}, inner)
        return cast(_shaped_like_rows(loss, wide), dtype)


@public_v1("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Softmax cross entropy between logits and labels, differentiable by both.

    >>> softmax_cross_entropy_with_logits_v2([[1.0, 0.0]], [[900.0, 0.0]]).numpy().tolist()
    [0.0]
    """
    axis = either_name("axis", axis, "dim", dim)
    return softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis, name)


@public_v1("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits_v1(
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Softmax cross entropy between logits and labels, not differentiable by the labels.

    >>> softmax_cross_entropy_with_logits_v1(labels=[[1.0, 0.0]], logits=[[900.0, 0.0]]).numpy()
    array([0.], dtype=float32)
    """
    _need_both("softmax_cross_entropy_with_logits", labels, logits)
    with scope("softmax_cross_entropy_with_logits_sg", name) as inner:
        labels = stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits(
            labels, logits, dim if axis is None else axis, inner
        )


@public_v2("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Softmax cross entropy between logits and labels given as class indices.

    >>> sparse_softmax_cross_entropy_with_logits([0, 1], [[0.0, 0.0], [0.0, 900.0]]).numpy()
    array([0.6931472, 0.       ], dtype=float32)
    """
    with scope("SparseSoftmaxCrossEntropyWithLogits", name):
        labels = convert(labels, None, "labels")
        logits = convert(logits, None, "logits")
        _check_classes(labels.dims, logits)
        dtype = logits.dtype.base_dtype
        wide = cast(logits, float32) if dtype is float16 else logits
        is_matrix = wide.dims is not None and len(wide.dims) == 2
        vector = labels if is_matrix else reshape(labels, [-1])
        loss, _ = apply(SPARSE_SOFTMAX_CROSS_ENTROPY, (_as_matrix(wide), vector), {})
        return cast(_shaped_like_rows(loss, wide), dtype)


@public_v1("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits_v1(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Sparse softmax cross entropy, with TensorFlow 1's arguments.

    >>> sparse_softmax_cross_entropy_with_logits_v1(labels=[1], logits=[[0.0, 900.0]]).numpy()
    array([0.], dtype=float32)
    """
    _need_both("sparse_softmax_cross_entropy_with_logits", labels, logits)
    return sparse_softmax_cross_entropy_with_logits(labels, logits, name)


def _need_both(function: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError(
            f"Both `labels` and `logits` must be provided for {function}Received: "
            f"labels={labels} and logits={logits}"
        )


def _check_classes(labels: Any, logits: Any) -> None:
    """Raise ValueError unless there is a label for each row of logits."""
    dims = logits.dims
    if dims == ():
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
    if labels is None or dims is None:
        return
    shapes = f"labels.shape={text(labels)}{{}} and logits.shape={text(dims)}{{}}"
    if len(labels) != len(dims) - 1:
        ranks = shapes.format(f" of rank {len(labels)}", f" of rank {len(dims)}")
        raise ValueError(
            f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: {ranks}"
        )
    try:
        merge(labels, dims[:-1])
    except ValueError:
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. "
            f"Received: {shapes.format('', '')}"
        ) from None


def _as_matrix(tensor: Any) -> Any:
    """Flatten all axes but the last into one."""
    dims = tensor.dims
    if dims is not None and len(dims) == 2:
        return tensor
    if is_known(dims):
        return reshape(tensor, [math.prod(dims[:-1]), dims[-1]])
    sizes = shape(tensor)
    n_columns = sizes[-1] if dims is None or dims[-1] is None else dims[-1]
    return reshape(tensor, pack([reduce_prod(sizes[:-1]), n_columns]))


def _shaped_like_rows(loss: Any, logits: Any) -> Any:
    """Undo `_as_matrix` for the losses of its rows."""
    dims = logits.dims
    if dims is not None and len(dims) == 2:
        return loss
    if is_known(dims):
        return reshape(loss, list(dims[:-1]))
    loss = reshape(loss, shape(logits)[:-1])
    if dims is not None:
        loss.set_shape(dims[:-1])
    return loss


# --- of a sigmoid -------------------------------------------------------------------------


def _sigmoid_cross_entropy(xp: Any, attrs: Attrs) -> Any:
    def cross_entropy(logits: Any, labels: Any, out: Any) -> None:
        above = bend(xp, logits)
        product = logits * labels
        xp.clip(logits, 0, math.inf, out)
        xp.subtract(out, product, out)
        xp.add(out, above, out)

    return in_blocks(cross_entropy, BEND_LENGTH)


SIGMOID_CROSS_ENTROPY = elementwise(
    "SigmoidCrossEntropyWithLogits",
    "logits:T labels:T",
    _sigmoid_cross_entropy,
    FLOATING,
    like_both,
)
"""No operation of TensorFlow's, which needs nine for it, and twenty to go back."""


@public("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Sigmoid cross entropy between logits and labels, element-wise.

    >>> sigmoid_cross_entropy_with_logits([1.0, 0.0], [900.0, 900.0]).numpy().tolist()
    [0.0, 900.0]
    """
    _need_both("sigmoid_cross_entropy_with_logits", labels, logits)
    with scope("logistic_loss", name) as inner:
        logits, labels = _same_shape(logits, labels)
        return apply(SIGMOID_CROSS_ENTROPY, (logits, labels), {}, inner)


@gradient(SIGMOID_CROSS_ENTROPY)
def _sigmoid_cross_entropy_gradient(op: RecordedOp, grad: Any) -> Any:
    logits, labels = op.inputs
    return lambda: grad * (sigmoid(logits) - labels), lambda: -grad * logits


@public_v2("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: Any, name: str | None = None
) -> Tensor:
    """Sigmoid cross entropy, with a weight for positive labels.

    >>> weighted_cross_entropy_with_logits([1.0, 0.0], [-900.0, 900.0], 2.0).numpy().tolist()
    [1800.0, 900.0]
    """
    with scope("logistic_loss", name) as inner:
        logits, labels = _same_shape(logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        missed = weight * softplus(negative(logits))
        return add((1 - labels) * logits, missed, name=inner)


@public_v1("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits_v1(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """Weighted sigmoid cross entropy; `targets` is TensorFlow 1's name of `labels`.

    >>> weighted_cross_entropy_with_logits_v1([0.0], [900.0], 2.0).numpy().tolist()
    [900.0]
    """
    labels = either_name("labels", labels, "targets", targets)
    return weighted_cross_entropy_with_logits(labels, logits, pos_weight, name)


def _same_shape(
    first: Any, second: Any, names: str = "`logits` and `labels`"
) -> tuple[Tensor, Tensor]:
    """Return both as tensors of one type; ValueError if their shapes are known to differ."""
    first = convert(first, None, "logits")
    second = convert_like(second, first.dtype.base_dtype, "labels")
    try:
        merge(first.dims, second.dims)
    except ValueError:
        raise ValueError(
            f"{names} must have the same shape, received ({text(first.dims)} vs "
            f"{text(second.dims)})."
        ) from None
    return first, second


# --- of other predictions -----------------------------------------------------------------


@public("nn.log_poisson_loss")
def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """Log-Poisson loss: negative log-likelihood of counts, given the logarithms of rates.

    The full loss has a term (Stirling's) that does not depend on the predictions.

    >>> log_poisson_loss([2.0, 0.0], [0.0, 0.0]).numpy().tolist()
    [1.0, 1.0]
    """
    with scope("log_poisson_loss", name):
        log_mean, counts = _same_shape(log_input, targets, "`log_input` and `targets`")
        loss = exp(log_mean) - log_mean * counts
        if not compute_full_loss:
            return loss
        term = counts * log(counts) - counts + 0.5 * log(2 * math.pi * counts)
        is_small = logical_and(greater_equal(counts, 0), less_equal(counts, 1))
        return loss + where_v2(is_small, zeros_like(counts), term)


def _number_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[0].dtype.base_dtype, ()),)


def _bind_l2_loss(launch: Launch) -> Call:
    flat = launch.inputs[0].reshape(-1)
    return _l2_loss, (launch.xp, flat, launch.outputs[0])


def _l2_loss(xp: Any, flat: Any, out: Any) -> None:
    xp.dot(flat, flat, out)
    xp.multiply(out, 0.5, out)


L2_LOSS = OpDef(
    "L2Loss",
    "t:T",
    _number_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_l2_loss, FLOATING),
    samples=("f(2, 3)",),
    large_samples=("square",),
)


@public("nn.l2_loss")
def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """L2 loss: half the sum of the squares of a tensor.

    >>> l2_loss([3.0, 4.0]).numpy().item()
    12.5
    """
    return apply(L2_LOSS, (t,), {}, name)


@gradient(L2_LOSS)
def _l2_loss_gradient(op: RecordedOp, grad: Any) -> Any:
    return op.inputs[0] * grad
