"""``tf.contrib.layers.optimize_loss``: gradients, clipping, summaries, one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.front.graph_scope import control_dependencies, get_collection
from berth.graph.keys import GraphKeys
from berth.ops.arrays.array import identity
from berth.ops.compose import convert, is_tensor
from berth.ops.random.seeded import truncated_normal
from berth.ops.reductions.norms import clip_by_global_norm, global_norm
from berth.public import public_v1
from berth.summary.summary_ops import histogram, scalar
from berth.train.optimizers.adagrad import AdagradOptimizer
from berth.train.optimizers.adam import AdamOptimizer
from berth.train.optimizers.ftrl import FtrlOptimizer
from berth.train.optimizers.gradient_descent import GradientDescentOptimizer
from berth.train.optimizers.momentum import MomentumOptimizer
from berth.train.optimizers.optimizer import Optimizer
from berth.train.optimizers.rmsprop import RMSPropOptimizer
from berth.variables.collections import trainable_variables
from berth.variables.global_step import assert_global_step, get_global_step
from berth.variables.initializers_v1 import Constant
from berth.variables.scope import get_variable, variable_scope

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
_SUMMARIES = ("learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm")
Pairs = list[tuple[Any, Any]]


@public_v1("contrib.layers.optimize_loss")
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """Return an operation that trains one step, and gives the loss."""
    loss = convert(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        if updates:
            loss = _after(list(dict.fromkeys(updates)), loss)
        shown = _checked(summaries)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in shown:
                scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        pairs = _changed(pairs, gradient_noise_scale, gradient_multipliers)
        pairs = _clipped(pairs, clip_gradients, shown)
        _summarize(loss, pairs, shown)
        step = global_step if increment_global_step else None
        return _after([chosen.apply_gradients(pairs, global_step=step, name="train")], loss)


def _after(operations: list[Any], tensor: Any) -> Any:
    with control_dependencies(operations):
        return identity(tensor)


def _checked(summaries: Sequence[str] | None) -> Sequence[str]:
    if summaries is None:
        return ("loss", "learning_rate", "global_gradient_norm")
    for each in summaries:
        if each not in _SUMMARIES:
            listed = ", ".join(_SUMMARIES)
            raise ValueError(f"Summaries should be one of [{listed}], you provided {each}.")
    return summaries


def _rate(learning_rate: Any) -> Any:
    if learning_rate is None or (is_tensor(learning_rate) and learning_rate.shape.rank == 0):
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            "Learning rate should be 0d Tensor or float. Got "
            f"{learning_rate} of type {type(learning_rate)}"
        )
    if learning_rate < 0.0:
        raise ValueError(f"Invalid learning_rate {learning_rate}.")
    return get_variable(
        "learning_rate", [], trainable=False, initializer=Constant(learning_rate)
    )


def _optimizer(given: Any, rate: Any) -> Optimizer:
    if isinstance(given, Optimizer):
        return given
    if isinstance(given, str):
        if rate is None:
            raise ValueError(
                "Learning rate is None, but should be specified if optimizer is string "
                f"({given})."
            )
        if given not in OPTIMIZERS:
            listed = ", ".join(OPTIMIZERS)
            raise ValueError(
                f"Optimizer name should be one of [{listed}], you provided {given}."
            )
        return OPTIMIZERS[given](learning_rate=rate)
    if not callable(given):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of "
            f"subclass of Optimizer or function with one argument. Got {given}."
        )
    made = given() if rate is None else given(rate)
    if not isinstance(made, Optimizer):
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {made}."
        )
    return made


def _changed(pairs: Pairs, noise_scale: float | None, multipliers: Any) -> Pairs:
    """Add noise to gradients, and multiply those of some variables."""
    if noise_scale is not None:
        pairs = [
            (
                grad
                if grad is None
                else convert(grad) + truncated_normal(variable.shape) * noise_scale,
                variable,
            )
            for grad, variable in pairs
        ]
    if multipliers is None:
        return pairs
    by_name = {getattr(key, "name", key): value for key, value in multipliers.items()}
    return [
        (
            grad
            if grad is None or variable.name not in by_name
            else convert(grad) * by_name[variable.name],
            variable,
        )
        for grad, variable in pairs
    ]


def _clipped(pairs: Pairs, clip_gradients: Any, shown: Sequence[str]) -> Pairs:
    has_norm = "global_gradient_norm" in shown or "gradient_norm" in shown
    if has_norm:
        scalar("global_norm/gradient_norm", global_norm([grad for grad, _ in pairs]))
    if clip_gradients is None:
        return pairs
    if isinstance(clip_gradients, float):
        clipped, _ = clip_by_global_norm([grad for grad, _ in pairs], clip_gradients)
        pairs = [(grad, variable) for grad, (_, variable) in zip(clipped, pairs, strict=True)]
    elif callable(clip_gradients):
        pairs = clip_gradients(pairs)
    else:
        raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
    if has_norm:
        scalar("global_norm/clipped_gradient_norm", global_norm([grad for grad, _ in pairs]))
    return pairs


def _summarize(loss: Any, pairs: Pairs, shown: Sequence[str]) -> None:
    if "loss" in shown:
        scalar("loss", loss)
    for grad, variable in pairs:
        if grad is None:
            continue
        values: Any = getattr(grad, "values", grad)
        name = variable.name.replace(":", "_")
        if "gradients" in shown:
            histogram(f"gradients/{name}", values)
        if "gradient_norm" in shown:
            scalar(f"gradient_norm/{name}", global_norm([values]))
