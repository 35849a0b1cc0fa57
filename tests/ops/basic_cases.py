"""A case for each operation that most graphs are made of: its name, inputs and attributes."""

from __future__ import annotations

import numpy as np

from berth.dtypes import int32, int64
from tests.ops.calls import Case, at, f, i, sample

TRUTH = sample(bool, (3, 4))

BASIC_CASES: list[Case] = [
    ("AddN", [f(2, 3), f(2, 3)], {}),
    ("All", [TRUTH, i(1)], {"keep_dims": False}),
    ("Any", [TRUTH, i(0, 1)], {"keep_dims": True}),
    ("ArgMax", [f(2, 3), at(1)], {"output_type": int64}),
    ("ArgMin", [f(2, 3), at(-2)], {"output_type": int32}),
    ("BatchMatMulV2", [f(5, 2, 3), f(1, 3, 4)], {"adj_x": False, "adj_y": False}),
    ("BatchMatMulV2", [f(5, 3, 2), f(4, 3)], {"adj_x": True, "adj_y": True}),
    ("Cast", [f(2, 3)], {"DstT": int32}),
    ("MatMul", [f(2, 3), f(3, 4)], {"transpose_a": False, "transpose_b": False}),
    ("MatMul", [f(3, 2), f(4, 3)], {"transpose_a": True, "transpose_b": True}),
    ("Max", [f(2, 3, 4), i(-1, 0)], {"keep_dims": False}),
    ("Mean", [f(2, 3, 4), i(1)], {"keep_dims": True}),
    ("Min", [f(2, 3, 4), at(2)], {"keep_dims": False}),
    ("Prod", [f(2, 3, 4), i()], {"keep_dims": False}),
    ("Select", [TRUTH, f(3, 4), f(3, 4)], {}),
    ("Select", [TRUTH[:, 0], f(3, 4), f(3, 4)], {}),
    ("SelectV2", [TRUTH[:1], f(4), f(3, 1)], {}),
    ("Sum", [f(2, 3), i(0)], {"keep_dims": False}),
]

N = 2**18
LARGE = sample("f", (N,))
SQUARE = LARGE.reshape(512, 512)

BASIC_LARGE: list[Case] = [
    ("AddN", [LARGE, LARGE, LARGE], {}),
    ("ArgMax", [SQUARE, at(0)], {"output_type": int32}),
    ("BatchMatMulV2", [SQUARE.reshape(4, 256, 256)] * 2, {"adj_x": True, "adj_y": False}),
    ("Cast", [LARGE], {"DstT": int64}),
    ("MatMul", [SQUARE, SQUARE], {"transpose_a": True, "transpose_b": False}),
    ("Max", [SQUARE, i(0)], {"keep_dims": False}),
    ("Mean", [SQUARE, i(1)], {"keep_dims": True}),
    ("Mean", [SQUARE.astype(np.int32), i(0)], {"keep_dims": True}),
    ("Select", [LARGE > 0, LARGE, LARGE], {}),
    ("Sum", [SQUARE, i(0)], {"keep_dims": False}),
]
