"""Weighted losses: how the losses of elements become one, and the collection of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.dtypes import float32
from berth.front.graph_scope import add_to_collection, get_collection
from berth.graph.keys import GraphKeys
from berth.layers.weighting import after_check, broadcast_weights
from berth.ops.arrays.array import constant
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.gathering import where
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import size as size_of
from berth.ops.compose import convert, is_eager, scope
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public_v1


@public_v1("losses.Reduction")
class Reduction:
    """How the weighted losses of elements become the loss that is returned."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """List all reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise ValueError unless it is a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls.all()}.")


@public_v1("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Weight losses, reduce them and add the result to a collection."""
    Reduction.validate(reduction)
    with _scope("weighted_loss", scope), after_check(weights, losses):
        losses = convert(losses)
        dtype = losses.dtype.base_dtype
        losses, weights = cast(losses, float32), cast(weights, float32)
        loss = multiply(losses, weights)
        if reduction != Reduction.NONE:
            loss = reduce_sum(loss)
            loss = _DIVISIONS.get(reduction, _not_divided)(loss, losses, weights)
        loss = cast(loss, dtype)
        add_loss(loss, loss_collection)
        return loss


_scope = scope
"""`scope`, which is also the name of an argument."""


def _not_divided(loss: Any, losses: Any, weights: Any) -> Any:
    return loss


def _by_weights(loss: Any, losses: Any, weights: Any) -> Any:
    return _safe_mean(loss, reduce_sum(ones_like(losses) * weights))


def _by_present(loss: Any, losses: Any, weights: Any) -> Any:
    return _safe_mean(loss, num_present(losses, weights))


def _by_elements(loss: Any, losses: Any, weights: Any) -> Any:
    with _scope("num_elements") as inner:
        count = cast(size_of(losses, name=inner), losses.dtype.base_dtype)
    return _safe_mean(loss, count)


def _safe_mean(total: Any, count: Any) -> Any:
    return divide_no_nan(total, count, name="value")


_DIVISIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    Reduction.MEAN: _by_weights,
    Reduction.SUM_BY_NONZERO_WEIGHTS: _by_present,
    Reduction.SUM_OVER_BATCH_SIZE: _by_elements,
}


def num_present(losses: Any, weights: Any, per_batch: bool = False) -> Any:
    """Count the losses whose weight is not 0; for each example, of shape [batch, 1, ...]."""
    with _scope("num_present") as inner:
        weights = cast(weights, float32)
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if not per_batch:
            return reduce_sum(present, name=inner)
        axes = range_of(1, rank_of(present))
        return reduce_sum(present, axes, keepdims=True, name=inner)


# --- the collection of losses -----------------------------------------------------------------


@public_v1("losses.add_loss")
def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection. Eager programs have none."""
    if loss_collection and not is_eager():
        add_to_collection(loss_collection, loss)


@public_v1("losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses of a collection, or those of a name scope."""
    return get_collection(loss_collection, scope)


@public_v1("losses.get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the losses of regularizers, or those of a name scope."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public_v1("losses.get_regularization_loss")
def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Any:
    """Return the sum of the losses of regularizers; 0 if there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


@public_v1("losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Return the sum of all losses, with those of regularizers."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return add_n(losses, name=name)
