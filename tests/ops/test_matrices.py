"""Inverse, determinant, linear systems, decompositions and diagonals: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.ops.elementwise.complex_numbers import real
from berth.ops.linalg import cholesky, decompositions, diagonals, matrices, transposes
from tests.ops.everywhere import KNOWN, compute, shape_of
from tests.ops.gradient_checks import KNOWN as KNOWN_SIZES
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import close, complex_normal, normal


def positive(*shape):
    """Make positive definite matrices."""
    x = normal(*shape)
    return x @ x.swapaxes(-1, -2) + 3 * np.eye(shape[-1])


def complex_positive(size):
    x = complex_normal(size, size)
    return x @ x.conj().T + 3 * np.eye(size)


def adjoint_of(x, is_adjoint=True):
    return x.swapaxes(-1, -2).conj() if is_adjoint else x


turns = pytest.mark.parametrize("adjoint", [False, True])

# --- inverses, determinants, solutions ----------------------------------------------------


@turns
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_inverses_invert(adjoint, dtype):
    x = (complex_normal(2, 3, 3) if dtype[0] == "c" else normal(2, 3, 3)).astype(dtype)
    actual = compute(lambda x: matrices.inv(x, adjoint=adjoint), x, exact=False)
    assert actual.dtype == dtype
    close(actual @ adjoint_of(x, adjoint), np.broadcast_to(np.eye(3), (2, 3, 3)), 1e-3)
    close(actual, np.linalg.inv(adjoint_of(x, adjoint)), 1e-3)


@turns
def test_inverses_have_gradients(adjoint):
    check_gradient(lambda x: matrices.inv(x, adjoint=adjoint), normal(2, 3, 3), order=2)
    check_gradient(lambda x: matrices.inv(x, adjoint=adjoint), complex_normal(2, 2))


def test_determinants_are_those_of_numpy():
    x = normal(2, 3, 3)
    close(compute(matrices.det, x), np.linalg.det(x))
    for actual, expected in zip(
        compute(matrices.slogdet, x), np.linalg.slogdet(x), strict=True
    ):
        close(actual, expected)
    definite = positive(2, 3, 3)
    close(compute(cholesky.logdet, definite), np.log(np.linalg.det(definite)))
    assert compute(matrices.slogdet, np.ones((2, 2)))[1] == -np.inf


def test_determinants_have_gradients():
    check_gradient(matrices.det, normal(2, 3, 3), order=2)
    check_gradient(matrices.det, complex_normal(2, 2))
    check_gradient(lambda x: matrices.slogdet(x).log_abs_determinant, normal(2, 3, 3), order=2)

    def logdet(x):
        return cholesky.logdet(x + transposes.adjoint(x))

    check_gradient(logdet, positive(2, 3, 3))


@turns
def test_equations_are_solved(adjoint):
    for a, b in (
        (normal(2, 3, 3), normal(2, 3, 2)),
        (complex_normal(3, 3), complex_normal(3, 1)),
    ):

        def solve(a, b):
            return matrices.solve(a, b, adjoint=adjoint)

        close(adjoint_of(a, adjoint) @ compute(solve, a, b, exact=False), b, 1e-9)
        check_gradient(solve, a, b, order=2 if a.dtype == float else 1)


@turns
@pytest.mark.parametrize("lower", [False, True])
def test_triangles_are_solved(adjoint, lower):
    def solve(a, b):
        return matrices.triangular_solve(a, b, lower=lower, adjoint=adjoint)

    a, b = positive(2, 4, 4), normal(4, 2)
    triangle = np.tril(a) if lower else np.triu(a)
    actual = compute(solve, a, b, exact=False)
    close(adjoint_of(triangle, adjoint) @ actual, np.broadcast_to(b, (2, 4, 2)), 1e-9)
    check_gradient(solve, a, normal(2, 4, 2), order=2)
    check_gradient(solve, positive(3, 3), normal(2, 3, 1))
    check_gradient(solve, complex_positive(3), complex_normal(3, 2))


def test_cholesky_factors_are_triangular():
    x = positive(2, 3, 3)
    factor = compute(matrices.cholesky, x)
    close(factor, np.linalg.cholesky(x))
    rhs = normal(2, 3, 1)
    close(x @ compute(cholesky.cholesky_solve, factor, rhs), rhs)
    z = complex_positive(3)
    close(compute(matrices.cholesky, z), np.linalg.cholesky(z))


def test_cholesky_factors_have_gradients():
    def factor(x):
        return matrices.cholesky(x + transposes.adjoint(x))

    check_gradient(factor, positive(2, 3, 3), order=2)
    check_gradient(factor, complex_positive(3))
    check_gradient(cholesky.cholesky_solve, positive(2, 3, 3), normal(2, 3, 2))


def test_only_bad_matrices_have_no_factor():
    x = np.stack([np.eye(2), -np.eye(2)])
    actual = compute(matrices.cholesky, x)
    np.testing.assert_array_equal(actual[0], np.eye(2))
    assert np.isnan(actual[1]).all()


SINGULAR = np.ones((2, 2))


@pytest.mark.parametrize(
    ("function", "arrays", "message"),
    [
        (matrices.inv, [SINGULAR], "Input is not invertible."),
        (matrices.solve, [SINGULAR, SINGULAR], "Input matrix is not invertible."),
        (matrices.solve, [np.ones((2, 2, 2)), SINGULAR[None]], "the same outer dimensions"),
        (matrices.solve, [SINGULAR, np.ones((3, 1))], "Input matrix and rhs are incompatible."),
        (matrices.det, [np.ones((2, 3))], "Input matrix must be square."),
    ],
)
def test_wrong_matrices_are_refused(function, arrays, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        compute(function, *arrays, without=[KNOWN])


def test_shapes_of_matrices_are_checked():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
        shape_of(matrices.inv, (2, 3))
    with pytest.raises(ValueError, match="Shape must be at least rank 2 but is rank 1"):
        shape_of(matrices.cholesky, (3,))
    assert shape_of(matrices.inv, (None, None, 3)) == (None, 3, 3)
    assert shape_of(matrices.det, (5, None, 3)) == (5,)
    assert shape_of(matrices.solve, (None, 3), (None, 2)) == (3, 2)
    assert shape_of(matrices.triangular_solve, (4, 1, 3, 3), (2, None, 5)) == (4, 2, 3, 5)
    assert shape_of(matrices.inv, None) is None


@pytest.mark.parametrize("function", [matrices.inv, matrices.cholesky])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty_matrices_are_matrices(function, shape):
    assert compute(function, np.zeros(shape)).shape == shape
    assert (
        compute(matrices.det, np.zeros(shape)).tolist()
        == np.linalg.det(np.zeros(shape)).tolist()
    )


# --- factors ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
@pytest.mark.parametrize("full", [False, True])
def test_qr_factors_are_orthogonal_and_triangular(shape, full):
    x = normal(*shape)
    q, r = compute(lambda x: decompositions.qr(x, full_matrices=full), x, exact=False)
    close(q @ r, x)
    close(
        adjoint_of(q) @ q,
        np.broadcast_to(np.eye(q.shape[-1]), (*x.shape[:-2], *[q.shape[-1]] * 2)),
    )
    close(np.tril(r, -1), np.zeros_like(r))
    assert q.shape[-1] == (shape[-2] if full else min(shape[-2:]))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_come_with_vectors(shape, full):
    x = normal(*shape) + 0j * normal(*shape)
    s, u, v = compute(lambda x: decompositions.svd(x, full_matrices=full), x, exact=False)
    assert s.dtype == np.float64
    k = min(shape[-2:])
    close((u[..., :k] * s[..., None, :]) @ adjoint_of(v[..., :k]), x)
    close(compute(lambda x: decompositions.svd(x, compute_uv=False), x), s)
    assert u.shape[-1] == (shape[-2] if full else k)


def test_eigenvalues_come_with_vectors():
    x = positive(2, 3, 3)
    values, vectors = compute(decompositions.eigh, x, exact=False)
    close(vectors * values[:, None, :], x @ vectors)
    close(compute(decompositions.eigvalsh, x), values)
    lower = np.tril(x)
    close(compute(decompositions.eigvalsh, lower), values)


def test_factors_have_gradients():
    known = {"sizes": [KNOWN_SIZES]}
    check_gradient(lambda x: list(decompositions.qr(x)), normal(2, 4, 3), **known)
    check_gradient(lambda x: list(decompositions.qr(x)), normal(3, 3), order=2, **known)
    check_gradient(decompositions.svd, normal(2, 4, 3))
    check_gradient(decompositions.svd, normal(2, 3))
    check_gradient(lambda x: decompositions.svd(x, compute_uv=False), normal(3, 4), order=2)
    check_gradient(lambda x: decompositions.svd(x, compute_uv=False), complex_normal(2, 3))
    check_gradient(decompositions.eigh, positive(2, 3, 3))
    check_gradient(decompositions.eigvalsh, positive(3, 3), order=2)


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda x: decompositions.qr(x).r, np.float64),
        (lambda x: decompositions.svd(x, full_matrices=True)[1], np.float64),
        (lambda x: real(decompositions.svd(x)[1]), np.complex128),
    ],
)
def test_gradients_that_are_missing_are_refused(function, dtype):
    with tf.Graph().as_default():
        x = tf.placeholder(dtype, [2, 3])
        with pytest.raises(NotImplementedError, match="The gradient of"):
            gradients(function(x), [x])


def test_shapes_of_factors_are_known_in_part():
    assert shape_of(lambda x: decompositions.qr(x).q, (None, 4, 3)) == (None, 4, 3)
    assert shape_of(lambda x: decompositions.qr(x, full_matrices=True).q, (4, None)) == (4, 4)
    assert shape_of(lambda x: decompositions.svd(x)[2], (5, 2, 3)) == (5, 3, 2)
    assert shape_of(lambda x: decompositions.svd(x)[0], (None, 3)) == (None,)
    assert shape_of(lambda x: decompositions.eigh(x)[0], (2, None, 3)) == (2, 3)


# --- transposes ---------------------------------------------------------------------------


def test_matrices_are_turned_over():
    x = complex_normal(2, 3, 4)
    np.testing.assert_array_equal(compute(transposes.matrix_transpose, x), x.swapaxes(-1, -2))
    np.testing.assert_array_equal(compute(transposes.adjoint, x), adjoint_of(x))
    check_gradient(transposes.adjoint, x)
    with pytest.raises(ValueError, match="rank >= 2"):
        shape_of(transposes.matrix_transpose, (3,))


# --- diagonals ----------------------------------------------------------------------------

MATRIX = np.arange(12).reshape(3, 4)
DIAGS = [
    ([1, 2, 3], {}, np.diag([1, 2, 3])),
    ([1, 2], {"k": 1}, [[0, 1, 0], [0, 0, 2], [0, 0, 0]]),
    ([1, 2], {"k": -1}, [[0, 0, 0], [1, 0, 0], [0, 2, 0]]),
    ([1, 2], {"num_cols": 3, "padding_value": 9}, [[1, 9, 9], [9, 2, 9]]),
    ([[1, 2], [3, 4]], {"k": (0, 1), "num_rows": 2}, [[3, 2], [0, 4]]),
    ([[1, 2, 3], [4, 5, 0]], {"k": (-1, 0)}, [[1, 0, 0], [4, 2, 0], [0, 5, 3]]),
    (
        [[1, 2, 3], [0, 4, 5]],
        {"k": (-1, 0), "align": "LEFT_RIGHT"},
        [[1, 0, 0], [4, 2, 0], [0, 5, 3]],
    ),
    ([[1], [2]], {}, [[[1]], [[2]]]),
]
PARTS = [
    ({}, [0, 5, 10]),
    ({"k": 1}, [1, 6, 11]),
    ({"k": -2}, [8]),
    ({"k": (-1, 1)}, [[1, 6, 11], [0, 5, 10], [4, 9, 0]]),
    (
        {"k": (-1, 1), "align": "LEFT_RIGHT", "padding_value": 7},
        [[1, 6, 11], [0, 5, 10], [7, 4, 9]],
    ),
    ({"k": (2, 3)}, [[0, 3], [2, 7]]),
    ({"k": (2, 3), "align": "LEFT_LEFT"}, [[3, 0], [2, 7]]),
]


@pytest.mark.parametrize(("diagonal", "arguments", "expected"), DIAGS, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_matrices_are_made_of_diagonals(diagonal, arguments, expected, dtype):
    actual = compute(lambda x: diagonals.diag(x, **arguments), np.array(diagonal, dtype))
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("arguments", "expected"), PARTS, ids=str)
def test_diagonals_are_taken_and_put_back(arguments, expected):
    actual = compute(lambda x: diagonals.diag_part(x, **arguments), MATRIX)
    np.testing.assert_array_equal(actual, expected)
    place = {key: value for key, value in arguments.items() if key != "padding_value"}
    back = compute(lambda x, d: diagonals.set_diag(x, d, **place), -MATRIX, actual)
    distance = np.arange(4) - np.arange(3)[:, None]
    lower, upper = np.broadcast_to(arguments.get("k", 0), 2)
    is_inside = (distance >= lower) & (distance <= upper)
    np.testing.assert_array_equal(back, np.where(is_inside, MATRIX, -MATRIX))


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_diagonals_have_gradients(align):
    band = {"k": (-2, 1), "align": align}
    check_gradient(lambda x: diagonals.diag_part(x, **band), normal(2, 3, 4), order=2)
    check_gradient(
        lambda x, d: diagonals.set_diag(x, d, **band), normal(2, 3, 4), normal(2, 4, 3)
    )
    check_gradient(
        lambda x: diagonals.diag(x, k=(-1, 1), align=align), normal(2, 3, 3), order=2
    )
    check_gradient(
        lambda x: diagonals.diag(x, k=1, num_cols=6, padding_value=2.0), normal(2, 3)
    )


@pytest.mark.parametrize("limits", [(1, 0), (-1, 0), (0, -1), (0, 0), (2, 1), (-1, -1)])
def test_bands_are_kept(limits):
    x = normal(2, 3, 4)
    actual = compute(lambda x: diagonals.band_part(x, *limits), x)
    lower, upper = limits
    expected = x if lower < 0 else np.triu(x, -lower)
    np.testing.assert_array_equal(actual, expected if upper < 0 else np.tril(expected, upper))
    check_gradient(lambda x: diagonals.band_part(x, *limits), x, order=2)


def test_bands_keep_what_is_infinite():
    actual = compute(lambda x: diagonals.band_part(x, 0, 0), np.full((2, 2), np.inf))
    np.testing.assert_array_equal(actual, [[np.inf, 0], [0, np.inf]])


def test_traces_are_summed():
    x = normal(2, 3, 4)
    close(compute(diagonals.trace, x), np.trace(x, axis1=1, axis2=2))
    check_gradient(diagonals.trace, x)


def test_unit_matrices_are_made():
    np.testing.assert_array_equal(compute(diagonals.eye, np.int32(3)), np.eye(3))
    wide = compute(
        lambda n: diagonals.eye(n, 3, batch_shape=[2, 1], dtype=np.int64), np.int32(2)
    )
    assert wide.dtype == np.int64
    np.testing.assert_array_equal(wide, np.broadcast_to(np.eye(2, 3), (2, 1, 2, 3)))
    with tf.Graph().as_default():
        assert diagonals.eye(2, 3, batch_shape=[5]).shape == [5, 2, 3]
        assert diagonals.eye(2, dtype=tf.bool).dtype is tf.bool


def test_tensors_have_diagonals():
    x = normal(2, 3)
    spread = compute(diagonals.tensor_diag, x)
    np.testing.assert_array_equal(spread, np.diag(x.reshape(-1)).reshape(2, 3, 2, 3))
    np.testing.assert_array_equal(compute(diagonals.tensor_diag_part, spread), x)
    check_gradient(diagonals.tensor_diag, x, order=2)
    check_gradient(diagonals.tensor_diag_part, normal(2, 3, 2, 3), order=2)
    assert shape_of(diagonals.tensor_diag_part, (None, 3, 2, None)) == (2, 3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: diagonals.diag_part(x, k=5),
            r"lower_diag_index is out of bound: 5. It must be between -3 and 4",
        ),
        (
            lambda x: diagonals.diag_part(x, k=(1, 0)),
            "lower_diag_index must not be larger than upper_diag_index: 1 > 0",
        ),
        (
            lambda x: diagonals.set_diag(x, np.array([1, 2])),
            "Either first dimensions of diagonal don't match",
        ),
        (
            lambda x: diagonals.band_part(x, 5, 0),
            r"num_lower must be negative or less or equal to number of rows \(3\) got: 5",
        ),
        (
            lambda x: diagonals.diag(x[0], num_rows=9, num_cols=9),
            "The number of rows or columns is not consistent",
        ),
        (
            diagonals.tensor_diag_part,
            r"Invalid shape \[3,4\]: dimensions 0 and 1 do not match.",
        ),
        (
            lambda x: diagonals.diag_part(x[0]),
            r"input must be at least 2-dim, received shape: \[.\]",
        ),
    ],
)
def test_wrong_diagonals_are_refused(function, message):
    with pytest.raises(ValueError, match=message):
        compute(function, MATRIX)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=message):
        compute(function, MATRIX, without=[KNOWN])


def test_shapes_of_diagonals_are_known_in_part():
    assert shape_of(diagonals.diag, (None, 3)) == (None, 3, 3)
    assert shape_of(diagonals.diag_part, (None, 3, 4)) == (None, 3)
    assert shape_of(lambda x: diagonals.diag_part(x, k=(-1, 1)), (2, None, 4)) == (2, 3, None)
    assert shape_of(diagonals.set_diag, (None, 3), None) == (None, 3)
    assert shape_of(diagonals.tensor_diag, (2, None)) == (2, None, 2, None)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0, 3), (3, 0)])
def test_empty_matrices_have_diagonals(shape):
    x = np.zeros(shape)
    part = compute(diagonals.diag_part, x)
    assert part.shape == (*shape[:-2], min(shape[-2:]))
    assert compute(lambda x: diagonals.band_part(x, 0, 0), x).shape == shape
