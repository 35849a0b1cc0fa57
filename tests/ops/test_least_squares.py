"""Least squares, pseudo-inverse, rank, and the matrix exponential: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

from berth.ops.linalg.exponential import expm
from berth.ops.linalg.least_squares import lstsq, matrix_rank, pinv
from tests.ops.everywhere import compute
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import close, complex_normal, normal


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_solutions_are_those_of_numpy(shape, fast):
    a, b = normal(*shape), normal(shape[0], 3)[::-1]
    actual = compute(lambda a, b: lstsq(a, b, fast=fast), a, b, exact=False)
    close(actual, np.linalg.lstsq(a, b, rcond=None)[0])


@pytest.mark.parametrize("shape", [(2, 4, 2), (2, 2, 4)])
def test_large_solutions_cost_something(shape):
    a, b = normal(*shape), normal(2, shape[1], 1)
    turned = a.swapaxes(-1, -2)
    square = turned @ a + 0.5 * np.eye(shape[-1])
    actual = compute(lambda a, b: lstsq(a, b, l2_regularizer=0.5), a, b, exact=False)
    close(actual, np.linalg.solve(square, turned @ b))


def test_solutions_have_gradients():
    check_gradient(lstsq, normal(4, 2), normal(4, 1), order=2)
    check_gradient(lambda a, b: lstsq(a, b, 0.5), normal(2, 4), normal(2, 1))


@pytest.mark.parametrize("matrix", [normal(4, 2), normal(2, 3, 4), complex_normal(3, 2)])
def test_pseudo_inverses_are_those_of_numpy(matrix):
    close(compute(pinv, matrix, exact=False), np.linalg.pinv(matrix))


def test_small_values_are_not_inverted():
    matrix = np.diag([4.0, 1.0, 0.0])
    close(compute(pinv, matrix), np.diag([0.25, 1.0, 0.0]))
    close(compute(lambda a: pinv(a, rcond=0.5), matrix), np.diag([0.25, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("matrix", "tol", "ranks"),
    [
        (np.array([[1.0, 2.0], [2.0, 4.0]]), None, 1),
        (np.stack([np.eye(3), np.zeros((3, 3))]), None, [3, 0]),
        (np.diag([4.0, 1.0, 0.5]), 0.75, 2),
    ],
)
def test_ranks_are_counted(matrix, tol, ranks):
    assert compute(lambda a: matrix_rank(a, tol), matrix).tolist() == ranks


def test_exponentials_are_sums_of_powers():
    matrix = normal(2, 3, 3)
    power, total = np.eye(3), np.zeros((2, 3, 3))
    for k in range(1, 60):
        total, power = total + power, power @ matrix / k
    close(compute(expm, matrix), total)
    close(compute(expm, np.diag([20.0, -20.0])), np.diag(np.exp([20.0, -20.0])))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_exponentials_keep_their_type(dtype):
    turn = np.array([[0.0, -np.pi / 2], [np.pi / 2, 0.0]], dtype)
    actual = compute(expm, turn, exact=False)
    assert actual.dtype == dtype
    close(actual, [[0, -1], [1, 0]], 2e-3)


def test_exponentials_have_gradients():
    check_gradient(expm, normal(2, 2, 2), order=2)
    check_gradient(expm, complex_normal(2, 2))


@pytest.mark.parametrize(
    ("function", "matrix", "kind", "message"),
    [
        (
            pinv,
            np.eye(2, dtype=np.int32),
            TypeError,
            "Input `a` must have `float`-like `dtype` (saw int32).",
        ),
        (
            matrix_rank,
            np.ones(2),
            ValueError,
            "Input `a` must have at least 2 dimensions (saw: 1).",
        ),
        (
            expm,
            np.eye(2, dtype=np.int32),
            ValueError,
            "tf.linalg.expm does not support matrices of type <dtype: 'int32'>",
        ),
    ],
)
def test_what_is_no_matrix_is_refused(function, matrix, kind, message):
    with pytest.raises(kind) as caught:
        compute(function, matrix)
    assert str(caught.value) == message
