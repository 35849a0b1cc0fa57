"""`tf.recompute_grad`: gradients that compute a function again, and keep nothing of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from berth.autodiff.custom_gradient import custom_gradient
from berth.autodiff.tape import GradientTape
from berth.graph.nest import flatten, map_structure, pack_sequence_as
from berth.ops.arrays.array import identity
from berth.public import public


@public("recompute_grad")
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Function with the same results, whose gradient computes them again.

    What it computes in between is not kept from the forward to the backward pass: that takes
    less memory, and more time.

    >>> import berth as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = recompute_grad(lambda x: x * x)(x)
    >>> tape.gradient(y, x).numpy().item()
    6.0
    """

    @functools.wraps(f, updated=())
    def recomputed(*arguments: Any, **options: Any) -> Any:
        @custom_gradient
        def forward(*inputs: Any) -> Any:
            def backward(*grads: Any, variables: Any = None) -> Any:
                return _gradients(functools.partial(f, **options), inputs, grads, variables)

            return f(*inputs, **options), backward

        return forward(*arguments)

    return recomputed


def _gradients(f: Callable[..., Any], inputs: Any, grads: Any, variables: Any) -> Any:
    """Compute a function again, and the gradients of its inputs and of variables."""
    again = map_structure(identity, inputs)
    sources = [*flatten(again), *(variables or ())]
    with GradientTape() as tape:
        tape.watch(flatten(again))
        result = f(*again)
    given = pack_sequence_as(result, list(grads))
    found = tape.gradient(result, sources, output_gradients=given)
    n_inputs = len(sources) - len(variables or ())
    if variables is None:
        return found
    return found[:n_inputs], found[n_inputs:]
