"""Counts of true and false predictions of a condition, precision and recall."""

from __future__ import annotations

from typing import Any

from berth.dtypes import bool_, float32
from berth.layers.metrics.base import (
    Metric,
    collected,
    finished,
    made_to_fit,
    metric_variable,
    refuse_eager,
)
from berth.layers.weighting import after_check
from berth.ops.arrays.array import identity
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import where
from berth.ops.elementwise.arithmetic import multiply, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater, logical_and
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public_v1
from berth.variables.assignment import assign_add
from berth.variables.scope import variable_scope


def _count(
    of: tuple[bool, bool],
    labels: Any,
    predictions: Any,
    weights: Any,
    collections: tuple[Any, Any],
    scope: tuple[str | None, str],
) -> Metric:
    """Count the examples of a label and a prediction."""
    label, prediction = of
    with variable_scope(*scope, (predictions, labels, weights)):
        predictions, labels, weights = made_to_fit(
            cast(predictions, bool_), cast(labels, bool_), weights
        )
        is_one = logical_and(equal(labels, label), equal(predictions, prediction))
        count = metric_variable([], float32, "count")
        ones = cast(is_one, float32)
        if weights is not None:
            with after_check(weights, ones):
                ones = multiply(ones, cast(weights, float32))
        return collected(identity(count), assign_add(count, reduce_sum(ones)), *collections)


@public_v1("metrics.true_positives")
def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of true positives."""
    refuse_eager("true_positives")
    collections, scope = (metrics_collections, updates_collections), (name, "true_positives")
    return _count((True, True), labels, predictions, weights, collections, scope)


@public_v1("metrics.true_negatives")
def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of true negatives."""
    refuse_eager("true_negatives")
    collections, scope = (metrics_collections, updates_collections), (name, "true_negatives")
    return _count((False, False), labels, predictions, weights, collections, scope)


@public_v1("metrics.false_positives")
def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of false positives."""
    refuse_eager("false_positives")
    collections, scope = (metrics_collections, updates_collections), (name, "false_positives")
    return _count((False, True), labels, predictions, weights, collections, scope)


@public_v1("metrics.false_negatives")
def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of false negatives."""
    refuse_eager("false_negatives")
    collections, scope = (metrics_collections, updates_collections), (name, "false_negatives")
    return _count((True, False), labels, predictions, weights, collections, scope)


def _share(right: Any, wrong: Any, name: str) -> Any:
    """Return right / (right + wrong); 0 if there are none."""
    quotient = truediv(right, right + wrong)
    return where(greater(right + wrong, 0), quotient, zeros_like(quotient), name)


@public_v1("metrics.precision")
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Precision: true positives among all positive predictions."""
    refuse_eager("precision")
    with variable_scope(name, "precision", (predictions, labels, weights)):
        fitting = made_to_fit(cast(predictions, bool_), cast(labels, bool_), weights)
        predictions, labels, weights = fitting
        right, of_right = true_positives(labels, predictions, weights)
        wrong, of_wrong = false_positives(labels, predictions, weights)
        collections = metrics_collections, updates_collections
        return finished(_share, (right, wrong), (of_right, of_wrong), *collections)


@public_v1("metrics.recall")
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Recall: true positives among all positive labels."""
    refuse_eager("recall")
    with variable_scope(name, "recall", (predictions, labels, weights)):
        fitting = made_to_fit(cast(predictions, bool_), cast(labels, bool_), weights)
        predictions, labels, weights = fitting
        right, of_right = true_positives(labels, predictions, weights)
        wrong, of_wrong = false_negatives(labels, predictions, weights)
        collections = metrics_collections, updates_collections
        return finished(_share, (right, wrong), (of_right, of_wrong), *collections)
