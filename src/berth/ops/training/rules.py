"""The formulas by which optimizers update a variable and its slots.

A rule gets arrays of one length: the variable and its slots, which it writes; the gradient,
which it reads; and scratch arrays for what is in between. The numbers (a learning rate, a
decay) have the type of the elements. All arithmetic is that of TensorFlow's kernels, so
that many steps give its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.ops.opdef import Attrs

Rule = Callable[[Any, Sequence[Any], Any, Sequence[Any], Sequence[Any], Attrs], None]
"""``rule(xp, variables, grad, scratch, numbers, attrs)``."""


def gradient_descent(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """``var -= alpha * delta``."""
    (var,), (t,), (alpha,) = variables, scratch, numbers
    xp.multiply(grad, alpha, t)
    xp.subtract(var, t, var)


def momentum(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """``accum = momentum * accum + grad``, and a step along it or, by Nesterov, beyond it."""
    (var, accum), (t, u), (lr, decay) = variables, scratch, numbers
    xp.multiply(accum, decay, accum)
    xp.add(accum, grad, accum)
    if attrs["use_nesterov"]:
        xp.multiply(grad, lr, t)
        xp.subtract(var, t, var)
        xp.multiply(accum, decay, u)
        xp.multiply(u, lr, t)
    else:
        xp.multiply(accum, lr, t)
    xp.subtract(var, t, var)


def adam(xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs) -> None:
    """Adam: moving averages of the gradient and its square, with their bias removed."""
    (var, m, v), (t, u, w) = variables, scratch
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = numbers
    alpha = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    _approach(xp, m, grad, 1 - beta1, t)
    xp.multiply(grad, grad, t)
    _approach(xp, v, t, 1 - beta2, t)
    xp.sqrt(v, t)
    xp.add(t, epsilon, t)
    if attrs["use_nesterov"]:
        xp.multiply(grad, 1 - beta1, u)
        xp.multiply(m, beta1, w)
        xp.add(u, w, u)
        xp.divide(u, t, t)
    else:
        xp.divide(m, t, t)
    xp.multiply(t, alpha, t)
    xp.subtract(var, t, var)


def _approach(xp: Any, average: Any, value: Any, rate: Any, t: Any) -> None:
    """``average += (value - average) * rate``; the value may be `t`."""
    xp.subtract(value, average, t)
    xp.multiply(t, rate, t)
    xp.add(average, t, average)


def rms_prop(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """RMSProp: the gradient by the root of the mean of its square, and momentum."""
    (var, ms, mom), (t, u), (lr, rho, decay, epsilon) = variables, scratch, numbers
    xp.multiply(grad, grad, u)
    _approach(xp, ms, u, 1 - rho, t)
    xp.add(ms, epsilon, u)
    _scaled_step(xp, var, mom, grad, lr, decay, t, u)


def centered_rms_prop(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """RMSProp by the variance of the gradient, not by the mean of its square."""
    (var, mg, ms, mom), (t, u), (lr, rho, decay, epsilon) = variables, scratch, numbers
    xp.multiply(grad, grad, u)
    _approach(xp, ms, u, 1 - rho, t)
    _approach(xp, mg, grad, 1 - rho, t)
    xp.multiply(mg, mg, u)
    xp.subtract(ms, u, u)
    xp.add(u, epsilon, u)
    _scaled_step(xp, var, mom, grad, lr, decay, t, u)


def _scaled_step(
    xp: Any, var: Any, mom: Any, grad: Any, lr: Any, decay: Any, t: Any, square: Any
) -> None:
    """``mom = decay * mom + lr * grad / sqrt(square)``, and a step along it."""
    xp.sqrt(square, square)
    xp.multiply(grad, lr, t)
    xp.divide(t, square, t)
    xp.multiply(mom, decay, mom)
    xp.add(mom, t, mom)
    xp.subtract(var, mom, var)


def adagrad(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """Adagrad: the gradient by the root of the sum of its squares."""
    (var, accum), (t, u), (lr,) = variables, scratch, numbers
    if attrs["update_slots"]:
        xp.multiply(grad, grad, t)
        xp.add(accum, t, accum)
    xp.sqrt(accum, u)
    xp.multiply(grad, lr, t)
    xp.divide(t, u, t)
    xp.subtract(var, t, var)


def adadelta(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """Adadelta: steps as large as recent steps were, by the size of recent gradients."""
    (var, accum, accum_update), (t, u), (lr, rho, epsilon) = variables, scratch, numbers
    xp.multiply(grad, grad, u)
    _decay(xp, accum, u, rho, t)
    xp.add(accum_update, epsilon, u)
    xp.sqrt(u, u)
    xp.add(accum, epsilon, t)
    xp.sqrt(t, t)
    xp.divide(u, t, u)
    xp.multiply(u, grad, u)
    xp.multiply(u, lr, t)
    xp.subtract(var, t, var)
    xp.multiply(u, u, u)
    _decay(xp, accum_update, u, rho, t)


def _decay(xp: Any, average: Any, value: Any, rho: Any, t: Any) -> None:
    """``average = rho * average + (1 - rho) * value``."""
    xp.multiply(average, rho, average)
    xp.multiply(value, 1 - rho, t)
    xp.add(average, t, average)


def ftrl(xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs) -> None:
    """FTRL-Proximal: follow the regularized leader."""
    lr, l1, l2, lr_power = numbers
    _ftrl(xp, variables, grad, grad, scratch, (lr, l1, l2, lr_power))


def ftrl_v2(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """FTRL-Proximal with a penalty for large variables (shrinkage) in the gradient."""
    lr, l1, l2, shrinkage, lr_power = numbers
    shrunk = scratch[-1]
    xp.multiply(variables[0], 2 * shrinkage, shrunk)
    xp.add(shrunk, grad, shrunk)
    _ftrl(xp, variables, grad, shrunk, scratch[:-1], (lr, l1, l2, lr_power))


def _ftrl(
    xp: Any, variables: Any, grad: Any, direction: Any, scratch: Any, numbers: Any
) -> None:
    (var, accum, linear), (t, u, w), (lr, l1, l2, lr_power) = variables, scratch, numbers
    xp.multiply(grad, grad, t)
    xp.add(accum, t, t)  # what `accum` becomes
    _power(xp, t, -lr_power, u)
    _power(xp, accum, -lr_power, w)
    xp.subtract(u, w, w)
    xp.divide(w, lr, w)
    xp.multiply(w, var, w)
    xp.subtract(direction, w, w)
    xp.add(linear, w, linear)
    xp.copyto(accum, t)
    xp.divide(u, lr, u)
    xp.add(u, 2 * l2, u)
    xp.minimum(linear, l1, out=t)  # linear, held between -l1 and l1, and what is beyond
    xp.maximum(t, -l1, out=t)
    xp.subtract(t, linear, t)
    xp.divide(t, u, var)


def _power(xp: Any, base: Any, exponent: Any, out: Any) -> None:
    if exponent == 0.5:  # the usual one, and much faster as a root
        xp.sqrt(base, out)
    else:
        xp.power(base, exponent, out)


def proximal_gradient_descent(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """Gradient descent, and then shrinkage by L1 and L2."""
    (var,), (t, u), (alpha, l1, l2) = variables, scratch, numbers
    xp.multiply(grad, alpha, t)
    xp.subtract(var, t, t)
    _shrink(xp, t, alpha * l1, 1 + alpha * l2, u, var)


def proximal_adagrad(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """Adagrad, and then shrinkage by L1 and L2."""
    (var, accum), (t, u, rate), (lr, l1, l2) = variables, scratch, numbers
    xp.multiply(grad, grad, t)
    xp.add(accum, t, accum)
    xp.sqrt(accum, rate)
    xp.divide(lr, rate, rate)
    xp.multiply(grad, rate, t)
    xp.subtract(var, t, t)
    xp.multiply(rate, l2, var)
    xp.add(var, 1, var)
    xp.multiply(rate, l1, rate)
    _shrink(xp, t, rate, var, u, var)


def _shrink(xp: Any, value: Any, threshold: Any, divisor: Any, t: Any, out: Any) -> None:
    """``out = sign(value) * max(|value| - threshold, 0) / divisor``."""
    xp.absolute(value, t)
    xp.subtract(t, threshold, t)
    xp.maximum(t, 0, out=t)
    xp.divide(t, divisor, out)
    xp.sign(value, t)
    xp.multiply(out, t, out)


def adagrad_da(
    xp: Any, variables: Any, grad: Any, scratch: Any, numbers: Any, attrs: Attrs
) -> None:
    """Adagrad dual averaging: from sums of all gradients so far and of their squares."""
    (var, total, squares), (t, u), (lr, l1, l2, global_step) = variables, scratch, numbers
    step = global_step.astype(grad.dtype)
    xp.add(total, grad, total)
    xp.multiply(grad, grad, t)
    xp.add(squares, t, squares)
    threshold = l1 * step
    xp.minimum(total, threshold, out=t)  # the sum, held within the threshold, less the sum
    xp.maximum(t, -threshold, out=t)
    xp.subtract(t, total, t)
    xp.multiply(t, lr, t)
    xp.sqrt(squares, u)
    xp.add(u, l2 * step * lr, u)
    xp.divide(t, u, var)
