"""Cumulative sums and products: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.reductions import cumulative
from tests.ops.calls import run
from tests.ops.everywhere import compute, shape_of
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import close, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


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
