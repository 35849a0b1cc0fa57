"""Areas under curves, and points on them: ROC, precision and recall, specificity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from berth.dtypes import int32
from berth.front.logger import get_logger
from berth.layers.metrics.base import Metric, finished, refuse_eager
from berth.layers.metrics.thresholds import EPSILON, counts_at_thresholds, spread_thresholds
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.gathering import where
from berth.ops.elementwise.arithmetic import maximum, minimum, multiply, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, logical_and
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.elementwise.unary import log
from berth.ops.reductions.argmax import argmax, argmin
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.reduction import reduce_min, reduce_sum
from berth.public import public_v1
from berth.variables.scope import variable_scope

_SMALL = 1.0e-6
_HEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoidal": lambda left, right: (left + right) / 2.0,
    "careful_interpolation": lambda left, right: (left + right) / 2.0,
    "minoring": minimum,
    "majoring": maximum,
}
"""The height of a curve between two points, by the method of summation."""


@public_v1("metrics.auc")
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:
    """Area under the ROC curve, or the curve of precision and recall (``PR``)."""
    refuse_eager("auc")
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
        limits = spread_thresholds(num_thresholds)
        if thresholds is not None:
            limits = [limits[0], *sorted(thresholds), limits[-1]]
        values, updates = counts_at_thresholds(labels, predictions, limits, weights)
        area = partial(_area, curve, summation_method)
        collections = metrics_collections, updates_collections
        return finished(area, values.values(), updates.values(), *collections)


def _area(curve: str, method: str, tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Any:
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn)
    if curve == "PR" and method == "trapezoidal":
        get_logger().warning(
            "Trapezoidal rule is known to produce incorrect PR-AUCs; "
            'please switch to "careful_interpolation" instead.'
        )
    if method not in _HEIGHTS:
        raise ValueError(
            f"Invalid summation_method: {method} summation_method should be 'trapezoidal', "
            "'careful_interpolation', 'minoring', or 'majoring'."
        )
    recall = truediv(tp + _SMALL, tp + fn + _SMALL)
    x, y = recall, truediv(tp + _SMALL, tp + fp + _SMALL)
    if curve == "ROC":
        x, y = truediv(fp, fp + tn + _SMALL), recall
    height = _HEIGHTS[method](y[:-1], y[1:])
    return reduce_sum(multiply(x[:-1] - x[1:], height), name=name)


def _interpolated(tp: Any, fp: Any, fn: Any) -> Any:
    """Integrate precision over recall, the true positives linear between two points."""
    gained = tp[:-1] - tp[1:]
    positive = tp + fp
    slope: Any = divide_no_nan(gained, maximum(positive[:-1] - positive[1:], 0.0))
    intercept = tp[1:] - multiply(slope, positive[1:])
    both = logical_and(positive[:-1] > 0, positive[1:] > 0)
    ratio = divide_no_nan(positive[:-1], maximum(positive[1:], 0.0))
    ratio = where(both, ratio, ones_like(positive[1:]))
    parts = slope * (gained + intercept * log(ratio))
    shares = divide_no_nan(parts, maximum(tp[1:] + fn[1:], 0.0))
    return reduce_sum(shares, name="interpolate_pr_auc")


# --- points -----------------------------------------------------------------------------------


@public_v1("metrics.sensitivity_at_specificity")
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Sensitivity at the threshold whose specificity is nearest to the one given."""
    refuse_eager("sensitivity_at_specificity")
    if not 0 <= specificity <= 1:
        raise ValueError(
            "`specificity` must be in the range [0, 1]. Currently, `specificity` got "
            f"{specificity}."
        )

    def sensitivity(tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Any:
        apart = absolute(truediv(tn, tn + fp + EPSILON) - specificity)
        at = cast(argmin(apart, 0), int32)
        return truediv(tp[at], tp[at] + fn[at] + EPSILON, name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        limits = spread_thresholds(num_thresholds)
        values, updates = counts_at_thresholds(labels, predictions, limits, weights)
        collections = metrics_collections, updates_collections
        return finished(sensitivity, values.values(), updates.values(), *collections)


@public_v1("metrics.specificity_at_sensitivity")
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Specificity at the last threshold whose sensitivity is nearest to the one given."""
    refuse_eager("specificity_at_sensitivity")
    if not 0 <= sensitivity <= 1:
        raise ValueError(
            "`sensitivity` must be in the range [0, 1]. Currently, `sensitivity` is "
            f"{sensitivity}."
        )

    def specificity(tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Any:
        apart = absolute(truediv(tp, tp + fn + EPSILON) - sensitivity)
        is_nearest = cast(equal(apart, reduce_min(apart)), int32)
        at = cast(argmax(cumsum(is_nearest), 0), int32)
        return truediv(tn[at], tn[at] + fp[at] + EPSILON, name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        limits = spread_thresholds(num_thresholds, last=1.0 - EPSILON)
        values, updates = counts_at_thresholds(labels, predictions, limits, weights)
        collections = metrics_collections, updates_collections
        return finished(specificity, values.values(), updates.values(), *collections)
