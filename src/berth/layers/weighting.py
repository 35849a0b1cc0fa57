"""Weights of losses and metrics: checks that they broadcast, and ranks made to agree.

Weights have one element, or the rank of the values with each size equal or 1. What is known
when the graph is built is checked then, the rest when it runs.
"""

from __future__ import annotations

from typing import Any

from berth.control_flow.cond import cond_v1
from berth.front.graph_scope import control_dependencies
from berth.ops.arrays.array import expand_dims, squeeze
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.compare import equal, logical_and, logical_or, not_equal
from berth.ops.flow.control import Assert, no_op
from berth.ops.reductions.reduction import reduce_all
from berth.ops.shape import is_known

_CANNOT = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """Assert that weights broadcast to values, by an operation; ValueError if known."""
    with scope("assert_broadcastable") as inner:
        weights, values = convert(weights, None, "weights"), convert(values, None, "values")
        of_weights, of_values = weights.dims, values.dims
        if of_weights == ():
            return no_op(name="static_scalar_check_success")
        if of_weights is not None and of_values is not None:
            _check_ranks(weights, values)
        if is_known(of_weights) and is_known(of_values):
            _check_sizes(weights, values)
            return no_op(name="static_dims_check_success")
        return _assert_when_run(weights, values, inner)


def _check_ranks(weights: Any, values: Any) -> None:
    if weights.shape.rank != values.shape.rank:
        raise ValueError(
            f"{_CANNOT} values.rank={values.shape.rank}. weights.rank={weights.shape.rank}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}. "
            f"Received weights={weights}, values={values}"
        )


def _check_sizes(weights: Any, values: Any) -> None:
    pairs = zip(weights.dims, values.dims, strict=True)
    for axis, (given, wanted) in enumerate(pairs):
        if given not in (1, wanted):
            raise ValueError(
                f"{_CANNOT} Mismatch at dim {axis}. values.shape={_listed(values)}, "
                f"weights.shape={_listed(weights)}. Received weights={weights}, "
                f"values={values}"
            )


def _listed(tensor: Any) -> str:
    """Print a shape as NumPy prints an array."""
    return "[" + " ".join(str(size) for size in tensor.dims) + "]"


def _assert_when_run(weights: Any, values: Any, name: str) -> Any:
    of_weights, of_values = shape_of(weights), shape_of(values)
    is_scalar = equal(0, rank_of(weights), name="is_scalar")

    def sizes_fit() -> Any:
        return reduce_all(logical_or(equal(of_weights, 1), equal(of_weights, of_values)))

    def ranks_fit() -> Any:
        return cond_v1(equal(rank_of(weights), rank_of(values)), sizes_fit, lambda: is_scalar)

    is_valid = cond_v1(is_scalar, lambda: is_scalar, ranks_fit, name="is_valid_shape")
    data = [_CANNOT, "weights.shape=", weights.name, of_weights]
    data += ["values.shape=", values.name, of_values, "is_scalar=", is_scalar]
    return Assert(is_valid, data, name=name)


def after_check(weights: Any, values: Any) -> Any:
    """Open a block whose operations wait until weights are known to broadcast to values."""
    return control_dependencies([assert_broadcastable(weights, values)])


def broadcast_weights(weights: Any, values: Any) -> Any:
    """Broadcast weights to the shape of values."""
    with scope("broadcast_weights") as inner:
        values = convert(values, None, "values")
        weights = convert(weights, None, "weights")
        if is_known(weights.dims) and weights.dims == values.dims:
            return weights
        with after_check(weights, values):
            return multiply(weights, ones_like(values), name=inner)


# --- ranks that differ by one -----------------------------------------------------------------


def squeeze_to_fit(labels: Any, predictions: Any, expected_rank_diff: int = 0) -> Any:
    """Drop the last axis of labels or predictions, of size 1, where it is one too many.

    `expected_rank_diff` is by how much the predictions' rank is higher: 1, if labels are
    numbers of classes.
    """
    with scope("remove_squeezable_dimensions"):
        predictions, labels = convert(predictions), convert(labels)
        if predictions.dims is not None and labels.dims is not None:
            difference = len(predictions.dims) - len(labels.dims)
            if difference == expected_rank_diff + 1 and _may_squeeze(predictions):
                predictions = squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1 and _may_squeeze(labels):
                labels = squeeze(labels, [-1])
            return labels, predictions
        excess = rank_of(predictions) - rank_of(labels)
        if _may_squeeze(predictions):
            predictions = _squeezed_if(equal(expected_rank_diff + 1, excess), predictions)
        if _may_squeeze(labels):
            labels = _squeezed_if(equal(expected_rank_diff - 1, excess), labels)
        return labels, predictions


def _may_squeeze(tensor: Any) -> bool:
    return tensor.dims is None or bool(tensor.dims and tensor.dims[-1] in (1, None))


def _squeezed_if(holds: Any, tensor: Any) -> Any:
    return cond_v1(holds, lambda: squeeze(tensor, [-1]), lambda: tensor)


def weights_to_fit(weights: Any, values: Any, may_expand: bool = True) -> Any:
    """Drop or add the last axis of weights where their rank differs by one from the values'."""
    weights = convert(weights)
    if weights.dims == ():
        return weights
    if weights.dims is not None and values.dims is not None:
        difference = len(weights.dims) - len(values.dims)
        if difference == 1:
            return squeeze(weights, [-1])
        if difference == -1 and may_expand:
            return expand_dims(weights, [-1])
        return weights
    excess = rank_of(weights) - rank_of(values)
    fitting = weights
    if _may_squeeze(weights):
        fitting = _squeezed_if(equal(1, excess), weights)
    if not may_expand:
        return fitting
    is_short = logical_and(equal(-1, excess), not_equal(rank_of(weights), 0))
    return cond_v1(is_short, lambda: expand_dims(weights, [-1]), lambda: fitting)
