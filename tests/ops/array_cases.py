"""A case for each operation that moves, sorts, or draws what arrays hold."""

from __future__ import annotations

import numpy as np

from berth.dtypes import float32, float64, int32, int64, uint64
from berth.ops.shape import TensorShape
from tests.ops.calls import Case, at, f, i, sample

PAIRS = np.array([[0, 1], [1, 2], [1, 2]], np.int32)
WIDTHS = np.array([[1, 0], [2, 1]], np.int32)
BATCH = {"batch_dims": 1}
PICTURE = {"block_size": 2, "data_format": "NHWC"}
CHANNELS_FIRST = {"block_size": 2, "data_format": "NCHW"}
SEEDS = {"seed": 1, "seed2": 2}
SEED = np.array([3, 4], np.int64)
TEXT = np.array([b"b", b"a", b"b"], object)

ARRAY_CASES: list[Case] = [
    ("Bitcast", [f(2, 3)], {"type": int32}),
    ("Bitcast", [f(3, 2)], {"type": float64}),
    ("Bitcast", [f(2)], {"type": uint64}),
    ("Bitcast", [sample("d", (2,))], {"type": int32}),
    ("BroadcastArgs", [i(2, 1), i(3)], {}),
    ("DepthToSpace", [f(1, 2, 3, 8)], PICTURE),
    ("DepthToSpace", [f(1, 8, 2, 3)], CHANNELS_FIRST),
    ("DynamicPartition", [f(3, 2), i(1, 0, 1)], {"num_partitions": 3}),
    ("DynamicStitch", [i(2, 0, 2), f(3, 2)], {}),
    ("EnsureShape", [f(2, 3)], {"shape": TensorShape([None, 3])}),
    ("GatherNd", [f(2, 3, 4), PAIRS], {}),
    ("GatherNd", [f(2, 3), np.zeros((2, 0), np.int32)], {}),
    ("GatherV2", [f(2, 3), np.array([[0, 1], [1, 2]], np.int32), at(1)], BATCH),
    ("GatherV2", [f(2, 3, 4, 5), PAIRS[:2], at(2)], BATCH),
    ("GatherV2", [f(3, 4), PAIRS, at(1)], {"batch_dims": -1}),
    ("InTopKV2", [f(3, 4), i(0, 5, 2), at(2)], {}),
    ("InvertPermutation", [i(2, 0, 1)], {}),
    ("LowerBound", [np.sort(f(2, 3)), f(2, 4)], {"out_type": int32}),
    ("MirrorPad", [f(2, 3), WIDTHS], {"mode": "REFLECT"}),
    ("MirrorPad", [f(2, 3), WIDTHS], {"mode": "SYMMETRIC"}),
    ("MirrorPadGrad", [f(3, 6), WIDTHS], {"mode": "REFLECT"}),
    ("MirrorPadGrad", [f(3, 6), WIDTHS], {"mode": "SYMMETRIC"}),
    ("Multinomial", [f(2, 3), at(4)], {"output_dtype": int64, **SEEDS}),
    ("RandomShuffle", [f(4, 2)], SEEDS),
    ("ReverseSequence", [f(2, 3, 2), i(2, 3)], {"seq_dim": 1, "batch_dim": 0}),
    ("ReverseV2", [f(2, 3), i(-1)], {}),
    ("Roll", [f(2, 3), i(1, -2), i(0, 1)], {}),
    ("Roll", [f(2, 3), at(4), at(-1)], {}),
    ("ScatterNd", [PAIRS, f(3, 4), i(2, 3, 4)], {}),
    ("SpaceToDepth", [f(1, 4, 6, 2)], PICTURE),
    ("SpaceToDepth", [f(1, 2, 4, 6)], CHANNELS_FIRST),
    ("StatelessMultinomial", [f(2, 3), at(4), SEED], {"output_dtype": int32}),
    ("StatelessRandomNormal", [i(2, 3), SEED], {"dtype": float32}),
    ("StatelessRandomUniform", [i(2, 3), SEED], {"dtype": float64}),
    ("StatelessRandomUniformFullInt", [i(2, 3), SEED], {"dtype": uint64}),
    ("StatelessRandomUniformInt", [i(2, 3), SEED, at(1), at(9)], {"dtype": int32}),
    ("StatelessTruncatedNormal", [i(2, 3), SEED], {"dtype": float32}),
    ("TensorScatterAdd", [f(2, 3, 4), PAIRS, f(3, 4)], {}),
    ("TensorScatterMax", [f(2, 3, 4), PAIRS, f(3, 4)], {}),
    ("TensorScatterMin", [f(2, 3, 4), PAIRS, f(3, 4)], {}),
    ("TensorScatterSub", [f(2, 3, 4), PAIRS, f(3, 4)], {}),
    ("TensorScatterUpdate", [f(2, 3, 4), PAIRS, f(3, 4)], {}),
    ("TopKV2", [f(2, 5), at(3)], {"sorted": True, "index_type": int32}),
    ("TopKV2", [f(2, 5), at(1)], {"sorted": True, "index_type": int64}),
    ("Unique", [i(3, 1, 3)], {"out_idx": int32}),
    ("UniqueWithCounts", [TEXT], {"out_idx": int64}),
    ("UnravelIndex", [i(3, 5), i(2, 3)], {}),
    ("UpperBound", [np.sort(f(2, 3)), f(2, 4)], {"out_type": int64}),
]

N = 2**16
LARGE = np.arange(4 * N, dtype=np.float32)
SQUARE = LARGE.reshape(512, 512)
ROWS = np.arange(512, dtype=np.int32).reshape(-1, 1)
COLUMNS = (np.arange(4 * N, dtype=np.int32) % 512).reshape(512, 512)
ARRAY_LARGE: list[Case] = [
    ("EnsureShape", [SQUARE], {"shape": TensorShape([512, 512])}),
    ("GatherNd", [SQUARE, ROWS], {}),
    ("GatherV2", [SQUARE, COLUMNS, np.array(1)], {"batch_dims": 1}),
    ("InTopKV2", [SQUARE, ROWS[:, 0], np.array(3, np.int32)], {}),
    ("InvertPermutation", [np.arange(4 * N, dtype=np.int32)], {}),
    ("MirrorPad", [SQUARE, np.full((2, 2), 9, np.int32)], {"mode": "REFLECT"}),
    ("MirrorPadGrad", [SQUARE, np.full((2, 2), 9, np.int32)], {"mode": "REFLECT"}),
    ("ReverseSequence", [SQUARE, ROWS[:, 0]], {"seq_dim": 1, "batch_dim": 0}),
    ("ReverseV2", [SQUARE, np.array([0, 1])], {}),
    ("Roll", [SQUARE, np.array([3, 5]), np.array([0, 1])], {}),
    ("ScatterNd", [ROWS, SQUARE, np.array([512, 512], np.int32)], {}),
    (
        "SpaceToDepth",
        [SQUARE.reshape(1, 512, 512, 1)],
        {"block_size": 2, "data_format": "NHWC"},
    ),
    ("StatelessRandomUniform", [np.array([4 * N]), np.array([1, 2])], {"dtype": float32}),
    ("TensorScatterAdd", [SQUARE, ROWS, SQUARE], {}),
    ("TensorScatterUpdate", [SQUARE, ROWS, SQUARE], {}),
    ("UnravelIndex", [COLUMNS.reshape(-1), np.array([16, 32], np.int32)], {}),
]
