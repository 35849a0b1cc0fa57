"""`tf.custom_gradient`: functions with a gradient function of their own.

Its results pass through one operation that takes the function's arguments too, and the
variables it used: its gradient is that of the whole function. A single result, by far the
commonest, passes as it is; several are copied.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from berth.autodiff.backprop import is_differentiable
from berth.autodiff.tape import GradientTape
from berth.dtypes import ALL
from berth.graph.nest import flatten, pack_sequence_as
from berth.graph.recording import stop_recording
from berth.ops import compose
from berth.ops.builder import apply, apply_list
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
    make_calls,
)
from berth.ops.rules import all_devices_but_strings, bind_nothing, like_first
from berth.public import public

CUSTOM_GRADIENT = OpDef(
    "CustomGradient",
    "value:T arguments:Any*",
    like_first,
    types={"T": ALL},
    kernels=all_devices_but_strings(bind_nothing),
    is_alias=True,
    samples=("f(2, 3), f(2)",),
)


def _like_values(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return [(value.dtype, value.dims) for value in inputs[: attrs["n_values"]]]


def _bind_copies(launch: Launch) -> Call:
    pairs = zip(launch.outputs, launch.inputs, strict=False)  # the values come first
    return make_calls, ([(launch.xp.copyto, pair) for pair in pairs],)


CUSTOM_GRADIENT_N = OpDef(
    "CustomGradientN",
    "values_and_arguments:Any*",
    _like_values,
    kernels=all_devices(_bind_copies),
    samples=("f(2, 3), f(2), f(2), n_values=2",),
)


@gradient(CUSTOM_GRADIENT, CUSTOM_GRADIENT_N)
def _custom_gradient(op: RecordedOp, *grads: Any) -> Sequence[Any]:
    return [*[None] * len(grads), *op.attrs["backward"](*grads)]


@public("custom_gradient")
def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Function with a custom gradient: it returns its result, and a gradient function.

    That second function gets the gradient of each result, and returns one for each argument.
    If the first uses variables, the second is given them as `variables`, and returns a list
    with the gradient of each too.

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
    return custom_gradient if f is None else _WithGradient(f)


class _WithGradient:
    """Function, or method, with a custom gradient."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __get__(self, instance: Any, owner: type | None = None) -> _WithGradient:
        """Bind to an instance, which is not differentiated."""
        if instance is None:
            return self
        return _WithGradient(self._function.__get__(instance, owner))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it, and pass its results through the operation that has the custom gradient."""
        leaves = [compose.convert(leaf) for leaf in flatten(arguments)]
        with stop_recording(), GradientTape() as looking_on:
            result, function = self._function(*pack_sequence_as(arguments, leaves), **options)
        variables = list(looking_on.watched_variables())
        backward = _CustomGradient(function, leaves, variables)
        values = [compose.convert(value) for value in flatten(result)]
        inputs = [*values, *filter(is_differentiable, leaves), *map(compose.convert, variables)]
        if len(values) == 1:
            passed = [apply(CUSTOM_GRADIENT, inputs, {"backward": backward})]
        else:
            attrs = {"backward": backward, "n_values": len(values)}
            passed = apply_list(CUSTOM_GRADIENT_N, inputs, attrs)
        return pack_sequence_as(result, passed)


class _CustomGradient:
    """Gradient function of a call: gradients of arguments and variables."""

    def __init__(
        self, function: Callable[..., Any], leaves: Sequence[Any], variables: Sequence[Any]
    ) -> None:
        self._function = function
        self._have_gradients = [is_differentiable(leaf) for leaf in leaves]
        self._variables = variables
        if variables and not _takes_variables(function):
            raise TypeError(
                "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since "
                f"function uses variables: {variables}"
            )

    def __call__(self, *grads: Any) -> list[Any]:
        """Return the gradients of the differentiable arguments, and of the variables."""
        of_variables: Sequence[Any] = ()
        if self._variables:
            found, of_variables = self._function(*grads, variables=self._variables)
            if len(of_variables) != len(self._variables):
                raise ValueError(
                    "Must return gradient for each variable from @custom_gradient grad_fn."
                )
        else:
            found = self._function(*grads)
        of_arguments = flatten(found)
        if len(of_arguments) != len(self._have_gradients):
            raise ValueError(
                f"custom_gradient function expected to return {len(self._have_gradients)} "
                f"gradients, but returned {len(of_arguments)} instead."
            )
        pairs = zip(of_arguments, self._have_gradients, strict=True)
        return [*[grad for grad, has_gradient in pairs if has_gradient], *of_variables]


def _takes_variables(function: Callable[..., Any]) -> bool:
    """Tell whether a function accepts the keyword `variables`."""
    parameters = inspect.signature(function).parameters
    return "variables" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )
