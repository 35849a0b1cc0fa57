"""Regularizers of `tf.contrib.layers`: L1, L2, and their sums."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from berth.front.graph_scope import add_to_collection, get_collection
from berth.front.logger import get_logger
from berth.graph.keys import GraphKeys
from berth.ops.arrays.array import constant
from berth.ops.compose import convert
from berth.ops.compose import scope as open_scope
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.nn.losses import l2_loss
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public_v1

Regularizer = Callable[..., Any]


def _none(_: Any) -> None:
    return None


def _scaled(
    name: str, norm: Callable[[Any], Any], scale: Any, scope: str | None
) -> Regularizer:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}.")
        if scale == 0.0:
            get_logger().info("Scale of 0 disables regularizer.")
            return _none

    def regularizer(weights: Any) -> Any:
        with open_scope(name, scope) as inner:
            factor = convert(scale, weights.dtype.base_dtype, "scale")
            return multiply(factor, norm(weights), name=inner)

    return regularizer


@public_v1("contrib.layers.l1_regularizer", "contrib.slim.l1_regularizer")
def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """L1 regularizer: the scaled sum of absolute values."""
    return _scaled("l1_regularizer", lambda w: reduce_sum(absolute(w)), scale, scope)


@public_v1("contrib.layers.l2_regularizer", "contrib.slim.l2_regularizer")
def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """L2 regularizer: half the scaled sum of squares."""
    return _scaled("l2_regularizer", l2_loss, scale, scope)


@public_v1("contrib.layers.l1_l2_regularizer", "contrib.slim.l1_l2_regularizer")
def l1_l2_regularizer(
    scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None
) -> Regularizer | None:
    """Sum of an L1 and an L2 regularizer."""
    for name, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"{name} cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)


@public_v1("contrib.layers.sum_regularizer", "contrib.slim.sum_regularizer")
def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Regularizer | None:
    """Sum of regularizers."""
    regularizers = [each for each in regularizer_list if each is not None]
    if not regularizers:
        return None

    def regularizer(weights: Any) -> Any:
        with open_scope("sum_regularizer", scope) as inner:
            terms = [each(weights) for each in regularizers]
            terms = [term for term in terms if term is not None]
            return add_n(terms, name=inner) if terms else None

    return regularizer


@public_v1("contrib.layers.apply_regularization", "contrib.slim.apply_regularization")
def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Any:
    """Sum of a regularizer over weights, which is added to the regularization losses."""
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with open_scope("get_regularization_penalty") as inner:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [constant(0.0) if each is None else each for each in penalties]
        for penalty in penalties:
            if penalty.shape.rank != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.shape.rank}."
                )
        total = add_n(penalties, name=inner)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
