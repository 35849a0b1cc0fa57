"""Matrix products of kernels: which of them BLAS's gemm makes, and that NumPy's are the same."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import berth
import berth.compat.v1 as tf
from berth.openblas import gemm_functions
from berth.ops.linalg import gemm
from berth.ops.opdef import Parts

SIDE = 70
HAS_GEMM = len(gemm_functions()) == 2
needs_gemm = pytest.mark.skipif(not HAS_GEMM, reason="NumPy has another matrix library")


def whole(*dims, dtype=np.float32):
    """Make whole numbers, whose products are exact in any order."""
    return np.random.default_rng(sum(dims)).integers(-8, 9, dims).astype(dtype)


def make(call):
    function, arguments = call
    function(*arguments)


def square(**kind):
    return whole(SIDE, SIDE, **kind)


def overlapping():
    """Rows that begin before the last one ends, as windows do."""
    return np.lib.stride_tricks.as_strided(whole(SIDE * 100), (SIDE, SIDE), (80, 4))


A, B = square(), whole(SIDE, SIDE + 1)[:, :SIDE]
BY_GEMM = {
    "rows": (A, A[::-1].copy(), np.float32),
    "float64": (A.astype("d"), B.astype("d"), np.float64),
    "parts of rows": (whole(SIDE, 90)[:, 5:75], B, np.float32),
    "every second row": (whole(2 * SIDE, SIDE)[::2], B, np.float32),
    "transposed": (A.T, B.T, np.float32),
    "part of a transposed one": (whole(90, 80).T[5:75, :SIDE], B, np.float32),
    "not square": (whole(200, 40), whole(40, 50), np.float32),
}
BY_NUMPY = {
    "small": (whole(8, 8), whole(8, 8), np.float32),
    "a vector": (whole(1, 600), whole(600, 600), np.float32),
    "a column": (whole(600, 600), whole(600, 1), np.float32),
    "rows backwards": (A[::-1], B, np.float32),
    "every second column": (whole(SIDE, 2 * SIDE)[:, ::2], B, np.float32),
    "rows that overlap": (overlapping(), B, np.float32),
    "rows that are one": (np.broadcast_to(whole(1, SIDE), (SIDE, SIDE)), B, np.float32),
    "integers": (square(dtype=np.int32), square(dtype=np.int32), np.int32),
    "complex numbers": (A.astype(np.complex64), A.astype(np.complex64), np.complex64),
    "two types": (A, B.astype("d"), np.float64),
    "not aligned": (
        np.frombuffer(bytearray(SIDE * SIDE * 4 + 1), np.float32, SIDE * SIDE, 1).reshape(
            SIDE, SIDE
        ),
        B,
        np.float32,
    ),
}
CASES = [pytest.param(*case, True, id=name) for name, case in BY_GEMM.items()]
CASES += [pytest.param(*case, False, id=name) for name, case in BY_NUMPY.items()]


@pytest.mark.parametrize(("a", "b", "dtype", "is_gemms"), CASES)
def test_products_are_numpys(a, b, dtype, is_gemms):
    expected = np.matmul(a, b)
    out = np.full(expected.shape, np.nan if dtype != np.int32 else 7, dtype)
    call = gemm.multiply(np, a, b, out)
    assert (call[0] is not np.matmul) == (is_gemms and HAS_GEMM)
    make(call)
    np.testing.assert_array_equal(out, expected)
    for each in gemm.multiply_add(np, a, b, out, np.empty_like(out)):
        make(each)
    np.testing.assert_array_equal(out, expected + expected)


def test_output_is_written_in_place():
    whole_out = np.zeros((SIDE, SIDE + 6), np.float32)
    make(gemm.multiply(np, A, B, whole_out[:, 3:-3]))
    np.testing.assert_array_equal(whole_out[:, 3:-3], A @ B)
    assert not whole_out[:, :3].any()
    assert not whole_out[:, -3:].any()


@pytest.mark.parametrize("turn", [np.transpose, lambda out: out[:, ::-1]])
def test_outputs_that_gemm_cannot_write_are_numpys(turn):
    out = turn(np.empty((SIDE, SIDE), np.float32))
    call = gemm.multiply(np, A, B, out)
    assert call[0] is np.matmul
    make(call)
    np.testing.assert_array_equal(out, A @ B)


@needs_gemm
def test_sums_need_no_scratch():
    assert len(gemm.multiply_add(np, A, B, np.zeros_like(A), None)) == 1


def test_without_openblas_numpy_multiplies(monkeypatch):
    monkeypatch.setattr(gemm, "gemm_functions", dict)
    out = np.ones((SIDE, SIDE), np.float32)
    calls = gemm.multiply_add(np, A, B, out, np.empty_like(out))
    assert [function for function, _ in calls] == [np.matmul, np.add]
    for call in calls:
        make(call)
    np.testing.assert_array_equal(out, A @ B + 1)
    assert gemm.multiply(np, A, B, out)[0] is np.matmul


def test_call_keeps_its_memory():
    out = np.empty((SIDE, SIDE), np.float32)
    call = gemm.multiply(np, A.copy(), B.copy(), out)
    gc.collect()
    others = [np.full((SIDE, SIDE), np.nan, np.float32) for _ in range(20)]
    make(call)
    np.testing.assert_array_equal(out, A @ B)
    assert len(others) == 20


@pytest.mark.parametrize("side", [20, 110])
def test_stacks_are_numpys(side):
    a, b = whole(2, 1, side, side), whole(3, side, side)
    out = np.empty((2, 3, side, side), np.float32)
    call = gemm.multiply(np, a, b, out)
    assert (call[0] is not np.matmul) == (side == 110 and HAS_GEMM)
    make(call)
    np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize(("side", "n_parts"), [(20, 0), (80, 1), (300, 2)])
def test_large_products_are_divided(side, n_parts):
    a, out = whole(side, side), np.empty((side, side), np.float32)
    bound = gemm.product(np, a, a, out, 2)
    calls = bound.calls if isinstance(bound, Parts) else [bound]
    assert len(calls) == max(n_parts, 1)
    assert isinstance(bound, Parts) == (n_parts > 0)
    for call in calls:
        make(call)
    np.testing.assert_array_equal(out, a @ a)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (True, True)])
def test_values_are_the_same_in_every_mode(dtype, transpose_a, transpose_b):
    values = np.random.default_rng(0).standard_normal((2, 90, 90)).astype(dtype)
    turns = {"transpose_a": transpose_a, "transpose_b": transpose_b}

    def multiply(a, b):
        return berth.matmul(a, b, **turns)

    eager = multiply(*values).numpy()
    traced = berth.function(multiply)(*values).numpy()
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = (tf.placeholder(dtype, [90, 90]) for _ in range(2))
        fed = sess.run(multiply(a, b), {a: values[0], b: values[1]})
        held = sess.run(multiply(*(tf.constant(value) for value in values)))
    for other in (traced, fed, held):
        np.testing.assert_array_equal(eager, other)
    first, second = (v.T if transpose_a else v for v in values)
    np.testing.assert_allclose(eager, first @ second, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("eager")
def test_not_a_number_stays_in_its_row_and_column():
    a, b = whole(100, 80), whole(80, 60)
    a[3, 4], b[5, 6] = np.nan, np.inf
    expected = np.ones((100, 60), bool)
    expected[3], expected[:, 6] = False, False
    np.testing.assert_array_equal(np.isfinite(berth.matmul(a, b).numpy()), expected)
