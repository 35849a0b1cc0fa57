"""Learning-rate schedules of `tf.train`: the rate as a function of the global step.

In a graph each returns a tensor; in an eager program a function, which an optimizer calls in
each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import DType, int32, int64
from berth.eager.mode import executing_eagerly
from berth.graph.nest import flatten
from berth.ops.arrays.array import constant
from berth.ops.arrays.gathering import where_v2
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import add, minimum, multiply, pow, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.elementwise.roots import sqrt
from berth.ops.elementwise.unary import ceil, cos, exp, floor, log, negative
from berth.ops.random.seeded import random_normal
from berth.public import public_v1


def _scheduled(rate: Callable[[], Any]) -> Any:
    """Return the rate in a graph, and what computes it in an eager program."""
    return rate if executing_eagerly() else rate()


def _started(learning_rate: Any) -> tuple[Any, DType]:
    """Return the first rate as a tensor, and its type, in which all is computed."""
    first = convert(learning_rate, None, "initial_learning_rate")
    return first, first.dtype.base_dtype


def _fraction(step: Any, decay_steps: Any, dtype: DType, staircase: bool) -> Any:
    """Return how many decay periods are over; with `staircase`, whole ones."""
    periods = cast(decay_steps, dtype)
    passed = cast(step, dtype) / periods
    return floor(passed) if staircase else passed


@public_v1("train.exponential_decay")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Exponential decay: ``learning_rate * decay_rate ** (global_step / decay_steps)``."""

    def rate() -> Any:
        with scope("ExponentialDecay", name) as inner:
            first, dtype = _started(learning_rate)
            periods, base = cast(decay_steps, dtype), cast(decay_rate, dtype)
            passed = cast(global_step, dtype) / periods
            passed = floor(passed) if staircase else passed
            return multiply(first, pow(base, passed), name=inner)

    return _scheduled(rate)


@public_v1("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Natural exponential decay: by ``exp(-decay_rate)`` in each period."""
    base = exp(negative(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, base, staircase, name)


@public_v1("train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Inverse time decay: ``learning_rate / (1 + decay_rate * global_step / decay_steps)``."""

    def rate() -> Any:
        with scope("InverseTimeDecay", name) as inner:
            first, dtype = _started(learning_rate)
            passed = _fraction(global_step, decay_steps, dtype, staircase)
            growth = multiply(cast(decay_rate, dtype), passed)
            return truediv(first, add(cast(constant(1), dtype), growth), name=inner)

    return _scheduled(rate)


@public_v1("train.polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Polynomial decay to an end rate; with `cycle`, again and again, ever longer."""

    def rate() -> Any:
        with scope("PolynomialDecay", name) as inner:
            first, dtype = _started(learning_rate)
            last, exponent = cast(end_learning_rate, dtype), cast(power, dtype)
            step, periods = cast(global_step, dtype), cast(decay_steps, dtype)
            if cycle:
                cycles = where_v2(equal(step, 0), 1.0, ceil(step / decay_steps))
                periods = multiply(periods, cast(cycles, dtype))
            else:
                step = minimum(step, periods)
            left = pow(1 - truediv(step, periods), exponent)
            return add(multiply(first - last, left), last, name=inner)

    return _scheduled(rate)


# --- cosine -------------------------------------------------------------------------------


def _cosine(fraction: Any) -> Any:
    """Return half a wave: 1 at the start, 0 at the end of a period."""
    pi = cast(constant(math.pi), fraction.dtype.base_dtype)
    return 0.5 * (1.0 + cos(pi * fraction))


@public_v1("train.cosine_decay")
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Cosine decay, to `alpha` times the first rate."""

    def rate() -> Any:
        with scope("CosineDecay", name):
            first, dtype = _started(learning_rate)
            periods = cast(decay_steps, dtype)
            decayed = _cosine(minimum(cast(global_step, dtype), periods) / periods)
            return multiply(first, (1 - alpha) * decayed + alpha)

    return _scheduled(rate)


@public_v1("train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Cosine decay with warm restarts: periods grow by `t_mul`, and rates by `m_mul`."""

    def rate() -> Any:
        with scope("SGDRDecay", name) as inner:
            first, dtype = _started(learning_rate)
            periods, least = cast(first_decay_steps, dtype), cast(alpha, dtype)
            growth, scale = cast(t_mul, dtype), cast(m_mul, dtype)
            n_restarts, fraction = _since_restart(cast(global_step, dtype) / periods, growth)
            decayed = _cosine(fraction) * scale**n_restarts
            return multiply(first, (1 - least) * decayed + least, name=inner)

    return _scheduled(rate)


def _since_restart(passed: Any, growth: Any) -> tuple[Any, Any]:
    """Return the number of restarts, and the fraction of the period since the last."""
    is_even = equal(growth, 1.0)
    ratio = where_v2(is_even, 2.0 * growth, growth)  # 1 has no logarithm to divide by
    restarts = floor(log(1.0 - passed * (1.0 - ratio)) / log(ratio))
    length = ratio**restarts
    fraction = (passed - (1.0 - length) / (1.0 - ratio)) / length
    whole = floor(passed)
    return where_v2(is_even, whole, restarts), where_v2(is_even, passed - whole, fraction)


@public_v1("train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Linear decay times a cosine wave."""

    def rate() -> Any:
        with scope("LinearCosineDecay", name) as inner:
            first, dtype = _started(learning_rate)
            step, steps = _bounded(global_step, decay_steps, dtype)
            wave = _cosine(2.0 * cast(num_periods, dtype) * (step / steps))
            line = cast(alpha, dtype) + (steps - step) / steps
            return multiply(first, line * wave + cast(beta, dtype), name=inner)

    return _scheduled(rate)


@public_v1("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Linear decay with decaying noise, times a cosine wave."""

    def rate() -> Any:
        with scope("NoisyLinearCosineDecay", name) as inner:
            first, dtype = _started(learning_rate)
            step, steps = _bounded(global_step, decay_steps, dtype)
            decay = pow(1.0 + step, cast(variance_decay, dtype))
            deviation = sqrt(cast(initial_variance, dtype) / decay)
            noise = random_normal([], stddev=deviation, dtype=dtype)
            wave = _cosine(2.0 * cast(num_periods, dtype) * (step / steps))
            line = cast(alpha, dtype) + ((steps - step) / steps + noise)
            return multiply(first, line * wave + cast(beta, dtype), name=inner)

    return _scheduled(rate)


def _bounded(global_step: Any, decay_steps: Any, dtype: DType) -> tuple[Any, Any]:
    """Return the step, at most the number of steps, and that number."""
    steps = cast(decay_steps, dtype)
    return minimum(cast(global_step, dtype), steps), steps


# --- pieces -------------------------------------------------------------------------------


@public_v1("train.piecewise_constant", "train.piecewise_constant_decay")
def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Any:
    """Piecewise constant rate: ``values[k]`` up to and including ``boundaries[k]``."""
    limits = [convert(limit) for limit in flatten(boundaries)]
    rates = [convert(value) for value in flatten(values)]
    limits = [_comparable(limit, convert(x).dtype.base_dtype) for limit in limits]
    for other in rates[1:]:
        if other.dtype.base_dtype is not rates[0].dtype.base_dtype:
            raise ValueError(
                "Values must have elements all with the same dtype "
                f"({rates[0].dtype.base_dtype} vs {other.dtype.base_dtype})."
            )
    if len(limits) != len(rates) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")

    def rate() -> Any:
        with scope("PiecewiseConstant", name):
            step, chosen = convert(x), rates[-1]
            for limit, value in zip(reversed(limits), reversed(rates[:-1]), strict=True):
                chosen = where_v2(step <= limit, value, chosen)
            return chosen

    return _scheduled(rate)


def _comparable(limit: Any, dtype: DType) -> Any:
    own = limit.dtype.base_dtype
    if own is dtype:
        return limit
    if own is int32 and dtype is int64:
        return cast(limit, dtype)
    raise ValueError(f"Boundaries ({own}) must have the same dtype as x ({dtype}).")
