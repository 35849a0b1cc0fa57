"""tf.custom_gradient: a function that says itself how to go back through it.

Each of its results passes through one operation, `CustomGradient`, that takes the function's
arguments too: the way back leads from there straight to them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import ALL
from berth.graph.nest import flatten, pack_sequence_as
from berth.graph.recording import stop_recording
from berth.graph.tape import GradientTape
from berth.ops import compose
from berth.ops.arrays.filling import zeros_like
from berth.ops.builder import apply
from berth.ops.gradient import Done, gradient
from berth.ops.opdef import OpDef
from berth.ops.rules import bind_nothing, everywhere_but_strings, like_first

CUSTOM_GRADIENT = OpDef(
    "CustomGradient",
    "value:T arguments:Any*",
    like_first,
    types={"T": ALL},
    kernels=everywhere_but_strings(bind_nothing),
    is_alias=True,
)


@gradient(CUSTOM_GRADIENT)
def _ask_the_function(op: Done, grad: Any) -> Sequence[Any]:
    return [None, *op.attrs["grad"](grad)]


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Let a function say its own gradient: it returns its result, and a function.

    That second function gets the gradient of each result, and returns one for each argument.

    >>> import berth as tf
    >>> @custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.math.log(1 + e), lambda grad: grad * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> tape.gradient(y, x).numpy().item()
    1.0
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*arguments: Any, **options: Any) -> Any:
        inputs = [compose.convert(value) for value in flatten(arguments)]
        with stop_recording(), GradientTape() as looking_on:
            result, grad_function = f(*pack_sequence_as(arguments, inputs), **options)
        if looking_on.watched_variables():
            names = ", ".join(v.name for v in looking_on.watched_variables())
            raise TypeError(
                f"A function with a custom gradient must be given the variables it uses as "
                f"arguments: {names}"
            )
        outputs = [compose.convert(output) for output in flatten(result)]
        passed = [
            apply(
                CUSTOM_GRADIENT,
                (output, *inputs),
                {"grad": functools.partial(_grads, grad_function, outputs, position)},
            )
            for position, output in enumerate(outputs)
        ]
        return pack_sequence_as(result, passed)

    return decorated


def _grads(
    function: Callable[..., Any], outputs: Sequence[Any], position: int, grad: Any
) -> list[Any]:
    """Ask for the gradients of the arguments by one of the results."""
    grads = [zeros_like(output) for output in outputs]
    grads[position] = grad
    return flatten(function(*grads))
