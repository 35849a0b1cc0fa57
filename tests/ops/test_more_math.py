"""Functions of numbers, running sums, statistics, norms, segments: values and gradients."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.elementwise import complex_numbers as cn
from berth.ops.elementwise import gamma, quotients, special
from berth.ops.elementwise import trigonometry as trig
from berth.ops.reductions import cumulative, norms, segments, statistics, sums
from tests.ops.calls import run
from tests.ops.everywhere import OPEN, RANK, compute, shape_of
from tests.ops.gradient_checks import check_gradient, gradients_of

RANDOM = np.random.default_rng(0)


def between(low, high, *shape):
    return np.random.default_rng(len(shape)).uniform(low, high, shape)


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def complex_normal(*shape):
    return normal(*shape) + 1j * normal(*shape)[::-1]


def close(actual, expected, tolerance=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


# --- trigonometry -------------------------------------------------------------------------

ANGLES = ["tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"]


@pytest.mark.parametrize("name", ANGLES)
def test_angles_have_gradients(name):
    function = getattr(trig, name)
    check_gradient(function, between(0.2, 0.8, 3) + (name == "acosh"), order=2)
    check_gradient(function, complex_normal(3) * 0.3)


def test_angles_of_points_broadcast():
    y, x = normal(3, 1), normal(4)
    close(compute(trig.atan2, y, x), np.arctan2(y, x))
    check_gradient(trig.atan2, y, x, order=2)
    assert shape_of(trig.atan2, (None, 1), (4,)) == (None, 4)


# --- special functions --------------------------------------------------------------------

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


INF, NAN = np.inf, np.nan
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


# --- quotients ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (quotients.xlogy, [0.0, 2.0, 0.0], [0.0, 1.0, -1.0], [0, 0, 0]),
        (quotients.xlog1py, [0.0, 2.0], [-1.0, 0.0], [0, 0]),
        (quotients.xdivy, [0.0, 1.0, 1.0], [0.0, 0.0, 4.0], [0, INF, 0.25]),
        (quotients.divide_no_nan, [1.0, 3.0, 0.0], [0.0, 2.0, 0.0], [0, 1.5, 0]),
        (quotients.multiply_no_nan, [INF, NAN, 2.0], [0.0, 0.0, 3.0], [0, 0, 6]),
        (quotients.truncatediv, [7, -7, 7], [2, 2, -2], [3, -3, -3]),
        (quotients.truncatediv, [7.0, -7.0], [2.0, 2.0], [3, -3]),
        (quotients.truncatemod, [7, -7, 7], [2, 2, -2], [1, -1, 1]),
        (quotients.floor_div, [7, -7], [2, 2], [3, -4]),
        (quotients.realdiv, [1.0], [2.0], [0.5]),
        (quotients.nextafter, [1.0], [2.0], [np.nextafter(1, 2)]),
    ],
)
def test_quotients_say_what_0_gives(function, x, y, expected):
    np.testing.assert_array_equal(compute(function, np.array(x), np.array(y)), expected)


@pytest.mark.parametrize(
    "function",
    [
        quotients.xlogy,
        quotients.xlog1py,
        quotients.xdivy,
        quotients.divide_no_nan,
        quotients.multiply_no_nan,
    ],
    ids=lambda function: function.__name__,
)
def test_quotients_have_gradients(function):
    check_gradient(function, between(0.2, 0.8, 3, 1), between(0.2, 0.8, 4), order=2)
    check_gradient(function, complex_normal(3), complex_normal(3))


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (quotients.xlogy, [0.0, 2.0], [0.0, 3.0], ([0, math.log(3)], [0, 2 / 3])),
        (quotients.xdivy, [0.0, 2.0], [0.0, 3.0], ([0, 1 / 3], [0, -2 / 9])),
        (quotients.divide_no_nan, [2.0, 2.0], [0.0, 3.0], ([0, 1 / 3], [0, -2 / 9])),
        (quotients.multiply_no_nan, [INF, 2.0], [0.0, 3.0], ([0, 3], [INF, 2])),
        (quotients.nextafter, [1.2], [2.0], ([1], [0])),
    ],
)
def test_gradients_at_0_are_those_of_tensorflow(function, x, y, expected):
    for actual, wanted in zip(gradients_of(function, x, y), expected, strict=True):
        close(actual, wanted)


def test_remainder_has_gradients():
    check_gradient(quotients.truncatemod, normal(3, 1) * 5, between(0.2, 0.8, 4))


def test_integers_become_floats_to_divide():
    actual = compute(quotients.divide_no_nan, np.array([1, 2], "i4"), np.array([0, 4], "i4"))
    assert actual.dtype == np.float64
    np.testing.assert_array_equal(actual, [0, 0.5])
    with pytest.raises(TypeError, match="must have the same dtype"):
        shape_of(lambda x: quotients.divide_no_nan(x, tf.constant(1, tf.float64)), ())


@pytest.mark.parametrize("function", [quotients.truncatediv, quotients.truncatemod])
def test_integers_cannot_be_divided_by_0(function):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        compute(function, np.array([1, 2]), np.array([1, 0]))


def test_reciprocals_and_roundings():
    close(compute(quotients.reciprocal_no_nan, np.array([2.0, 0.0])), [0.5, 0])
    close(compute(quotients.rint, np.array([0.5, 1.5, -1.7])), [0, 2, -2])


# --- complex numbers ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_complex_numbers_have_parts(dtype):
    x, y = normal(3, 1).astype(dtype), normal(4).astype(dtype)
    z = compute(cn.complex, x, y)
    np.testing.assert_array_equal(z, x + 1j * y)
    np.testing.assert_array_equal(compute(cn.real, z), z.real)
    np.testing.assert_array_equal(compute(cn.imag, z), z.imag)
    np.testing.assert_array_equal(compute(cn.angle, z), np.angle(z))


def test_real_numbers_are_complex_without_a_part():
    x = np.array([1.0, -2.0])
    np.testing.assert_array_equal(compute(cn.real, x), x)
    np.testing.assert_array_equal(compute(cn.imag, x), [0, 0])
    np.testing.assert_array_equal(compute(cn.angle, x), [0, np.pi])


def test_parts_have_gradients():
    check_gradient(cn.complex, normal(3, 1), normal(4), order=2)
    for function in (cn.real, cn.imag, cn.angle):
        check_gradient(function, complex_normal(3))


def test_parts_must_be_floats_of_one_type():
    with pytest.raises(TypeError, match="components have incorrect types: float32 float64"):
        shape_of(lambda x: cn.complex(x, tf.constant(1, tf.float64)), ())


# --- running sums -------------------------------------------------------------------------


def scanned(accumulate, x, axis, exclusive, reverse, start):
    """Do the scan that is tested, with NumPy."""
    x = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
    if exclusive:
        x = np.concatenate([np.full_like(x[:1], start), x[:-1]])
    return np.moveaxis(accumulate(x)[:: -1 if reverse else 1], 0, axis)


SCANS = {
    cumulative.cumsum: (lambda x: np.cumsum(x, 0, x.dtype), 0),
    cumulative.cumprod: (lambda x: np.cumprod(x, 0, x.dtype), 1),
    cumulative.cumulative_logsumexp: (np.logaddexp.accumulate, -np.inf),
}
ways = pytest.mark.parametrize(
    ("exclusive", "reverse"), [(False, False), (False, True), (True, False), (True, True)]
)


@ways
@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan.__name__)
@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 7), (3, 0), (1, 2), (2, 1)])
def test_scans_go_along_any_axis(scan, exclusive, reverse, shape):
    x = normal(*shape)
    for axis in range(-1, len(shape) - 1):
        actual = run(scan_op(scan), x, np.int32(axis), exclusive=exclusive, reverse=reverse)
        if x.size:
            close(actual, scanned(SCANS[scan][0], x, axis, exclusive, reverse, SCANS[scan][1]))
        assert actual.shape == x.shape


def scan_op(scan):
    names = {"cumsum": "Cumsum", "cumprod": "Cumprod"}
    return names.get(scan.__name__, "CumulativeLogsumexp")


@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan.__name__)
def test_scans_are_alike_on_devices(scan):
    x = normal(3, 5).astype("float32")
    actual = compute(lambda x: scan(x, axis=1, exclusive=True), x)
    close(actual, scanned(SCANS[scan][0], x, 1, True, False, SCANS[scan][1]), 1e-6)
    assert shape_of(lambda x: scan(x, axis=-1), (None, 3)) == (None, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "complex64"])
def test_sums_keep_their_type(dtype):
    x = np.array([1, 2, 3], dtype)
    actual = compute(cumulative.cumsum, x)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, [1, 3, 6])


@ways
@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan.__name__)
def test_scans_have_gradients(scan, exclusive, reverse):
    part = (slice(None), slice(1, -1))  # without the logarithms of nothing

    def inner(x):
        return scan(x, axis=1, exclusive=exclusive, reverse=reverse)[part]

    check_gradient(inner, normal(2, 4), order=2)


@ways
def test_products_have_gradients_at_0(exclusive, reverse):
    x = normal(3, 5)
    x[0, 1] = x[1, 0] = x[1, 3] = x[2, 4] = 0
    check_gradient(lambda x: cumulative.cumprod(x, 1, exclusive=exclusive, reverse=reverse), x)


def test_scans_need_an_axis_that_is_there():
    message = r"ScanOp: Expected scan axis in the range \[-1, 1\), but got 1"
    with pytest.raises(ValueError, match=message):
        shape_of(lambda x: cumulative.cumsum(x, axis=1), (3,))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        compute(
            cumulative.cumsum,
            np.ones(3),
            np.int32(1),
            without=["known"],
        )


# --- statistics ---------------------------------------------------------------------------

REDUCTIONS = {
    statistics.reduce_logsumexp: lambda x, axis: np.log(np.exp(x).sum(axis)),
    statistics.reduce_variance: np.var,
    statistics.reduce_std: np.std,
    statistics.reduce_euclidean_norm: lambda x, axis: np.sqrt((x * x).sum(axis)),
}


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_statistics_are_those_of_numpy(function, axis):
    x = normal(3, 4)
    axes = None if axis is None else np.array(axis)
    actual = compute(lambda x: function(x, axis=axes), x)
    close(actual, REDUCTIONS[function](x, axis))
    kept = compute(lambda x: function(x, axis=axes, keepdims=True), x)
    assert kept.shape == x.sum(axis, keepdims=True).shape


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__name__)
def test_statistics_have_gradients(function):
    check_gradient(lambda x: function(x, axis=1), normal(3, 4), order=2)
    check_gradient(function, normal(3, 4))


def test_large_exponents_do_not_overflow():
    x = np.array([[1000.0, 1000.0], [-1000.0, -INF], [-INF, -INF], [INF, 0]])
    expected = [1000 + math.log(2), -1000, -INF, INF]
    close(compute(lambda x: statistics.reduce_logsumexp(x, 1), x), expected)
    close(compute(lambda x: statistics.reduce_logsumexp(x, reduction_indices=[1]), x), expected)


def test_complex_numbers_vary_by_real_squares():
    x = complex_normal(3, 2)
    close(compute(lambda x: statistics.reduce_variance(x, 0), x), np.var(x, 0))
    check_gradient(lambda x: statistics.reduce_std(x, 0), x)


def test_integers_have_no_variance():
    with pytest.raises(TypeError, match="Received integer type <dtype: 'int32'>"):
        shape_of(statistics.reduce_variance, (2,), dtype=np.int32)
    assert compute(statistics.reduce_euclidean_norm, np.array([1, 2, 3], "i4")) == 3


def test_what_is_not_0_is_counted():
    x = np.array([[0, 1, 2], [0, 0, 3]], "i4")
    np.testing.assert_array_equal(
        compute(lambda x: statistics.count_nonzero(x, 0), x), [0, 1, 2]
    )
    assert compute(statistics.count_nonzero, x).dtype == np.int64
    v1 = compute(
        lambda x: statistics.count_nonzero_v1(x, reduction_indices=1, keep_dims=True), x
    )
    np.testing.assert_array_equal(v1, [[2], [1]])
    close(compute(statistics.zero_fraction, x), np.float32(0.5))
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(statistics.count_nonzero(tf.constant(["", "a"]))) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [0, 2, 0, 1]),
        ({"minlength": 6}, [0, 2, 0, 1, 0, 0]),
        ({"maxlength": 2}, [0, 2]),
        ({"weights": np.array([0.5, 1, 2])}, [0, 1.5, 0, 2]),
        ({"binary_output": True}, [0, 1, 0, 1]),
        ({"dtype": np.int64}, [0, 2, 0, 1]),
    ],
    ids=str,
)
def test_integers_are_counted(arguments, expected):
    actual = compute(lambda x: statistics.bincount(x, **arguments), np.array([1, 1, 3], "i4"))
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == arguments.get(
        "dtype", np.float64 if "weights" in arguments else np.int32
    )


def test_integers_are_counted_by_row():
    x = np.array([[1, 1, 3], [0, 0, 1]], "i4")
    count = statistics.bincount
    by_row = compute(lambda x: count(x, axis=-1), x, without=[RANK])
    np.testing.assert_array_equal(by_row, [[0, 2, 0, 1], [2, 1, 0, 0]])
    by_row = compute(lambda x: count(x, axis=-1, maxlength=2), x, without=[RANK])
    np.testing.assert_array_equal(by_row, [[0, 2], [2, 1]])
    np.testing.assert_array_equal(compute(statistics.bincount_v1, x), [2, 3, 0, 1])


def test_counted_integers_are_not_negative():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input arr must be non-negative!"):
        compute(statistics.bincount, np.array([1, -1], "i4"))
    assert compute(statistics.bincount, np.zeros(0, "i4")).shape == (0,)


def test_confusion_is_counted():
    labels, predictions = np.array([1, 2, 2, 0]), np.array([1, 0, 2, 0])
    expected = [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    actual = compute(statistics.confusion_matrix, labels, predictions)
    np.testing.assert_array_equal(actual, expected)
    weighted = compute(
        lambda a, b: statistics.confusion_matrix_v1(
            a, b, 4, np.float32, weights=np.array([0.5, 1, 2, 3])
        ),
        labels,
        predictions,
    )
    np.testing.assert_array_equal(
        weighted, [[3, 0, 0, 0], [0, 0.5, 0, 0], [1, 0, 2, 0], [0, 0, 0, 0]]
    )


@pytest.mark.parametrize(
    ("predictions", "n_classes", "message"),
    [([0, -1], None, "`predictions` contains negative values"), ([0, 3], 3, "out of bound")],
)
def test_classes_are_checked(predictions, n_classes, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        compute(
            lambda a, b: statistics.confusion_matrix(a, b, n_classes),
            np.array([0, 1]),
            np.array(predictions),
        )


def test_order_is_noticed():
    for values, is_sorted, is_strict in (
        ([1, 2, 2], True, False),
        ([1, 2, 3], True, True),
        ([2, 1], False, False),
        ([], True, True),
    ):
        x = np.array(values, "f")
        assert compute(statistics.is_non_decreasing, x) == is_sorted
        assert compute(statistics.is_strictly_increasing, x) == is_strict


def test_sums_of_terms():
    x = normal(3)
    close(compute(lambda x: sums.polyval([1.0, 2.0, 3.0], x), x), x**2 + 2 * x + 3)
    close(compute(lambda x: sums.scalar_mul(2.0, x), x), 2 * x)
    close(compute(lambda x: sums.accumulate_n([x, x], [3], np.float64), x), 2 * x)
    with pytest.raises(ValueError, match="must be a 0-D value"):
        shape_of(lambda x: sums.scalar_mul(x, x), (2,))


# --- norms --------------------------------------------------------------------------------

NORMS = [
    {},
    {"ord": 1},
    {"ord": np.inf},
    {"ord": 3},
    {"axis": 1},
    {"axis": -2, "ord": 1, "keepdims": True},
    {"axis": (0, 1)},
    {"axis": (0, 1), "ord": 1},
    {"axis": (1, 0), "ord": np.inf, "keepdims": True},
    {"axis": (0, 1), "ord": 2},
    {"axis": (-1, -3), "ord": 2, "keepdims": True},
]


@pytest.mark.parametrize("arguments", NORMS, ids=str)
def test_norms_are_those_of_numpy(arguments):
    x = normal(2, 3, 4) if -3 in np.atleast_1d(arguments.get("axis", 0)) else normal(3, 4)
    without = [RANK] if arguments.get("ord") == 2 else []
    actual = compute(lambda x: norms.norm(x, **arguments), x, without=without)
    flat = x if "axis" in arguments else x.reshape(-1)
    close(actual, np.linalg.norm(flat, **arguments))
    check_gradient(lambda x: norms.norm(x, **arguments), x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ord": "x"}, "'ord' must be a supported vector norm, got x"),
        ({"ord": -1}, "'ord' must be a supported vector norm, got -1"),
        ({"ord": 3, "axis": (0, 1)}, "'ord' must be a supported matrix norm in .*, got 3"),
        ({"axis": (0, 0)}, "'axis' must be None, an integer, or a tuple of 2 unique integers"),
    ],
)
def test_other_norms_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        norms.norm(np.ones((2, 2)), **arguments)


def test_norms_of_version_1_keep_dims():
    assert shape_of(lambda x: norms.norm_v1(x, axis=1, keep_dims=True), (None, 3)) == (None, 1)


def test_vectors_get_the_length_1():
    x = normal(3, 4)
    expected = x / np.linalg.norm(x, axis=1, keepdims=True)
    close(compute(lambda x: norms.l2_normalize(x, axis=1), x), expected)
    both = compute(lambda x: norms.normalize(x, axis=1), x)
    close(both[0], expected)
    check_gradient(lambda x: norms.l2_normalize(x, dim=1), x, order=2)
    check_gradient(lambda x: norms.l2_normalize(x, 1), complex_normal(2, 3))
    close(compute(norms.l2_normalize, np.zeros(3)), np.zeros(3))


def test_tensors_are_clipped_by_norm():
    x = np.array([[3.0, 4.0], [0.3, 0.4], [0, 0]])
    rows = compute(lambda x: norms.clip_by_norm(x, 1.0, axes=[1]), x)
    close(rows, [[0.6, 0.8], [0.3, 0.4], [0, 0]])
    close(compute(lambda x: norms.clip_by_norm(x, 1.0), x[0]), [0.6, 0.8])
    close(compute(lambda x: norms.clip_by_average_norm(x, 1.0), x[0]), [1.2, 1.6])
    check_gradient(lambda x: norms.clip_by_norm(x, 1.0, axes=[1]), x[:2], order=2)
    np.testing.assert_array_equal(
        gradients_of(lambda x: norms.clip_by_norm(x, 1.0), [0.0, 0.0])[0], [1, 1]
    )


def test_tensors_are_clipped_together():
    x, y = np.array([3.0, 4.0]), np.array([[12.0]])
    close(compute(lambda x, y: norms.global_norm([x, None, y]), x, y), 13)

    def clip(x, y):
        clipped, length = norms.clip_by_global_norm([x, None, y], 6.5)
        assert clipped[1] is None
        return clipped[0], clipped[2], length

    actual = compute(clip, x, y)
    for one, expected in zip(actual, ([1.5, 2], [[6]], 13), strict=True):
        close(one, expected)
    check_gradient(lambda x, y: clip(x, y)[:2], x, y)


def test_infinite_tensors_cannot_be_clipped():
    x = np.array([1.0, INF])
    assert np.isnan(compute(lambda x: norms.clip_by_global_norm([x], 1.0)[0][0], x)).all()
    with pytest.raises(TypeError, match="`t_list` should be a sequence of tensors"):
        norms.global_norm(3)


def test_rows_are_clipped_as_rows():
    with tf.Graph().as_default(), tf.Session() as session:
        rows = IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([2, 2]))
        clipped = norms.clip_by_norm(rows, 1.0)
        [together], _ = norms.clip_by_global_norm([rows], 2.5)
        for result, expected in ((clipped, [[0.6, 0.8]]), (together, [[1.5, 2.0]])):
            assert isinstance(result, IndexedSlices)
            close(session.run(result.values), expected, 1e-6)


# --- segments -----------------------------------------------------------------------------

DATA = np.array([[1, 2], [3, 4], [5, 6], [-1, 0]], "i4")
SORTED = {
    segments.segment_sum: [[4, 6], [0, 0], [4, 6]],
    segments.segment_mean: [[2, 3], [0, 0], [2, 3]],
    segments.segment_max: [[3, 4], [0, 0], [5, 6]],
    segments.segment_min: [[1, 2], [0, 0], [-1, 0]],
    segments.segment_prod: [[3, 8], [1, 1], [-5, 0]],
}
LOW, HIGH = np.iinfo(np.int32).min, np.iinfo(np.int32).max
UNSORTED = {
    segments.unsorted_segment_sum: [[5, 6], [0, 0], [4, 6]],
    segments.unsorted_segment_max: [[5, 6], [LOW, LOW], [3, 4]],
    segments.unsorted_segment_min: [[5, 6], [HIGH, HIGH], [1, 2]],
    segments.unsorted_segment_prod: [[5, 6], [1, 1], [3, 8]],
}
name_of = {"ids": lambda function: getattr(function, "__name__", "")}


@pytest.mark.parametrize("function", SORTED, **name_of)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_sorted_segments_may_have_gaps(function, dtype):
    data, ids = DATA.astype(dtype), np.array([0, 0, 2, 2])
    actual = compute(function, data, ids)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, SORTED[function])
    assert compute(function, data[:0], ids[:0]).shape == (0, 2)


@pytest.mark.parametrize("function", UNSORTED, **name_of)
def test_unsorted_segments_drop_negative_ids(function):
    actual = compute(lambda x, ids: function(x, ids, 3), DATA, np.array([2, 2, 0, -1], "i4"))
    np.testing.assert_array_equal(actual, UNSORTED[function])


def test_segments_of_none_are_numbers():
    x = np.array([1.0], "f")
    for function, expected in (
        (segments.unsorted_segment_max, np.finfo("f").min),
        (segments.unsorted_segment_min, np.finfo("f").max),
        (segments.unsorted_segment_mean, 0),
        (segments.unsorted_segment_sqrt_n, 0),
    ):
        assert compute(lambda x, f=function: f(x, [0], 2), x)[1] == expected


def test_ids_may_have_several_axes():
    x, ids = normal(2, 3, 2), np.array([[0, 1, 2], [2, -1, 0]])
    actual = compute(lambda x, ids: segments.unsorted_segment_mean(x, ids, 4), x, ids)
    expected = [(x[0, 0] + x[1, 2]) / 2, x[0, 1], (x[0, 2] + x[1, 0]) / 2, [0, 0]]
    close(actual, expected)
    root = compute(lambda x, ids: segments.unsorted_segment_sqrt_n(x, ids, 4), x, ids)
    close(root[0], (x[0, 0] + x[1, 2]) / np.sqrt(2))


@pytest.mark.parametrize("function", SORTED, **name_of)
def test_sorted_segments_have_gradients(function):
    check_gradient(function, normal(5, 2), np.array([0, 0, 1, 1, 3]), order=2)


@pytest.mark.parametrize(
    "function",
    [*UNSORTED, segments.unsorted_segment_mean, segments.unsorted_segment_sqrt_n],
    **name_of,
)
def test_unsorted_segments_have_gradients(function):
    ids = np.array([2, 0, 2, -1, 0])
    check_gradient(lambda x, ids: function(x, ids, 3)[::2], normal(5, 2), ids, order=2)


def test_gradients_of_zeros_and_ties():
    x = normal(6, 2)
    x[0, 0] = x[1, 0] = x[3, 1] = 0
    check_gradient(segments.segment_prod, x, np.array([0, 0, 1, 1, 1, 3]))
    check_gradient(
        lambda x, ids: segments.unsorted_segment_prod(x, ids, 3),
        x,
        np.array([2, 2, 2, -1, 0, 2]),
    )
    tied = gradients_of(segments.segment_max, [1.0, 3.0, 3.0, 2.0], np.array([0, 0, 0, 2]))[0]
    np.testing.assert_array_equal(tied, [0, 0.5, 0.5, 1])


@pytest.mark.parametrize(
    ("function", "ids", "message"),
    [
        (segments.segment_sum, [1, 0, 2, 2], "segment ids are not increasing"),
        (segments.segment_sum, [-1, 0, 1, 1], r"Segment id -1 out of range \[0, 2\)"),
        (
            lambda x, ids: segments.unsorted_segment_sum(x, ids, 3),
            [0, 5, 1, 1],
            r"segment_ids\[1\] = 5 is out of range \[0, 3\)",
        ),
    ],
)
def test_wrong_ids_are_refused(function, ids, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        compute(function, DATA, np.array(ids))


def test_shapes_of_segments_are_known_in_part():
    ids = np.array([0, 0, 2])
    assert shape_of(lambda x: segments.segment_sum(x, ids), (None, 4)) == (3, 4)
    assert shape_of(lambda x: segments.unsorted_segment_max(x, ids, 7), (None, 4)) == (7, 4)
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        shape_of(lambda x: segments.segment_sum(x, ids), (2, 4))
    with pytest.raises(tf.errors.InvalidArgumentError, match="same size as dimension 0"):
        compute(segments.segment_sum, DATA, np.array([0, 1]), without=["known", OPEN])
