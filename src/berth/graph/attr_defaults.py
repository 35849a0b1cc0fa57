"""Defaults of attributes, which a GraphDef of TensorFlow may leave out."""

from __future__ import annotations

from typing import Any

from berth.dtypes import int32, int64
from berth.ops.shape import TensorShape

_IMAGES = {"data_format": "NHWC"}
_CONVOLUTIONS = {**_IMAGES, "dilations": [1, 1, 1, 1], "explicit_paddings": []}
_KINDS = ("begin", "ellipsis", "end", "new_axis", "shrink_axis")
_MASKS = {f"{kind}_mask": 0 for kind in _KINDS}
_NORMALIZATION = {**_IMAGES, "epsilon": 0.0001, "is_training": True}
_LRN = {"alpha": 1.0, "beta": 0.5, "bias": 1.0, "depth_radius": 5}
_SEEDS = {"seed": 0, "seed2": 0}
_GROUPS: dict[str, dict[str, Any]] = {
    "All Any Max Mean Min Prod Sum": {"keep_dims": False},
    "ArgMax ArgMin": {"output_type": int64},
    "AsString": {
        **{"fill": "", "precision": -1, "scientific": False, "shortest": False, "width": -1}
    },
    "Assert": {"summarize": 3},
    "AvgPool AvgPoolGrad BiasAdd BiasAddGrad DepthToSpace SpaceToDepth": _IMAGES,
    "BatchMatMulV2": {"adj_x": False, "adj_y": False},
    "Conv2D Conv2DBackpropFilter Conv2DBackpropInput": _CONVOLUTIONS,
    "Cumprod Cumsum CumulativeLogsumexp": {"exclusive": False, "reverse": False},
    "DepthwiseConv2dNative": _CONVOLUTIONS,
    "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput": _CONVOLUTIONS,
    "FusedBatchNormGradV3": _NORMALIZATION,
    "FusedBatchNormV3": {**_NORMALIZATION, "exponential_avg_factor": 1.0},
    "GatherV2": {"batch_dims": 0},
    "ImageProjectiveTransformV3": {"fill_mode": "CONSTANT"},
    "LRN LRNGrad": _LRN,
    "Lu": {"output_idx_type": int32},
    "MatMul": {"transpose_a": False, "transpose_b": False},
    "MatrixDiagPartV3 MatrixDiagV3 MatrixSetDiagV3": {"align": "RIGHT_LEFT"},
    "MatrixInverse MatrixSolve": {"adjoint": False},
    "MatrixTriangularSolve": {"adjoint": False, "lower": True},
    "MaxPool MaxPoolGrad MaxPoolGradGrad": _IMAGES,
    "MaxPoolWithArgmax": {"include_batch_in_index": False},
    "Multinomial RandomShuffle RandomStandardNormal RandomUniform": _SEEDS,
    "OneHot": {"axis": -1},
    "Pack Unpack": {"axis": 0},
    "Placeholder": {"shape": TensorShape(None)},
    "Print": {"first_n": -1, "message": "", "summarize": 3},
    "Qr": {"full_matrices": False},
    "RandomUniformInt TruncatedNormal": _SEEDS,
    "ResourceStridedSliceAssign StridedSlice StridedSliceGrad": _MASKS,
    "ReverseSequence": {"batch_dim": 0},
    "SelfAdjointEigV2": {"compute_v": True},
    "Squeeze": {"squeeze_dims": []},
    "StringJoin": {"separator": ""},
    "Svd": {"compute_uv": True, "full_matrices": False},
    "TopKV2": {"sorted": True},
    "Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2": {"out_idx": int32},
}
DEFAULTS = {op: values for ops, values in _GROUPS.items() for op in ops.split()}
"""The attributes with a default, by operation."""
