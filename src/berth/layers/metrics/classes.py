"""Metrics of several classes: mean intersection over union, mean accuracy of the classes."""

from __future__ import annotations

from typing import Any

from berth.dtypes import float32, float64, int64
from berth.layers.metrics.base import Metric, collected, metric_variable, refuse_eager
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones, ones_like, zeros_like
from berth.ops.arrays.gathering import where
from berth.ops.arrays.metadata import size as size_of
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import maximum, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater, not_equal
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.linalg.diagonals import tensor_diag_part
from berth.ops.reductions.reduction import reduce_mean, reduce_sum
from berth.ops.reductions.statistics import confusion_matrix
from berth.public import public_v1
from berth.variables.assignment import assign_add, scatter_add
from berth.variables.scope import variable_scope


def _flat(tensor: Any) -> Any:
    return reshape(tensor, [-1]) if tensor.shape.rank != 1 else tensor


@public_v1("metrics.mean_iou")
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean intersection over union of classes; updating returns the confusion matrix."""
    refuse_eager("mean_iou")
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions, labels = convert(predictions), convert(labels)
        predictions.shape.assert_is_compatible_with(labels.shape)
        shape = [num_classes, num_classes]
        total = metric_variable(shape, float64, "total_confusion_matrix")
        matrix = confusion_matrix(
            _flat(cast(labels, int64)),
            _flat(cast(predictions, int64)),
            num_classes,
            weights=None if weights is None else _flat(convert(weights)),
            dtype=float64,
        )
        update = assign_add(total, matrix)
        value = _intersection_over_union(total)
        return collected(value, update, metrics_collections, updates_collections)


def _intersection_over_union(matrix: Any) -> Any:
    predicted = cast(reduce_sum(matrix, 0), float32)
    labelled = cast(reduce_sum(matrix, 1), float32)
    both = cast(tensor_diag_part(matrix), float32)
    union: Any = predicted + labelled - both
    n_found = reduce_sum(cast(not_equal(union, 0.0), float32))
    union = where(greater(union, 0.0), union, ones_like(union))
    mean = reduce_sum(truediv(both, union), name="mean_iou") / n_found
    return where(greater(n_found, 0.0), mean, zeros_like(mean))


@public_v1("metrics.mean_per_class_accuracy")
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Mean of the classes' accuracies; updating returns them all."""
    refuse_eager("mean_per_class_accuracy")
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels, predictions = _flat(cast(labels, int64)), _flat(convert(predictions))
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], float32, "total")
        count = metric_variable([num_classes], float32, "count")
        each: Any = ones([size_of(labels)], float32)
        is_correct: Any = cast(equal(cast(predictions, int64), labels), float32)
        if weights is not None:
            weights = cast(_flat(convert(weights)), float32)
            is_correct, each = is_correct * weights, each * weights
        of_total = scatter_add(total, labels, each)
        of_count = scatter_add(count, labels, is_correct)
        accuracies = divide_no_nan(count, maximum(total, 0.0))
        value = reduce_mean(accuracies, name="mean_accuracy")
        update = divide_no_nan(of_count, maximum(of_total, 0.0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
