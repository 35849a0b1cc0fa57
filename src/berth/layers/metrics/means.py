"""Means over batches: of values, errors, correct predictions."""

from __future__ import annotations

from typing import Any

from berth.dtypes import float32
from berth.front.graph_scope import control_dependencies
from berth.layers.metrics.base import (
    Metric,
    collected,
    finished,
    made_to_fit,
    metric_variable,
    refuse_eager,
)
from berth.layers.weighting import broadcast_weights, squeeze_to_fit
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import where
from berth.ops.arrays.metadata import size as size_of
from berth.ops.elementwise.arithmetic import (
    maximum,
    multiply,
    squared_difference,
    subtract,
    truediv,
)
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, less
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.elementwise.roots import sqrt
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public_v1
from berth.variables.assignment import assign_add
from berth.variables.scope import variable_scope


def _quotient(total: Any, count: Any, name: str) -> Any:
    return divide_no_nan(total, maximum(count, 0.0), name=name)


@public_v1("metrics.mean")
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Weighted mean of values."""
    refuse_eager("mean")
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, float32)
        total = metric_variable([], float32, "total")
        count = metric_variable([], float32, "count")
        if weights is None:
            added = cast(size_of(values), float32)
        else:
            values, weights = _weighted(values, weights)
            added = reduce_sum(weights)
        of_total = assign_add(total, reduce_sum(values))
        with control_dependencies([values]):
            of_count = assign_add(count, added)
        collections = metrics_collections, updates_collections
        return finished(_quotient, (total, count), (of_total, of_count), *collections)


def _weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    values, _, weights = made_to_fit(values, None, weights)
    weights = broadcast_weights(cast(weights, float32), values)
    return multiply(values, weights), weights


@public_v1("metrics.mean_tensor")
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Weighted mean of each element over batches."""
    refuse_eager("mean_tensor")
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, float32)
        total = metric_variable(values.shape, float32, "total_tensor")
        count = metric_variable(values.shape, float32, "count_tensor")
        added = ones_like(values)
        if weights is not None:
            values, weights = _weighted(values, weights)
            added = multiply(added, weights)
        of_total = assign_add(total, values)
        with control_dependencies([values]):
            of_count = assign_add(count, added)
        collections = metrics_collections, updates_collections
        return finished(_quotient, (total, count), (of_total, of_count), *collections)


@public_v1("metrics.accuracy")
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Accuracy: how often predictions equal labels."""
    refuse_eager("accuracy")
    predictions, labels, weights = made_to_fit(predictions, labels, weights)
    if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
        predictions = cast(predictions, labels.dtype.base_dtype)
    is_correct = cast(equal(predictions, labels), float32)
    collections = metrics_collections, updates_collections
    return mean(is_correct, weights, *collections, name or "accuracy")


@public_v1("metrics.mean_absolute_error")
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean absolute error between labels and predictions."""
    refuse_eager("mean_absolute_error")
    predictions, labels, weights = made_to_fit(predictions, labels, weights)
    errors = absolute(predictions - labels)
    collections = metrics_collections, updates_collections
    return mean(errors, weights, *collections, name or "mean_absolute_error")


@public_v1("metrics.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean squared error between labels and predictions."""
    refuse_eager("mean_squared_error")
    predictions, labels, weights = made_to_fit(predictions, labels, weights)
    errors = squared_difference(labels, predictions)
    collections = metrics_collections, updates_collections
    return mean(errors, weights, *collections, name or "mean_squared_error")


@public_v1("metrics.root_mean_squared_error")
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Root of the mean squared error between labels and predictions."""
    refuse_eager("root_mean_squared_error")
    predictions, labels, weights = made_to_fit(predictions, labels, weights)
    value, update = mean_squared_error(
        labels, predictions, weights, name=name or "root_mean_squared_error"
    )
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


@public_v1("metrics.mean_relative_error")
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean of absolute errors divided by the normalizer; 0 where that is 0."""
    refuse_eager("mean_relative_error")
    predictions, labels, weights = made_to_fit(predictions, labels, weights)
    predictions, normalizer = squeeze_to_fit(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    relative = truediv(absolute(labels - predictions), normalizer)
    errors = where(equal(normalizer, 0.0), zeros_like(labels), relative)
    collections = metrics_collections, updates_collections
    return mean(errors, weights, *collections, name or "mean_relative_error")


@public_v1("metrics.mean_cosine_distance")
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean cosine distance of labels and predictions, which are normalized along `dim`."""
    refuse_eager("mean_cosine_distance")
    predictions, labels, weights = made_to_fit(predictions, labels, weights)
    products = reduce_sum(multiply(predictions, labels), [dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    value, update = subtract(1.0, value), subtract(1.0, update)
    return collected(value, update, metrics_collections, updates_collections)


@public_v1("metrics.percentage_below")
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Share of values below a threshold, between 0 and 1."""
    refuse_eager("percentage_below")
    is_below = cast(less(values, threshold), float32)
    collections = metrics_collections, updates_collections
    return mean(is_below, weights, *collections, name or "percentage_below_threshold")
