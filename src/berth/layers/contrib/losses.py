"""``slim.losses``: `tf.losses`, with predictions or logits before the labels."""

from __future__ import annotations

from typing import Any

from berth.layers import losses as modern
from berth.layers import weighted_loss as collection
from berth.layers.contrib.arg_scope import add_arg_scope
from berth.public import public_v1

_PLACES = ("contrib.losses", "contrib.slim.losses")


def _public(function: Any) -> Any:
    name = function.__name__
    return public_v1(*(f"{place}.{name}" for place in _PLACES))(add_arg_scope(function))


for _function in (
    collection.add_loss,
    collection.compute_weighted_loss,
    collection.get_losses,
    collection.get_regularization_losses,
    collection.get_total_loss,
):
    public_v1(*(f"{place}.{_function.__name__}" for place in _PLACES))(_function)


@_public
def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Any:
    """Absolute difference between predictions and labels."""
    return modern.absolute_difference(labels, predictions, weights, scope)


@_public
def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Any:
    """Squared error between predictions and labels."""
    return modern.mean_squared_error(labels, predictions, weights, scope)


@_public
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Any:
    """Squared error between the differences of elements, over all pairs of an example's."""
    return modern.mean_pairwise_squared_error(labels, predictions, weights, scope)


@_public
def log_loss(
    predictions: Any,
    labels: Any = None,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: Any = None,
) -> Any:
    """Log loss of predicted probabilities."""
    return modern.log_loss(labels, predictions, weights, epsilon, scope)


@_public
def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: Any = None,
    dim: int | None = None,
) -> Any:
    """Cosine distance between predictions and labels."""
    return modern.cosine_distance(labels, predictions, axis, weights, scope, dim=dim)


@_public
def hinge_loss(logits: Any, labels: Any = None, scope: Any = None) -> Any:
    """Hinge loss of each element, not reduced and in no collection."""
    return modern.hinge_loss(labels, logits, 1.0, scope, None, "none")


@_public
def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
) -> Any:
    """Sigmoid cross entropy."""
    given = weights, label_smoothing, scope
    return modern.sigmoid_cross_entropy(multi_class_labels, logits, *given)


@_public
def softmax_cross_entropy(
    logits: Any,
    onehot_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
) -> Any:
    """Softmax cross entropy."""
    return modern.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


@_public
def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: Any = None
) -> Any:
    """Softmax cross entropy, with labels given as numbers of classes."""
    return modern.sparse_softmax_cross_entropy(labels, logits, weights, scope)
