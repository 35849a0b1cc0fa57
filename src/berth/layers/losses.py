"""``tf.losses``: losses with weights, reduced to a number, and kept in a collection.

Each function computes a loss for each element or example; `compute_weighted_loss` weights and
reduces them.
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import float32
from berth.graph.keys import GraphKeys
from berth.layers.weighted_loss import Reduction, add_loss, compute_weighted_loss, num_present
from berth.layers.weighting import after_check, squeeze_to_fit, weights_to_fit
from berth.ops.arrays.array import either_name, stop_gradient
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.gathering import where
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.compose import convert
from berth.ops.compose import scope as open_scope
from berth.ops.elementwise.arithmetic import (
    add,
    maximum,
    minimum,
    multiply,
    squared_difference,
    subtract,
)
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.elementwise.sigmoid import relu
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.elementwise.unary import log, square
from berth.ops.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public_v1

_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


def _need(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")


def _as_floats(first: Any, labels: Any) -> tuple[Any, Any]:
    """Return predictions or logits, and labels, as float32; ValueError if shapes differ."""
    first, labels = cast(first, float32), cast(labels, float32)
    first.shape.assert_is_compatible_with(labels.shape)
    return first, labels


# --- of predictions ---------------------------------------------------------------------------


@public_v1("losses.absolute_difference")
def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Absolute difference between labels and predictions."""
    _need(labels=labels, predictions=predictions)
    with open_scope("absolute_difference", scope) as inner:
        predictions, labels = _as_floats(predictions, labels)
        losses = absolute(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.cosine_distance")
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
    dim: int | None = None,
) -> Any:
    """Cosine distance between labels and predictions, which are normalized along the axis."""
    axis = either_name("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    _need(labels=labels, predictions=predictions)
    with open_scope("cosine_distance_loss", scope) as inner:
        predictions, labels = _as_floats(predictions, labels)
        product = multiply(predictions, labels)
        losses = 1 - reduce_sum(product, (axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.huber_loss")
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Huber loss: quadratic for errors up to `delta`, linear beyond."""
    _need(labels=labels, predictions=predictions)
    with open_scope("huber_loss", scope) as inner:
        predictions, labels = _as_floats(predictions, labels)
        error = absolute(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = subtract(error, quadratic)
        losses = add(multiply(0.5, multiply(quadratic, quadratic)), multiply(delta, linear))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.log_loss")
def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Log loss of predicted probabilities."""
    _need(labels=labels, predictions=predictions)
    with open_scope("log_loss", scope) as inner:
        predictions, labels = _as_floats(predictions, labels)
        of_true = multiply(labels, log(predictions + epsilon))
        of_false = multiply((1 - labels), log(1 - predictions + epsilon))
        losses = -of_true - of_false
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Squared error between labels and predictions."""
    _need(labels=labels, predictions=predictions)
    with open_scope("mean_squared_error", scope) as inner:
        predictions, labels = _as_floats(predictions, labels)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Any:
    """Squared error between the differences of elements, over all pairs of an example's."""
    _need(labels=labels, predictions=predictions)
    with open_scope("mean_pairwise_squared_error", scope):
        weights = cast(weights, float32)
        predictions, labels = _as_floats(predictions, labels)
        with after_check(weights, labels):
            apart = subtract(predictions, labels)
            axes = range_of(1, rank_of(apart))
            squares = reduce_sum(square(apart), axes, keepdims=True)
            count = num_present(apart, weights, per_batch=True)
            mean = divide_no_nan(squares, maximum(count - 1, 0.0), name="value")
            total = reduce_sum(apart, axes, keepdims=True)
            pairs = maximum(multiply(count, count - 1), 0.0)
            shift = divide_no_nan(square(total), pairs, name="value")
            loss = reduce_sum(multiply(2.0 * mean - 2.0 * shift, weights))
            loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
            add_loss(loss, loss_collection)
            return loss


# --- of logits --------------------------------------------------------------------------------


@public_v1("losses.hinge_loss")
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Hinge loss of logits, for labels 0 and 1."""
    _need(labels=labels, logits=logits)
    with open_scope("hinge_loss", scope) as inner:
        logits, labels = _as_floats(logits, labels)
        ones = ones_like(labels)
        signs = subtract(2 * labels, ones)
        losses = relu(subtract(ones, multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Sigmoid cross entropy; smoothing moves labels towards one half."""
    _need(multi_class_labels=multi_class_labels, logits=logits)
    with open_scope("sigmoid_cross_entropy_loss", scope) as inner:
        logits = convert(logits)
        labels = cast(multi_class_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Softmax cross entropy; smoothing moves labels towards equal probabilities."""
    _need(onehot_labels=onehot_labels, logits=logits)
    with open_scope("softmax_cross_entropy_loss", scope) as inner:
        logits = convert(logits)
        labels = cast(onehot_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            n_classes = cast(shape_of(labels)[-1], logits.dtype.base_dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / n_classes
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


@public_v1("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Softmax cross entropy, with labels given as numbers of classes."""
    _need(labels=labels, logits=logits)
    with open_scope("sparse_softmax_cross_entropy_loss", scope) as inner:
        labels, logits = squeeze_to_fit(labels, logits, expected_rank_diff=1)
        weights = weights_to_fit(weights, labels, may_expand=False)
        losses = sparse_softmax_cross_entropy_with_logits(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)
