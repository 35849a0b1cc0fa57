"""Special functions: gamma, erf, Bessel and their like: values and gradients."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from berth.ops.elementwise import gamma, special
from tests.ops.calls import run
from tests.ops.everywhere import compute
from tests.ops.gradient_checks import check_gradient, gradients_of
from tests.ops.numbers import INF, NAN, between, close


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


WIDE = np.concatenate([np.linspace(-6, 6, 2001), 10.0 ** np.linspace(-300, 0, 101), [0.0]])


def of_each(function, x):
    return np.array([function(value) for value in x.tolist()])


SPECIAL = {
    "Erf": (WIDE, math.erf),
    "Erfc": (np.concatenate([WIDE, np.linspace(6, 26, 101)]), math.erfc),
    "Lgamma": (
        np.concatenate([np.linspace(2.3, 40, 999), 10.0 ** np.linspace(1, 300)]),
        math.lgamma,
    ),
    "Ndtri": (
        np.concatenate([between(1e-9, 1, 999), 10.0 ** np.linspace(-300, -1)]),
        NormalDist().inv_cdf,
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_are_exact(name):
    x, expected = SPECIAL[name]
    np.testing.assert_allclose(run(name, x), of_each(expected, x), rtol=4e-15)


@pytest.mark.parametrize("name", ["Erf", "Erfc"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float16", 1e-3)])
def test_shorter_floats_are_as_exact(name, dtype, tolerance):
    x = np.linspace(-3, 3, 500).astype(dtype)
    actual = run(name, x)
    assert actual.dtype == dtype
    expected = of_each(SPECIAL[name][1], x)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * 1e-2)


def test_inverse_error_function_inverts():
    y = np.concatenate([np.linspace(-0.9999, 0.9999, 999), 10.0 ** np.linspace(-300, -1)])
    np.testing.assert_allclose(of_each(math.erf, run("Erfinv", y)), y, rtol=2e-15)
    x = np.linspace(-2, 4, 50)
    close(compute(special.erfcinv, of_each(math.erfc, x)), x, 1e-9)


def test_log_gamma_is_exact_near_its_zeros():
    z = np.array([1e-3, 1e-6, 1e-10, -1e-8])
    x, zeta3 = 1 + z, 1.2020569031595942
    z = x - 1
    series = math.pi**2 / 12 * z**2 - zeta3 / 3 * z**3 + math.pi**4 / 360 * z**4
    np.testing.assert_allclose(run("Lgamma", x), series - np.euler_gamma * z, rtol=1e-12)
    x = np.linspace(-9.93, 2.4, 500)
    close(run("Lgamma", x), of_each(math.lgamma, x), 1e-13)


def test_derivatives_of_log_gamma_are_known():
    euler, pi = np.euler_gamma, math.pi
    halves = sum((k + 0.5) ** -2 for k in range(30))
    close(
        run("Digamma", np.array([1, 0.5, 4, -0.5])),
        [-euler, -euler - 2 * math.log(2), 11 / 6 - euler, 0.03648997397857652],
    )
    close(
        run("Polygamma", np.array([1.0, 1, 2, 3, 0]), np.array([1.0, 0.5, 1, 1, 1])),
        [pi**2 / 6, pi**2 / 2, -2.4041138063191886, pi**4 / 15, -euler],
    )
    close(
        run("Zeta", np.array([2.0, 4, 3, 2]), np.array([1.0, 1, 2, -29.5])),
        [pi**2 / 6, pi**4 / 90, 0.2020569031595943, pi**2 / 2 + halves],
        1e-9,
    )


EDGES = {
    "Erf": ([INF, -INF, NAN, 0], [1, -1, NAN, 0]),
    "Erfc": ([INF, -INF, NAN], [0, 2, NAN]),
    "Erfinv": ([1, -1, 2, NAN, 0], [INF, -INF, NAN, NAN, 0]),
    "Ndtri": ([0, 1, -1, NAN, 0.5], [-INF, INF, NAN, NAN, 0]),
    "Lgamma": ([0, -1, INF, -INF, NAN, 1, 2], [INF, INF, INF, INF, NAN, 0, 0]),
    "Digamma": ([0, -1, INF, -INF, NAN], [NAN, NAN, INF, NAN, NAN]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_those_of_tensorflow(name):
    x, expected = EDGES[name]
    np.testing.assert_array_equal(run(name, np.array(x, float)), expected)


def test_edges_of_zeta_are_those_of_tensorflow():
    np.testing.assert_array_equal(
        run("Zeta", np.array([1.0, 0.5, 2, 3]), np.array([1.0, 1, -1, -1])),
        [INF, NAN, INF, NAN],
    )
    np.testing.assert_array_equal(
        run("Polygamma", np.array([1, 1.5, -1]), np.array([0, 2.0, 2])), [INF, NAN, NAN]
    )


@pytest.mark.parametrize(
    "function",
    [
        special.erf,
        special.erfc,
        special.erfinv,
        special.erfcinv,
        special.ndtri,
        gamma.lgamma,
        gamma.digamma,
    ],
    ids=lambda function: function.__name__,
)
def test_special_functions_have_gradients(function):
    check_gradient(function, between(0.2, 0.8, 4), order=2)


@pytest.mark.parametrize("function", [gamma.polygamma, gamma.zeta])
def test_orders_have_no_gradient(function):
    order, x = np.array([2.0, 3.0]), between(1, 2, 2)
    check_gradient(lambda x: function(order, x), x, order=2)
    assert gradients_of(function, order, x)[0] is None


def test_large_arrays_broadcast_in_blocks():
    x, y = between(0, 1, 3, 1, 5000), between(1, 2, 4, 1)
    close(run("Xlogy", x, y), x * np.log(y))
