"""Gradients against differences: what `tf.gradients` builds, beside what a small step changes.

    check_gradient(tf.tanh, np.array([0.5, -1.0]), order=2)
    check_gradient(lambda x, y: tf.matmul(x, y, transpose_a=True), x, y)
    check_gradient(lambda x, k: tf.gather(x, k), x, np.array([0, 2, 0]))

`function` takes a tensor for each of the arrays and returns a tensor, or several (a list or
tuple). Gradients are checked with respect to every array of float64 or complex128; arrays of
other types (indices, conditions) are passed along. All outputs are weighted, each element by
another number, so that errors do not cancel.

The gradients are built and run on the CPU with shapes known, and on a simulated GPU with sizes
that are known only in a run. A gradient of None counts as zeros. With ``order=2`` the
gradients' own gradients are checked in the same way, with respect to the arrays and to the
weights, that is to what arrives from further on.

Choose values well away from kinks (a tie of `maximum`, the 0 of `abs`): a difference across
one is no gradient. Where the gradient *at* a kink matters, ask `gradients_of` for it and
compare with what TensorFlow gives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.front.context import Context
from berth.ops.arrays.indexed_slices import as_dense

STEP = 1e-5
KNOWN, OPEN = "known sizes", "open sizes"
"""Whether the tensors that the function is given know the sizes of their axes."""
CPU, GPU = "/cpu:0", "/gpu:0"

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def each_type(dtypes: Sequence[str]) -> pytest.MarkDecorator:
    """Try types on the CPU, and one of them on a GPU, where the same kernels run."""
    cases = [*((CPU, dtype) for dtype in dtypes), (GPU, "f4")]
    return pytest.mark.parametrize(("device", "dtype"), cases)


def check_gradient(
    function: Function,
    *arrays: Any,
    order: int = 1,
    sizes: Sequence[str] = (KNOWN, OPEN),
    devices: Sequence[str] = (CPU, GPU),
    rtol: float = 1e-6,
    atol: float = 1e-7,
) -> None:
    """Fail unless the gradients of a function are what differences say.

    Pass ``sizes=[KNOWN]`` for a function that cannot be built without knowing its shapes.
    """
    values = [np.asarray(array) for array in arrays]
    weights, expected = _differences(function, values)
    for k in range(max(len(devices), len(sizes))):
        device, known = devices[k % len(devices)], sizes[k % len(sizes)]
        actual = gradients_of(function, *values, weights=weights, device=device, sizes=known)
        for position, difference in expected.items():
            np.testing.assert_allclose(
                _or_zeros(actual[position], values[position]),
                difference,
                rtol=rtol,
                atol=atol,
                err_msg=f"gradient of argument {position} on {device}, {known}",
            )
    if order > 1:
        check_gradient(
            _first_order(function, len(values)),
            *values,
            *weights,
            order=order - 1,
            sizes=sizes,
            devices=devices,
            rtol=rtol,
            atol=atol,
        )


def gradients_of(
    function: Function,
    *arrays: Any,
    weights: Sequence[Any] | None = None,
    device: str = CPU,
    sizes: str = KNOWN,
) -> list[Any]:
    """Return the gradients of a function's weighted outputs, one for each array, as arrays.

    None where there is none, as for integers. Without weights, all are 1.
    """
    values = [np.asarray(array) for array in arrays]

    def build(*tensors: Any) -> list[Any]:
        xs = [tensor for tensor in tensors if _is_inexact(tensor.dtype.as_numpy_dtype)]
        return _dense(gradients(_listed(function(*tensors)), xs, grad_ys=weights))

    found = iter(_run(build, values, device, sizes))
    return [next(found) if _is_inexact(value.dtype) else None for value in values]


def evaluate(function: Function, values: Sequence[Array], device: str = CPU) -> list[Array]:
    """Return a function's outputs as arrays."""
    return _run(lambda *tensors: _listed(function(*tensors)), values, device, KNOWN)


# --- running ------------------------------------------------------------------------------


@contextmanager
def _machine(device: str) -> Iterator[None]:
    """Be on a machine that has the device, with a graph and a scope of its own."""
    environ = {"BERTH_LEDGER_DIR": os.environ["BERTH_LEDGER_DIR"]}
    if device == GPU:
        environ["BERTH_SIM"] = "T4"
    program = Context(environ)
    try:
        with program.as_default(), tf.Graph().as_default(), tf.device(device):
            yield
    finally:
        program.reset()


def _placeholders(values: Sequence[Array], sizes: str) -> list[Any]:
    return [
        tf.placeholder(value.dtype, value.shape if sizes == KNOWN else [None] * value.ndim)
        for value in values
    ]


def _run(build: Function, values: Sequence[Array], device: str, sizes: str) -> list[Any]:
    """Build a function's tensors once, and run them; None stays what it is."""
    with _machine(device):
        tensors = _placeholders(values, sizes)
        outputs = build(*tensors)
        wanted = [output for output in outputs if output is not None]
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(config=config) as session:
            feeds = dict(zip(tensors, values, strict=True))
            found = iter(session.run(wanted, feeds) if wanted else ())
        return [None if output is None else next(found) for output in outputs]


# --- differences --------------------------------------------------------------------------


def _differences(
    function: Function, values: Sequence[Array]
) -> tuple[list[Array], dict[int, Array]]:
    """Return weights for the outputs, and what a step in each element changes in their sum.

    The changes are by the positions of the arrays that are differentiable. Of a complex
    element, the real and the imaginary part are moved by themselves.
    """
    with _machine(CPU):
        tensors = _placeholders(values, KNOWN)
        outputs = _listed(function(*tensors))
        with tf.Session() as session:
            run = session.make_callable(outputs, tensors)
            weights = [_weights(output, seed) for seed, output in enumerate(run(*values))]

            def weighted(position: int, moved: Array) -> float:
                found = run(*values[:position], moved, *values[position + 1 :])
                pairs = zip(weights, found, strict=True)
                return float(sum(np.vdot(weight, output).real for weight, output in pairs))

            return weights, {
                position: _slope(lambda moved, at=position: weighted(at, moved), value)
                for position, value in enumerate(values)
                if _is_inexact(value.dtype)
            }


def _slope(scalar: Callable[[Array], float], value: Array) -> Array:
    slope = np.zeros_like(value)
    for index in np.ndindex(value.shape):
        for unit in (1, 1j) if value.dtype.kind == "c" else (1,):
            ahead, behind = value.copy(), value.copy()
            ahead[index] += STEP * unit
            behind[index] -= STEP * unit
            slope[index] += unit * (scalar(ahead) - scalar(behind)) / (2 * STEP)
    return slope


def _first_order(function: Function, n_arrays: int) -> Function:
    """Make the function whose outputs are the gradients of another, given its weights too."""

    def first_order(*tensors: Any) -> list[Any]:
        inputs, weights = tensors[:n_arrays], list(tensors[n_arrays:])
        xs = [tensor for tensor in inputs if _is_inexact(tensor.dtype.as_numpy_dtype)]
        found = gradients(_listed(function(*inputs)), xs, grad_ys=weights)
        return [grad for grad in _dense(found) if grad is not None]

    return first_order


# --- small things -------------------------------------------------------------------------


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


def _dense(grads: Sequence[Any]) -> list[Any]:
    return [as_dense(grad) for grad in grads]


def _is_inexact(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "fc"


def _or_zeros(grad: Any, like: Array) -> Array:
    return np.zeros_like(like) if grad is None else grad


def _weights(output: Array, seed: int) -> Array:
    generator = np.random.default_rng(seed)
    weights = generator.uniform(0.5, 1.5, output.shape)
    if output.dtype.kind == "c":
        weights = weights + 1j * generator.uniform(0.5, 1.5, output.shape)
    return weights.astype(output.dtype)
