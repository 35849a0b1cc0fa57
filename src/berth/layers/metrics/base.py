"""What metrics are made of: variables that accumulate, a value, and an operation that updates.

A metric is a pair of tensors. Running the second adds a batch to the metric's variables and
gives the value with it; running the first gives the value so far.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from berth.dtypes import DType
from berth.front.graph_scope import add_to_collections
from berth.graph.keys import GraphKeys
from berth.layers.weighting import squeeze_to_fit, weights_to_fit
from berth.ops.arrays.filling import zeros
from berth.ops.compose import convert, is_eager
from berth.variables.variable import Variable, VariableAggregation, VariableSynchronization

Metric = tuple[Any, Any]
"""The value, and the operation that updates it and returns the new value."""


def refuse_eager(function: str) -> None:
    """Raise RuntimeError in eager mode: what a metric returns is run in a session."""
    if is_eager():
        raise RuntimeError(
            f"tf.metrics.{function} is not supported when eager execution is enabled."
        )


def metric_variable(shape: Any, dtype: DType, name: str) -> Variable:
    """Create a local variable of zeros, in the collection of metrics' variables too."""
    return Variable(
        partial(zeros, shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def finished(
    compute: Callable[..., Any],
    values: Any,
    updates: Any,
    metrics_collections: Any,
    updates_collections: Any,
    names: tuple[str, str] = ("value", "update_op"),
) -> Metric:
    """Return a metric that is computed alike from variables and from their updates."""
    value = compute(*values, name=names[0])
    update = compute(*updates, name=names[1])
    return collected(value, update, metrics_collections, updates_collections)


def collected(
    value: Any, update: Any, metrics_collections: Any, updates_collections: Any
) -> Metric:
    """Add a metric to the collections that are given, and return it."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def made_to_fit(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Drop or add last axes of size 1, so that ranks agree; ValueError if shapes do not."""
    predictions = convert(predictions)
    if labels is not None:
        labels, predictions = squeeze_to_fit(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    return (
        predictions,
        labels,
        None if weights is None else weights_to_fit(weights, predictions),
    )
