"""A case for each operation of a neural network's layers."""

from __future__ import annotations

import numpy as np

from berth.dtypes import int64
from tests.ops.calls import Case, f, i

LAST = {"data_format": "NHWC"}
FIRST = {"data_format": "NCHW"}
WINDOWS = {
    "strides": [1, 2, 1, 1],
    "dilations": [1, 1, 1, 1],
    "padding": "SAME",
    "explicit_paddings": [],
    **LAST,
}
EDGES = {
    "strides": [1, 1, 1, 2],
    "dilations": [1, 1, 2, 1],
    "padding": "EXPLICIT",
    "explicit_paddings": [0, 0, 0, 0, 1, 0, 0, 1],
    **FIRST,
}
POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "padding": "VALID", **LAST}
POOL_EDGES = {"ksize": [1, 1, 2, 3], "strides": [1, 1, 2, 1], "padding": "SAME", **FIRST}
WITH_POSITIONS = {"Targmax": int64, "include_batch_in_index": True}
NEAR = {"depth_radius": 2, "bias": 1.5, "alpha": 0.5, "beta": 0.75}
NORM = {"epsilon": 1e-3, "exponential_avg_factor": 1.0, "is_training": True}
MIXED = {"epsilon": 1e-3, "exponential_avg_factor": 0.5, "is_training": True}
GIVEN = {"epsilon": 1e-3, "exponential_avg_factor": 1.0, "is_training": False}
CHANNELS = [f(3), f(3), f(3), f(3) ** 2]
KEPT = [f(3), f(3), f(3) ** 2, np.zeros((), np.float32)]

LAYER_CASES: list[Case] = [
    ("AvgPool", [f(2, 5, 4, 3)], POOL),
    ("AvgPool", [f(2, 3, 5, 4)], POOL_EDGES),
    ("AvgPoolGrad", [i(2, 5, 4, 3), f(2, 2, 3, 3)], POOL),
    ("BiasAdd", [f(2, 4, 3), f(3)], LAST),
    ("BiasAdd", [f(2, 3, 4), f(3)], FIRST),
    ("BiasAddGrad", [f(2, 4, 3)], LAST),
    ("BiasAddGrad", [f(2, 3, 4)], FIRST),
    ("Conv2D", [f(2, 5, 4, 3), f(3, 2, 3, 6)], WINDOWS),
    ("Conv2D", [f(2, 3, 5, 6), f(2, 3, 3, 4)], EDGES),
    ("Conv2DBackpropFilter", [f(2, 5, 4, 3), i(3, 2, 3, 6), f(2, 3, 4, 6)], WINDOWS),
    ("Conv2DBackpropInput", [i(2, 5, 4, 3), f(3, 2, 3, 6), f(2, 3, 4, 6)], WINDOWS),
    ("DepthwiseConv2dNative", [f(2, 5, 4, 3), f(3, 2, 3, 2)], WINDOWS),
    (
        "DepthwiseConv2dNativeBackpropFilter",
        [f(2, 5, 4, 3), i(3, 2, 3, 2), f(2, 3, 4, 6)],
        WINDOWS,
    ),
    (
        "DepthwiseConv2dNativeBackpropInput",
        [i(2, 5, 4, 3), f(3, 2, 3, 2), f(2, 3, 4, 6)],
        WINDOWS,
    ),
    ("FusedBatchNormV3", [f(4, 2, 2, 3), *CHANNELS], {**NORM, **LAST}),
    ("FusedBatchNormV3", [f(4, 3, 2, 2), *CHANNELS], {**MIXED, **FIRST}),
    ("FusedBatchNormV3", [f(4, 2, 2, 3), *CHANNELS], {**GIVEN, **LAST}),
    ("FusedBatchNormGradV3", [f(4, 2, 2, 3), f(4, 2, 2, 3), *KEPT], {**NORM, **LAST}),
    ("FusedBatchNormGradV3", [f(4, 3, 2, 2), f(4, 3, 2, 2), *KEPT], {**GIVEN, **FIRST}),
    ("L2Loss", [f(2, 3)], {}),
    ("LRN", [f(2, 3, 2, 6)], NEAR),
    ("LRNGrad", [f(2, 3, 2, 6), f(2, 3, 2, 6), f(2, 3, 2, 6)], NEAR),
    ("LogSoftmax", [f(2, 3, 4)], {}),
    ("MaxPool", [f(2, 5, 4, 3)], POOL),
    ("MaxPool", [f(2, 3, 5, 4)], POOL_EDGES),
    ("MaxPoolGrad", [f(2, 5, 4, 3), f(2, 2, 3, 3), f(2, 2, 3, 3)], POOL),
    ("MaxPoolGradGrad", [f(2, 5, 4, 3), f(2, 2, 3, 3), f(2, 5, 4, 3)], POOL),
    ("MaxPoolWithArgmax", [f(2, 5, 4, 3)], {**POOL, **WITH_POSITIONS}),
    ("Softmax", [f(2, 3, 4)], {}),
    ("SoftmaxCrossEntropyWithLogits", [f(2, 3), f(2, 3)], {}),
    ("SoftmaxCrossEntropyWithLogits", [f(2, 3), f(1, 3)], {}),
    ("SparseSoftmaxCrossEntropyWithLogits", [f(2, 3), i(2, 0)], {}),
]

IMAGES = f(8, 64, 64, 16)
FILTERS = f(3, 3, 16, 16)
DEEP = f(3, 3, 16, 1)
WIDE = f(512, 512)
SAME = {**WINDOWS, "strides": [1, 1, 1, 1]}
HALF = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME", **LAST}
HALVED = f(8, 32, 32, 16)
BY_CHANNEL = [f(16), f(16), f(16), f(16) ** 2]
OF_CHANNEL = [*BY_CHANNEL[:1], f(16), f(16) ** 2, np.zeros((), np.float32)]

LAYER_LARGE: list[Case] = [
    ("AvgPool", [IMAGES], HALF),
    ("AvgPoolGrad", [i(8, 64, 64, 16), HALVED], HALF),
    ("BiasAdd", [IMAGES, f(16)], LAST),
    ("BiasAddGrad", [IMAGES], LAST),
    ("Conv2D", [IMAGES, FILTERS], SAME),
    ("Conv2DBackpropFilter", [IMAGES, i(3, 3, 16, 16), IMAGES], SAME),
    ("Conv2DBackpropInput", [i(8, 64, 64, 16), FILTERS, IMAGES], SAME),
    ("DepthwiseConv2dNative", [IMAGES, DEEP], SAME),
    ("DepthwiseConv2dNativeBackpropFilter", [IMAGES, i(3, 3, 16, 1), IMAGES], SAME),
    ("DepthwiseConv2dNativeBackpropInput", [i(8, 64, 64, 16), DEEP, IMAGES], SAME),
    ("FusedBatchNormV3", [IMAGES, *BY_CHANNEL], {**NORM, **LAST}),
    ("FusedBatchNormGradV3", [IMAGES, IMAGES, *OF_CHANNEL], {**NORM, **LAST}),
    ("L2Loss", [WIDE], {}),
    ("LRN", [IMAGES], NEAR),
    ("LRNGrad", [IMAGES, IMAGES, IMAGES], NEAR),
    ("LogSoftmax", [WIDE], {}),
    ("MaxPool", [IMAGES], HALF),
    ("MaxPoolGrad", [IMAGES, HALVED, HALVED], HALF),
    ("MaxPoolGradGrad", [IMAGES, HALVED, IMAGES], HALF),
    ("MaxPoolWithArgmax", [IMAGES], {**HALF, **WITH_POSITIONS}),
    ("Softmax", [WIDE], {}),
    ("SoftmaxCrossEntropyWithLogits", [WIDE, WIDE], {}),
    ("SparseSoftmaxCrossEntropyWithLogits", [WIDE, np.arange(512)], {}),
]
