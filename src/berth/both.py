"""The names that both faces have: ``tf.add`` is one function in either."""

from berth.autodiff.custom_gradient import custom_gradient
from berth.control_flow.cond import case, switch_case
from berth.control_flow.map_fn import foldl, foldr, map_fn, scan
from berth.dtypes import (
    DType,
    as_dtype,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from berth.dtypes import bool_ as bool
from berth.dtypes import float16 as half
from berth.dtypes import float64 as double
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.ops.arrays.agreement import (
    bitcast,
    broadcast_dynamic_shape,
    broadcast_static_shape,
    ensure_shape,
    identity_n,
    shape_n,
)
from berth.ops.arrays.array import (
    constant,
    expand_dims,
    identity,
    reshape,
    squeeze,
    stop_gradient,
)
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import fill, one_hot, ones, range, zeros
from berth.ops.arrays.grids import linspace, meshgrid, sequence_mask, unravel_index
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.arrays.joining import concat, split, stack, unstack
from berth.ops.arrays.metadata import rank
from berth.ops.arrays.moving import tile
from berth.ops.arrays.partitions import dynamic_partition, dynamic_stitch
from berth.ops.arrays.rearranging import repeat, reverse, roll
from berth.ops.arrays.scattering import (
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from berth.ops.arrays.sets import unique, unique_with_counts
from berth.ops.arrays.slicing import slice, strided_slice
from berth.ops.arrays.sorting import argsort, sort
from berth.ops.arrays.strings import as_string, numpy_function
from berth.ops.elementwise.arithmetic import (
    add,
    add_n,
    cast,
    clip_by_value,
    divide,
    maximum,
    minimum,
    multiply,
    pow,
    subtract,
    truediv,
)
from berth.ops.elementwise.arithmetic import mod as floormod
from berth.ops.elementwise.compare import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from berth.ops.elementwise.complex_numbers import complex
from berth.ops.elementwise.quotients import realdiv, truncatediv, truncatemod
from berth.ops.elementwise.saturate import saturate_cast
from berth.ops.elementwise.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cosh,
    sinh,
    tan,
)
from berth.ops.elementwise.unary import (
    abs,
    cos,
    exp,
    floor,
    negative,
    round,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tanh,
)
from berth.ops.flow.control import Assert, group, no_op
from berth.ops.flow.printing import print
from berth.ops.linalg.diagonals import eye
from berth.ops.linalg.products import matmul
from berth.ops.linalg.tensor_products import einsum, tensordot
from berth.ops.operators import AnyTensor as Tensor
from berth.ops.reductions.binning import histogram_fixed_width, searchsorted
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.norms import clip_by_global_norm, clip_by_norm
from berth.ops.reductions.reduction import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from berth.ops.reductions.statistics import reduce_logsumexp
from berth.ops.reductions.sums import scalar_mul
from berth.ops.shape import TensorShape
from berth.variables.variable import VariableAggregation, VariableSynchronization

newaxis = None
"""A new axis, in an index: ``x[:, tf.newaxis]``."""

__all__ = [
    "Assert",
    "DType",
    "Graph",
    "IndexedSlices",
    "Operation",
    "Tensor",
    "TensorShape",
    "VariableAggregation",
    "VariableSynchronization",
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitcast",
    "bool",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "constant",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "divide",
    "double",
    "dynamic_partition",
    "dynamic_stitch",
    "einsum",
    "ensure_shape",
    "equal",
    "exp",
    "expand_dims",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "floormod",
    "foldl",
    "foldr",
    "greater",
    "greater_equal",
    "group",
    "half",
    "histogram_fixed_width",
    "identity",
    "identity_n",
    "int16",
    "int32",
    "int64",
    "int8",
    "less",
    "less_equal",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "map_fn",
    "matmul",
    "maximum",
    "meshgrid",
    "minimum",
    "multiply",
    "negative",
    "newaxis",
    "no_op",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "pow",
    "print",
    "range",
    "rank",
    "realdiv",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "resource",
    "reverse",
    "roll",
    "round",
    "saturate_cast",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape_n",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "subtract",
    "switch_case",
    "tan",
    "tanh",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensordot",
    "tile",
    "truediv",
    "truncatediv",
    "truncatemod",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "zeros",
]
