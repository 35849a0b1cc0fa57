"""Counts of predictions above thresholds: what curves are made of.

Each metric of `counts` exists for a list of thresholds too; its value has an element for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import bool_, float32
from berth.front.graph_scope import control_dependencies
from berth.layers.metrics.base import (
    Metric,
    collected,
    finished,
    made_to_fit,
    metric_variable,
    refuse_eager,
)
from berth.layers.weighting import broadcast_weights
from berth.ops.arrays.array import constant, identity, reshape
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater, logical_and, logical_not
from berth.ops.flow.assertions import assert_greater_equal_v1, assert_less_equal_v1
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public_v1
from berth.variables.assignment import assign_add
from berth.variables.scope import variable_scope

EPSILON = 1e-7
"""Added where a denominator may be 0."""
_VARIABLES = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}
Counts = dict[str, Any]
"""From ``tp``, ``fn``, ``tn`` and ``fp`` to the counts of all thresholds."""


def counts_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any,
    kinds: Sequence[str] = tuple(_VARIABLES),
) -> tuple[Counts, Counts]:
    """Return the counts of some kinds, and the operations that update them."""
    predictions = convert(predictions)
    message = "predictions must be in [0, 1]"
    bounds = [cast(bound, predictions.dtype.base_dtype) for bound in (0.0, 1.0)]
    checks = [
        assert_greater_equal_v1(predictions, bounds[0], message=message),
        assert_less_equal_v1(predictions, bounds[1], message=message),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        predictions, labels, weights = made_to_fit(
            cast(predictions, float32), cast(labels, bool_), weights
        )
    if weights is not None:
        weights = reshape(broadcast_weights(cast(weights, float32), predictions), [1, -1])
    limits = constant(list(thresholds), float32, [len(thresholds), 1])
    is_positive = reshape(labels, [1, -1])
    is_above = greater(reshape(predictions, [1, -1]), limits)
    values, updates = {}, {}
    for kind in kinds:
        values[kind] = metric_variable([len(thresholds)], float32, _VARIABLES[kind])
        of_label = is_positive if kind in ("tp", "fn") else logical_not(is_positive)
        of_prediction = is_above if kind in ("tp", "fp") else logical_not(is_above)
        is_one: Any = cast(logical_and(of_label, of_prediction), float32)
        if weights is not None:
            is_one = is_one * weights
        updates[kind] = assign_add(values[kind], reduce_sum(is_one, 1))
    return values, updates


def spread_thresholds(count: int, last: float = 1.0 + EPSILON) -> list[float]:
    """Spread thresholds evenly, the outer ones a little outside of 0 and 1."""
    inner = [(number + 1) * 1.0 / (count - 1) for number in range(count - 2)]
    return [0.0 - EPSILON, *inner, last]


# --- counts -----------------------------------------------------------------------------------


def _counted(
    kind: str,
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any,
    collections: tuple[Any, Any],
    name: str | None,
) -> Metric:
    refuse_eager(f"{_VARIABLES[kind]}_at_thresholds")
    with variable_scope(name, _VARIABLES[kind], (predictions, labels, weights)):
        values, updates = counts_at_thresholds(
            labels, predictions, thresholds, weights, (kind,)
        )
        return collected(identity(values[kind]), updates[kind], *collections)


@public_v1("metrics.true_positives_at_thresholds")
def true_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of true positives at each threshold."""
    collections = metrics_collections, updates_collections
    return _counted("tp", labels, predictions, thresholds, weights, collections, name)


@public_v1("metrics.true_negatives_at_thresholds")
def true_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of true negatives at each threshold."""
    collections = metrics_collections, updates_collections
    return _counted("tn", labels, predictions, thresholds, weights, collections, name)


@public_v1("metrics.false_positives_at_thresholds")
def false_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of false positives at each threshold."""
    collections = metrics_collections, updates_collections
    return _counted("fp", labels, predictions, thresholds, weights, collections, name)


@public_v1("metrics.false_negatives_at_thresholds")
def false_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Number of false negatives at each threshold."""
    collections = metrics_collections, updates_collections
    return _counted("fn", labels, predictions, thresholds, weights, collections, name)


# --- shares -----------------------------------------------------------------------------------


def _share(right: Any, wrong: Any, name: str) -> Any:
    return truediv(right, EPSILON + right + wrong, name=name)


@public_v1("metrics.precision_at_thresholds")
def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Precision at each threshold."""
    refuse_eager("precision_at_thresholds")
    with variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        values, updates = counts_at_thresholds(
            labels, predictions, thresholds, weights, ("tp", "fp")
        )
        collections = metrics_collections, updates_collections
        names = "precision_value", "precision_update_op"
        return finished(_share, values.values(), updates.values(), *collections, names)


@public_v1("metrics.recall_at_thresholds")
def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Recall at each threshold."""
    refuse_eager("recall_at_thresholds")
    with variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        values, updates = counts_at_thresholds(
            labels, predictions, thresholds, weights, ("tp", "fn")
        )
        collections = metrics_collections, updates_collections
        names = "recall_value", "recall_update_op"
        return finished(_share, values.values(), updates.values(), *collections, names)
