"""What kernels promise the executor: to fill their outputs, and to allocate next to nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from berth.dtypes import float32, int32, int64
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import bind, sample
from tests.ops.test_shape_rules import EVERY

N = 2**18
LARGE = sample("f", (N,))
SQUARE = LARGE.reshape(512, 512)
INDICES = (np.arange(N) % 7).astype(np.int32)
SEEDS = {"dtype": float32, "seed": 1, "seed2": 2}


def at(*values):
    return np.array(values, np.int32)


AXIS = np.array(0, np.int32)
LARGE_CASES = [
    ("AddN", [LARGE, LARGE, LARGE], {}),
    ("ArgMax", [SQUARE, AXIS], {"output_type": int32}),
    ("BatchMatMulV2", [SQUARE.reshape(4, 256, 256)] * 2, {"adj_x": True, "adj_y": False}),
    ("Cast", [LARGE], {"DstT": int64}),
    ("ConcatV2", [LARGE, LARGE, AXIS], {}),
    ("Fill", [at(N), LARGE[0]], {}),
    ("GatherV2", [LARGE, INDICES, AXIS], {"batch_dims": 0}),
    ("MatMul", [SQUARE, SQUARE], {"transpose_a": True, "transpose_b": False}),
    ("Max", [SQUARE, at(0)], {"keep_dims": False}),
    ("Mean", [SQUARE, at(1)], {"keep_dims": True}),
    ("Mean", [SQUARE.astype(np.int32), at(0)], {"keep_dims": True}),
    ("OneHot", [INDICES, np.array(7, np.int32), LARGE[0], LARGE[1]], {"axis": -1}),
    ("Pack", [LARGE, LARGE], {"axis": 1}),
    ("Pad", [LARGE, np.array([[3, 4]], np.int32)], {}),
    ("RandomStandardNormal", [at(N)], SEEDS),
    ("RandomUniform", [at(N)], SEEDS),
    ("Select", [LARGE > 0, LARGE, LARGE], {}),
    ("Slice", [SQUARE, at(1, 1), at(-1, -1)], {}),
    ("Split", [AXIS, SQUARE], {"num_split": 4}),
    ("Sum", [SQUARE, at(0)], {"keep_dims": False}),
    ("Tile", [SQUARE, at(2, 2)], {}),
    ("Transpose", [SQUARE, at(1, 0)], {}),
    ("Unpack", [SQUARE.reshape(4, -1)], {"axis": 0, "num": 4}),
    ("ZerosLike", [LARGE], {}),
]
LARGE_CASES += [
    (name, [sample(op.types["T"][-1].np_dtype, (N,), positive=True)] * len(op.arguments), {})
    for name, op in sorted(CATALOGUE.items())
    if op.elementwise is not None and name not in ("Cast", "Equal", "NotEqual")
]


@pytest.mark.parametrize("case", LARGE_CASES, ids=lambda case: case[0])
def test_running_allocates_next_to_nothing(case):
    name, inputs, attrs = case
    (function, arguments), outputs = bind(CATALOGUE[name], inputs, attrs)
    tracemalloc.start()
    try:
        with np.errstate(all="ignore"):
            function(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**18, "the arrays that it was bound to are larger"
    assert all(output.size for output in outputs)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])
def test_running_twice_gives_the_same(case):
    name, inputs, attrs = case
    op = CATALOGUE[name]
    if op.is_stateful or op.is_alias or op.is_source or name.startswith("PyFunc"):
        return
    attrs = {
        "precision": -1,
        "scientific": False,
        "shortest": False,
        "width": -1,
        "fill": "",
        **attrs,
    }
    call, outputs = bind(op, inputs, attrs)
    if call is None:
        return
    function, arguments = call
    results = []
    for _ in range(2):
        for output in outputs:
            output.reshape(-1)[:] = np.array(1, output.dtype)
        with np.errstate(all="ignore"):
            function(*arguments)
        results.append([output.copy() for output in outputs])
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])
def test_inputs_are_left_as_they_are(case):
    name, inputs, attrs = case
    op = CATALOGUE[name]
    if op.is_alias or op.is_source or name.startswith("PyFunc"):
        return
    attrs = {
        "precision": -1,
        "scientific": False,
        "shortest": False,
        "width": -1,
        "fill": "",
        **attrs,
    }
    copies = [array.copy() for array in inputs]
    call, _ = bind(op, inputs, attrs)
    if call is not None:
        with np.errstate(all="ignore"):
            call[0](*call[1])
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
