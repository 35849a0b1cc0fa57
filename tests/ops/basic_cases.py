"""A case for each operation that most graphs are made of: its name, inputs and attributes."""

from __future__ import annotations

import numpy as np

from berth.dtypes import float32, float64, int32, int64
from berth.ops.shape import TensorShape
from tests.ops.calls import Case, at, f, i, sample

TRUTH = sample(bool, (3, 4))
TEXT = sample("O", (2,))
SEEDS = {"dtype": float32, "seed": 1, "seed2": 2}
MASKS = {
    "begin_mask": 2,
    "ellipsis_mask": 8,
    "end_mask": 0,
    "new_axis_mask": 1,
    "shrink_axis_mask": 4,
}
PRINT = {"pieces": ["", " and ", "."], "summarize": 3, "output_stream": "stdout", "end": "\n"}
FORMAT = {"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": ""}

BASIC_CASES: list[Case] = [
    ("AddN", [f(2, 3), f(2, 3)], {}),
    ("All", [TRUTH, i(1)], {"keep_dims": False}),
    ("Any", [TRUTH, i(0, 1)], {"keep_dims": True}),
    ("ArgMax", [f(2, 3), at(1)], {"output_type": int64}),
    ("ArgMin", [f(2, 3), at(-2)], {"output_type": int32}),
    ("AsString", [f(2)], FORMAT),
    ("Assert", [np.array(True), f(2)], {"summarize": 3}),
    ("BatchMatMulV2", [f(5, 2, 3), f(1, 3, 4)], {"adj_x": False, "adj_y": False}),
    ("BatchMatMulV2", [f(5, 3, 2), f(4, 3)], {"adj_x": True, "adj_y": True}),
    ("BroadcastTo", [f(2, 1), i(3, 2, 4)], {}),
    ("Cast", [f(2, 3)], {"DstT": int32}),
    ("CheckNumerics", [f(2, 3)], {"message": ""}),
    ("ConcatV2", [f(2, 3), f(4, 3), at(0)], {}),
    ("ConcatV2", [f(2, 3), f(2, 0), f(2, 1), at(-1)], {}),
    ("Const", [], {"dtype": float32, "value": f(2)}),
    ("CustomGradient", [f(2, 3), f(2)], {}),
    ("CustomGradientN", [f(2, 3), f(2), f(2)], {"n_values": 2}),
    ("ExpandDims", [f(2, 3), at(-1)], {}),
    ("Fill", [i(2, 3), f()], {}),
    ("GatherV2", [f(2, 3), i(0, 1, 1), at(1)], {"batch_dims": 0}),
    ("MatMul", [f(2, 3), f(3, 4)], {"transpose_a": False, "transpose_b": False}),
    ("MatMul", [f(3, 2), f(4, 3)], {"transpose_a": True, "transpose_b": True}),
    ("Max", [f(2, 3, 4), i(-1, 0)], {"keep_dims": False}),
    ("Mean", [f(2, 3, 4), i(1)], {"keep_dims": True}),
    ("Min", [f(2, 3, 4), at(2)], {"keep_dims": False}),
    ("NoOp", [], {}),
    ("OneHot", [i(1, 2), at(4), f(), f()], {"axis": -1}),
    ("OneHot", [i(1, 2), at(4), f(), f()], {"axis": 0}),
    ("Pack", [f(2, 3), f(2, 3)], {"axis": -1}),
    ("Pad", [f(2, 3), np.array([[1, 0], [2, 2]], np.int32)], {}),
    ("PadV2", [f(2), np.array([[1, 0]], np.int32), f()], {}),
    ("Placeholder", [], {"dtype": float32, "shape": TensorShape([2])}),
    ("PlaceholderWithDefault", [f(2, 3)], {"shape": TensorShape([None, 3])}),
    ("Print", [f(2, 3), f(2)], {"message": "", "first_n": -1, "summarize": 3}),
    ("PrintV2", [f(2), at(1)], PRINT),
    ("Prod", [f(2, 3, 4), i()], {"keep_dims": False}),
    ("PyFunc", [f(2)], {"Tout": [float32], "token": ""}),
    ("PyFuncStateless", [f(2)], {"Tout": [float32], "token": ""}),
    ("RandomStandardNormal", [i(2, 3)], SEEDS),
    ("RandomUniform", [i(2, 3)], {**SEEDS, "dtype": float64}),
    ("RandomUniformInt", [i(2, 3), at(1), at(5)], SEEDS),
    ("Range", [at(1), at(7), at(2)], {}),
    ("Rank", [f(2, 3)], {}),
    ("Reshape", [f(2, 6), i(3, 4)], {}),
    ("Reshape", [f(2, 6), i(4, -1)], {}),
    ("Select", [TRUTH, f(3, 4), f(3, 4)], {}),
    ("Select", [TRUTH[:, 0], f(3, 4), f(3, 4)], {}),
    ("SelectV2", [TRUTH[:1], f(4), f(3, 1)], {}),
    ("Shape", [f(2, 3)], {"out_type": int32}),
    ("Size", [f(2, 3)], {"out_type": int64}),
    ("Slice", [f(4, 5), i(1, 2), i(2, -1)], {}),
    ("Split", [at(1), f(2, 6)], {"num_split": 3}),
    ("SplitV", [f(5, 2), i(1, -1, 2), at(0)], {"num_split": 3}),
    ("Squeeze", [f(2, 1, 3, 1)], {"squeeze_dims": [1]}),
    ("Squeeze", [f(2, 1, 3, 1)], {"squeeze_dims": []}),
    (
        "StridedSlice",
        [f(4, 5, 6), i(0, 1, 3, 0), i(0, 4, 4, 0), i(1, 2, 1, 1)],
        MASKS,
    ),
    (
        "StridedSliceGrad",
        [i(4, 5, 6), i(0, 1, 3, 0), i(0, 4, 4, 0), i(1, 2, 1, 1), f(1, 2, 6)],
        MASKS,
    ),
    ("Add", [TEXT, TEXT[0:1]], {}),
    ("StringJoin", [TEXT, TEXT[0:1].reshape(()), TEXT], {"separator": ""}),
    ("Sum", [f(2, 3), i(0)], {"keep_dims": False}),
    ("SumTo", [f(3, 2, 4), i(2, 1)], {}),
    ("Tile", [f(2, 3), i(2, 0)], {}),
    ("Transpose", [f(2, 3, 4), i(1, -1, 0)], {}),
    ("TruncatedNormal", [i(2, 3)], SEEDS),
    ("Unpack", [f(2, 3)], {"axis": 1, "num": 3}),
    ("Where", [TRUTH], {}),
    ("ZerosLike", [f(2, 3)], {}),
    ("Identity", [f(2, 3)], {}),
    ("StopGradient", [f(2, 3)], {}),
]

N = 2**18
LARGE = sample("f", (N,))
SQUARE = LARGE.reshape(512, 512)
INDICES = (np.arange(N) % 7).astype(np.int32)

BASIC_LARGE: list[Case] = [
    ("AddN", [LARGE, LARGE, LARGE], {}),
    ("ArgMax", [SQUARE, at(0)], {"output_type": int32}),
    ("BatchMatMulV2", [SQUARE.reshape(4, 256, 256)] * 2, {"adj_x": True, "adj_y": False}),
    ("BroadcastTo", [LARGE, i(2, N)], {}),
    ("Cast", [LARGE], {"DstT": int64}),
    ("CheckNumerics", [LARGE], {"message": ""}),
    ("ConcatV2", [LARGE, LARGE, at(0)], {}),
    ("Fill", [i(N), LARGE[0]], {}),
    ("GatherV2", [LARGE, INDICES, at(0)], {"batch_dims": 0}),
    ("MatMul", [SQUARE, SQUARE], {"transpose_a": True, "transpose_b": False}),
    ("Max", [SQUARE, i(0)], {"keep_dims": False}),
    ("Mean", [SQUARE, i(1)], {"keep_dims": True}),
    ("Mean", [SQUARE.astype(np.int32), i(0)], {"keep_dims": True}),
    ("OneHot", [INDICES, at(7), LARGE[0], LARGE[1]], {"axis": -1}),
    ("Pack", [LARGE, LARGE], {"axis": 1}),
    ("Pad", [LARGE, np.array([[3, 4]], np.int32)], {}),
    ("RandomStandardNormal", [i(N)], SEEDS),
    ("RandomUniform", [i(N)], SEEDS),
    ("Select", [LARGE > 0, LARGE, LARGE], {}),
    ("Slice", [SQUARE, i(1, 1), i(-1, -1)], {}),
    ("Split", [at(0), SQUARE], {"num_split": 4}),
    ("Sum", [SQUARE, i(0)], {"keep_dims": False}),
    ("SumTo", [SQUARE, i(1, 512)], {}),
    ("Tile", [SQUARE, i(2, 2)], {}),
    ("Transpose", [SQUARE, i(1, 0)], {}),
    ("Unpack", [SQUARE.reshape(4, -1)], {"axis": 0, "num": 4}),
    ("ZerosLike", [LARGE], {}),
]
