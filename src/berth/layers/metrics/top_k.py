"""Precision and recall of the k highest predictions, for examples with several labels.

The labels of an example are a set of class numbers, and so are its predictions: what occurs
twice counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from berth.control_flow.cond import cond_v1
from berth.dtypes import bool_, float64, int64
from berth.layers.metrics.base import Metric, collected, metric_variable, refuse_eager
from berth.layers.weighting import after_check, broadcast_weights
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.metadata import size as size_of
from berth.ops.arrays.sorting import top_k
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import add, maximum, minimum, multiply, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import (
    equal,
    greater_equal,
    logical_and,
    logical_not,
)
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.linalg.diagonals import band_part
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.reduction import reduce_any, reduce_max, reduce_sum
from berth.public import public_v1
from berth.variables.assignment import assign_add

Sets = tuple[Any, Any]
"""Labels and predictions, their last axis the elements of a set."""

# --- sets along the last axis -----------------------------------------------------------------


def _pairs(first: Any, second: Any) -> Any:
    return equal(expand_dims(first, -1), expand_dims(second, -2))


def _is_in(first: Any, second: Any) -> Any:
    """Tell for each element of a set whether it is in another."""
    return reduce_any(_pairs(first, second), -1)


def _is_new(values: Any) -> Any:
    """Tell for each element whether none before it is equal."""
    equals = cast(_pairs(values, values), int64)
    before = equals - band_part(equals, 0, -1)
    return logical_not(reduce_any(cast(before, bool_), -1))


def _of_class(values: Any, class_id: int | None, is_counted: Any) -> Any:
    if class_id is None:
        return is_counted
    return logical_and(is_counted, equal(values, cast(class_id, int64)))


def _true_positive(sets: Sets, class_id: int | None) -> Any:
    labels, predictions = sets
    counted = logical_and(_is_new(predictions), _is_in(predictions, labels))
    return _of_class(predictions, class_id, counted)


def _false_positive(sets: Sets, class_id: int | None) -> Any:
    labels, predictions = sets
    counted = logical_and(_is_new(predictions), logical_not(_is_in(predictions, labels)))
    return _of_class(predictions, class_id, counted)


def _false_negative(sets: Sets, class_id: int | None) -> Any:
    labels, predictions = sets
    counted = logical_and(_is_new(labels), logical_not(_is_in(labels, predictions)))
    return _of_class(labels, class_id, counted)


# --- metrics ----------------------------------------------------------------------------------


def _at_k(name: str, k: int | None, class_id: int | None) -> str:
    at = f"{name}_at_{'k' if k is None else k}"
    return at if class_id is None else f"{at}_class{class_id}"


def _expanded(labels: Any, predictions: Any) -> Any:
    """Return labels as sets: one label for each example is a set of one."""
    with scope("expand_labels") as inner:
        labels = cast(labels, int64)
        if labels.dims is None or predictions.dims is None:
            raise ValueError(
                f"The ranks of labels {labels.shape} and predictions {predictions.shape} must "
                "be known."
            )
        if len(predictions.dims) == len(labels.dims):
            return labels
        if len(predictions.dims) == len(labels.dims) + 1:
            return expand_dims(labels, -1, name=inner)
        raise ValueError(
            f"Unexpected labels shape {labels.shape} for predictions shape "
            f"{predictions.shape}. Predictions rank should be the same rank as labels rank or "
            "labels rank plus one ."
        )


def _total(
    what: str, found: Callable[[], Any], weights: Any, k: int | None, class_id: int | None
) -> Metric:
    """Accumulate how many elements are found."""
    with scope(_at_k(what, k, class_id)) as inner:
        with scope(f"{what}s"):
            count = reduce_sum(cast(found(), float64), -1)
            if weights is not None:
                with after_check(weights, count):
                    count = multiply(count, cast(weights, float64))
        total = reduce_sum(count)
        variable = metric_variable([], float64, inner)
        return variable, assign_add(variable, total, name="update")


def _of_top_k(
    what: str,
    other: tuple[str, Callable[[Sets, int | None], Any]],
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    collections: tuple[Any, Any],
    name: str | None,
) -> Metric:
    with scope(_at_k(what, k, class_id), name) as inner:
        predictions_idx = convert(predictions_idx)
        sets = _expanded(labels, predictions_idx), cast(predictions_idx, int64)
        found = partial(_true_positive, sets, class_id)
        right, of_right = _total("true_positive", found, weights, k, class_id)
        wrong_name, function = other
        wrong, of_wrong = _total(
            wrong_name, partial(function, sets, class_id), weights, k, class_id
        )
        value = truediv(right, add(right, wrong), name=inner)
        update = truediv(of_right, add(of_right, of_wrong), name="update")
        return collected(value, update, *collections)


@public_v1("metrics.precision_at_top_k")
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Precision of predicted class numbers."""
    refuse_eager("precision_at_top_k")
    collections = metrics_collections, updates_collections
    other = "false_positive", _false_positive
    given = labels, predictions_idx, k, class_id, weights, collections, name
    return _of_top_k("precision", other, *given)


@public_v1("metrics.recall_at_top_k")
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Recall of predicted class numbers."""
    refuse_eager("recall_at_top_k")
    collections = metrics_collections, updates_collections
    other = "false_negative", _false_negative
    given = labels, predictions_idx, k, class_id, weights, collections, name
    return _of_top_k("recall", other, *given)


@public_v1("metrics.precision_at_k", "metrics.sparse_precision_at_k")
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Precision of the k highest predictions."""
    refuse_eager("sparse_precision_at_k")
    with scope(_at_k("precision", k, class_id), name) as inner:
        _, chosen = top_k(predictions, k)
        collections = metrics_collections, updates_collections
        return precision_at_top_k(labels, chosen, k, class_id, weights, *collections, inner)


@public_v1("metrics.recall_at_k")
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Recall of the k highest predictions."""
    refuse_eager("recall_at_k")
    with scope(_at_k("recall", k, class_id), name) as inner:
        _, chosen = top_k(predictions, k)
        collections = metrics_collections, updates_collections
        return recall_at_top_k(labels, chosen, k, class_id, weights, *collections, inner)


@public_v1("metrics.average_precision_at_k", "metrics.sparse_average_precision_at_k")
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean over examples of the precision at each rank where a label is found."""
    refuse_eager("sparse_average_precision_at_k")
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with scope(_at_k("average_precision", k, None), name) as inner:
        predictions = convert(predictions)
        _, chosen = top_k(predictions, k)
        labels = cast(labels, int64)
        n_classes = cast(shape_of(predictions)[-1], int64)
        labels = _expanded(_without_unknown(labels, n_classes), chosen)
        precision: Any = _average_precision(labels, cast(chosen, int64), k)
        if weights is None:
            most = cast(size_of(precision), float64)
        else:
            weights = broadcast_weights(cast(weights, float64), precision)
            precision, most = multiply(precision, weights), reduce_sum(weights)
        with scope("max") as of_max:
            limit = metric_variable([], float64, of_max)
            limit_update = assign_add(limit, most, name="update")
        with scope("total") as of_total:
            total = metric_variable([], float64, of_total)
            total_update = assign_add(total, reduce_sum(precision), name="update")
        value = divide_no_nan(total, limit, name="mean")
        update = divide_no_nan(total_update, limit_update, name=inner)
        return collected(value, update, metrics_collections, updates_collections)


def _without_unknown(labels: Any, n_classes: Any) -> Any:
    """Replace the labels of no class by -1, if there are any."""
    return cond_v1(
        greater_equal(reduce_max(labels), n_classes),
        lambda: where_v2(greater_equal(labels, n_classes), -ones_like(labels), labels),
        lambda: labels,
    )


def _average_precision(labels: Any, chosen: Any, k: int) -> Any:
    is_relevant = cast(_is_in(chosen, labels), float64)
    ranks = cumsum(ones_like(is_relevant), -1)
    precisions = truediv(cumsum(is_relevant, -1), ranks)
    is_label = greater_equal(labels, zeros_like(labels))
    n_relevant = minimum(reduce_sum(cast(is_label, int64), -1), k)
    total = reduce_sum(multiply(precisions, is_relevant), -1)
    return truediv(total, cast(maximum(n_relevant, 0), float64))
