"""TensorFlow 1's API: graphs and sessions. ``import berth.compat.v1 as tf``.

Operations are added to the default graph, and computed when a `Session` runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth import bitwise, config, debugging, dtypes, errors, nest, sysconfig, test
from berth.compat.v1 import initializers, linalg, math, nn, random
from berth.config import threading as _threading
from berth.eager import mode as _mode
from berth.front.context import context as _context
from berth.front.options import device_options as _device_options
from berth.missing import LazyNames as _LazyNames
from berth.missing import explain_missing_names as _explain_missing_names
from berth.proto.config import ConfigProto as _ConfigProto
from berth.public import public_v1 as _public_v1

# --- written by dev/make_api.py: make api
# isort: split
from berth.autodiff.backprop import AggregationMethod, gradients
from berth.autodiff.custom_gradient import custom_gradient
from berth.autodiff.recompute import recompute_grad
from berth.autodiff.tape import GradientTape
from berth.control_flow.cond import case, switch_case
from berth.control_flow.cond import cond_v1 as cond
from berth.control_flow.map_fn import foldl, foldr, map_fn, scan
from berth.control_flow.vectorized_map import vectorized_map
from berth.control_flow.while_loop import while_loop_v1 as while_loop
from berth.devices.spec import DeviceSpecV1 as DeviceSpec
from berth.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
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
    variant,
)
from berth.dtypes import bool_ as bool
from berth.eager.mode import executing_eagerly
from berth.eager.module import Module
from berth.eager.scope import UnconnectedGradients, get_static_value, is_tensor
from berth.errors import OpError
from berth.front.device_scope import colocate_with
from berth.front.device_scope import device_v1 as device
from berth.front.graph_scope import (
    add_to_collection,
    add_to_collections,
    control_dependencies,
    convert_to_tensor,
    get_collection,
    get_collection_ref,
    name_scope,
)
from berth.front.logger import get_logger
from berth.functions.function import function
from berth.graph.default_graph import get_default_graph, reset_default_graph
from berth.graph.default_session import get_default_session
from berth.graph.graph import Graph
from berth.graph.import_graph_def import import_graph_def
from berth.graph.keys import GraphKeys
from berth.graph.operation import Operation
from berth.graph.tensor_proto import make_ndarray, make_tensor_proto
from berth.ops.arrays.array import (
    constant,
    expand_dims,
    identity,
    identity_n,
    reshape,
    squeeze,
    stop_gradient,
)
from berth.ops.arrays.bitcast import bitcast
from berth.ops.arrays.broadcast_shapes import broadcast_dynamic_shape, broadcast_static_shape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.ensure_shape import ensure_shape
from berth.ops.arrays.filling import fill, ones, ones_like, range, zeros, zeros_like
from berth.ops.arrays.gathering import gather, where, where_v2
from berth.ops.arrays.grids import linspace, meshgrid, sequence_mask, unravel_index
from berth.ops.arrays.grids import linspace as lin_space
from berth.ops.arrays.indexed_slices import IndexedSlices, IndexedSlicesSpec, IndexedSlicesValue
from berth.ops.arrays.indexing import boolean_mask, newaxis
from berth.ops.arrays.joining import concat, split, stack, unstack
from berth.ops.arrays.metadata import rank, shape, shape_n, size
from berth.ops.arrays.one_hot import one_hot
from berth.ops.arrays.pad import pad
from berth.ops.arrays.partitions import dynamic_partition, dynamic_stitch, invert_permutation
from berth.ops.arrays.placeholders import placeholder, placeholder_with_default
from berth.ops.arrays.rearranging import repeat, reverse, roll
from berth.ops.arrays.rearranging import reverse as reverse_v2
from berth.ops.arrays.rearranging import reverse_sequence_v1 as reverse_sequence
from berth.ops.arrays.scattering import gather_nd_v1 as gather_nd
from berth.ops.arrays.scattering import (
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from berth.ops.arrays.scattering import tensor_scatter_nd_add as tensor_scatter_add
from berth.ops.arrays.scattering import tensor_scatter_nd_sub as tensor_scatter_sub
from berth.ops.arrays.scattering import tensor_scatter_nd_update as tensor_scatter_update
from berth.ops.arrays.slicing import slice, strided_slice
from berth.ops.arrays.sorting import argsort, sort
from berth.ops.arrays.space_to_depth import depth_to_space_v1 as depth_to_space
from berth.ops.arrays.space_to_depth import space_to_depth_v1 as space_to_depth
from berth.ops.arrays.strings import as_string, numpy_function, py_func, string_join
from berth.ops.arrays.tile import tile
from berth.ops.arrays.transpose import transpose
from berth.ops.arrays.unique import unique, unique_with_counts
from berth.ops.elementwise.add_n import accumulate_n, add_n
from berth.ops.elementwise.arithmetic import (
    add,
    clip_by_value,
    floordiv,
    maximum,
    minimum,
    mod,
    multiply,
    pow,
    scalar_mul,
    squared_difference,
    subtract,
    truediv,
)
from berth.ops.elementwise.arithmetic import floordiv as floor_div
from berth.ops.elementwise.arithmetic import mod as floormod
from berth.ops.elementwise.arithmetic import truediv as divide
from berth.ops.elementwise.casting import cast, to_double, to_float, to_int32, to_int64
from berth.ops.elementwise.compare import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from berth.ops.elementwise.complex_numbers import angle, complex, imag, real
from berth.ops.elementwise.division import div, realdiv, rint, truncatediv, truncatemod
from berth.ops.elementwise.division import divide_no_nan as div_no_nan
from berth.ops.elementwise.gamma import digamma, lgamma, polygamma, zeta
from berth.ops.elementwise.roots import reciprocal, rsqrt, sqrt
from berth.ops.elementwise.saturate import saturate_cast
from berth.ops.elementwise.sigmoid import sigmoid, tanh
from berth.ops.elementwise.special import erf, erfc
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
    ceil,
    conj,
    cos,
    exp,
    expm1,
    floor,
    is_finite,
    is_inf,
    is_nan,
    log,
    log1p,
    negative,
    round,
    sign,
    sin,
    square,
)
from berth.ops.flow.assertions import assert_equal_v1 as assert_equal
from berth.ops.flow.assertions import assert_greater_equal_v1 as assert_greater_equal
from berth.ops.flow.assertions import assert_greater_v1 as assert_greater
from berth.ops.flow.assertions import assert_less_equal_v1 as assert_less_equal
from berth.ops.flow.assertions import assert_less_v1 as assert_less
from berth.ops.flow.assertions import assert_near_v1 as assert_near
from berth.ops.flow.assertions import assert_negative_v1 as assert_negative
from berth.ops.flow.assertions import assert_non_negative_v1 as assert_non_negative
from berth.ops.flow.assertions import assert_non_positive_v1 as assert_non_positive
from berth.ops.flow.assertions import assert_none_equal_v1 as assert_none_equal
from berth.ops.flow.assertions import assert_positive_v1 as assert_positive
from berth.ops.flow.checks import (
    assert_integer,
    assert_type,
    check_numerics,
    verify_tensor_all_finite,
)
from berth.ops.flow.checks import assert_rank_at_least_v1 as assert_rank_at_least
from berth.ops.flow.checks import assert_rank_in_v1 as assert_rank_in
from berth.ops.flow.checks import assert_rank_v1 as assert_rank
from berth.ops.flow.checks import assert_scalar_v1 as assert_scalar
from berth.ops.flow.control import Assert, group, no_op
from berth.ops.flow.control import tuple_v1 as tuple
from berth.ops.flow.printing import Print, print
from berth.ops.gradient import RegisterGradient, no_gradient
from berth.ops.gradient import no_gradient as NoGradient
from berth.ops.gradient import no_gradient as NotDifferentiable
from berth.ops.image.cropping import random_crop
from berth.ops.linalg.cholesky import cholesky_solve
from berth.ops.linalg.decompositions import eigh as self_adjoint_eig
from berth.ops.linalg.decompositions import eigvalsh as self_adjoint_eigvals
from berth.ops.linalg.decompositions import qr, svd
from berth.ops.linalg.diagonals import band_part as matrix_band_part
from berth.ops.linalg.diagonals import diag as matrix_diag
from berth.ops.linalg.diagonals import diag_part as matrix_diag_part
from berth.ops.linalg.diagonals import eye, trace
from berth.ops.linalg.diagonals import set_diag as matrix_set_diag
from berth.ops.linalg.diagonals import tensor_diag as diag
from berth.ops.linalg.diagonals import tensor_diag_part as diag_part
from berth.ops.linalg.einsum import cross, einsum, tensordot
from berth.ops.linalg.matmul import matmul
from berth.ops.linalg.matrices import cholesky
from berth.ops.linalg.matrices import det as matrix_determinant
from berth.ops.linalg.matrices import inv as matrix_inverse
from berth.ops.linalg.matrices import solve as matrix_solve
from berth.ops.linalg.matrices import triangular_solve as matrix_triangular_solve
from berth.ops.linalg.nonsymmetric import eig, eigvals
from berth.ops.linalg.transposes import matrix_transpose
from berth.ops.nn.softplus import log_sigmoid
from berth.ops.operators import Tensor
from berth.ops.random.distributions import random_gamma
from berth.ops.random.distributions import random_poisson_v1 as random_poisson
from berth.ops.random.sampling import multinomial
from berth.ops.random.sampling import shuffle as random_shuffle
from berth.ops.random.seeded import (
    random_normal,
    random_uniform,
    set_random_seed,
    truncated_normal,
)
from berth.ops.reductions.argmax import argmax, argmin
from berth.ops.reductions.cumulative import cumprod, cumsum
from berth.ops.reductions.histogram import histogram_fixed_width
from berth.ops.reductions.norms import (
    clip_by_average_norm,
    clip_by_global_norm,
    clip_by_norm,
    global_norm,
)
from berth.ops.reductions.norms import norm_v1 as norm
from berth.ops.reductions.reduction import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from berth.ops.reductions.searchsorted import searchsorted
from berth.ops.reductions.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
)
from berth.ops.reductions.statistics import bincount_v1 as bincount
from berth.ops.reductions.statistics import confusion_matrix_v1 as confusion_matrix
from berth.ops.reductions.statistics import count_nonzero_v1 as count_nonzero
from berth.ops.reductions.statistics import (
    is_non_decreasing,
    is_strictly_increasing,
    reduce_logsumexp,
)
from berth.ops.reductions.unsorted_segments import (
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from berth.ops.shape import TensorShape
from berth.ops.type_spec import TensorSpec, TypeSpec, type_spec_from_value
from berth.proto.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunOptions,
)
from berth.proto.framework import AttrValue, GraphDef, NameAttrList, NodeDef
from berth.proto.meta_graph import MetaGraphDef
from berth.session.interactive_session import InteractiveSession
from berth.session.run_metadata import RunMetadata
from berth.session.session import Session
from berth.variables.assignment import (
    assign,
    assign_add,
    assign_sub,
    batch_scatter_update,
    count_up_to,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from berth.variables.collections import (
    all_variables,
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    initialize_all_tables,
    initialize_all_variables,
    initialize_local_variables,
    initialize_variables,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    tables_initializer,
    trainable_variables,
    variables_initializer,
)
from berth.variables.creators import variable_creator_scope
from berth.variables.initializers_v1 import Constant as constant_initializer
from berth.variables.initializers_v1 import GlorotNormal as glorot_normal_initializer
from berth.variables.initializers_v1 import GlorotUniform as glorot_uniform_initializer
from berth.variables.initializers_v1 import Ones as ones_initializer
from berth.variables.initializers_v1 import Orthogonal as orthogonal_initializer
from berth.variables.initializers_v1 import RandomNormal as random_normal_initializer
from berth.variables.initializers_v1 import RandomUniform as random_uniform_initializer
from berth.variables.initializers_v1 import TruncatedNormal as truncated_normal_initializer
from berth.variables.initializers_v1 import (
    UniformUnitScaling as uniform_unit_scaling_initializer,
)
from berth.variables.initializers_v1 import VarianceScaling as variance_scaling_initializer
from berth.variables.initializers_v1 import Zeros as zeros_initializer
from berth.variables.partitioners import (
    fixed_size_partitioner,
    min_max_variable_partitioner,
    variable_axis_size_partitioner,
)
from berth.variables.scope import (
    create_partitioned_variables,
    get_local_variable,
    get_variable,
    no_regularizer,
    variable_scope,
)
from berth.variables.store import (
    AUTO_REUSE,
    VariableScope,
    disable_resource_variables,
    enable_resource_variables,
    get_variable_scope,
    resource_variables_enabled,
)
from berth.variables.template import make_template
from berth.variables.variable import Variable, VariableAggregation, VariableSynchronization

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "AttrValue",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "DType",
    "DeviceSpec",
    "Event",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "GPUOptions",
    "GradientTape",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "HistogramProto",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesSpec",
    "IndexedSlicesValue",
    "InteractiveSession",
    "LogMessage",
    "MetaGraphDef",
    "Module",
    "NameAttrList",
    "NoGradient",
    "NodeDef",
    "NotDifferentiable",
    "OpError",
    "Operation",
    "OptimizerOptions",
    "OptionalSpec",
    "PaddingFIFOQueue",
    "Print",
    "PriorityQueue",
    "QueueBase",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RandomShuffleQueue",
    "ReaderBase",
    "RegisterGradient",
    "RunMetadata",
    "RunOptions",
    "Session",
    "SessionLog",
    "SparseConditionalAccumulator",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Summary",
    "SummaryMetadata",
    "TFRecordReader",
    "Tensor",
    "TensorArray",
    "TensorArraySpec",
    "TensorShape",
    "TensorSpec",
    "TextLineReader",
    "TypeSpec",
    "UnconnectedGradients",
    "Variable",
    "VariableAggregation",
    "VariableScope",
    "VariableSynchronization",
    "WholeFileReader",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "angle",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
    "assert_type",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "atanh",
    "batch_scatter_update",
    "bfloat16",
    "bincount",
    "bitcast",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "check_numerics",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "colocate_with",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_partitioned_variables",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "decode_csv",
    "decode_raw",
    "depth_to_space",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_v2_behavior",
    "div",
    "div_no_nan",
    "divide",
    "double",
    "dynamic_partition",
    "dynamic_stitch",
    "eig",
    "eigvals",
    "einsum",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_v2_behavior",
    "ensure_shape",
    "equal",
    "erf",
    "erfc",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "fft",
    "fft2d",
    "fft3d",
    "fill",
    "fixed_size_partitioner",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_logger",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "gradients",
    "greater",
    "greater_equal",
    "group",
    "half",
    "histogram_fixed_width",
    "identity",
    "identity_n",
    "ifft",
    "ifft2d",
    "ifft3d",
    "imag",
    "import_graph_def",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "int16",
    "int32",
    "int64",
    "int8",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "is_tensor",
    "is_variable_initialized",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linspace",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "make_ndarray",
    "make_template",
    "make_tensor_proto",
    "map_fn",
    "matching_files",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "meshgrid",
    "min_max_variable_partitioner",
    "minimum",
    "mod",
    "model_variables",
    "moving_average_variables",
    "multinomial",
    "multiply",
    "name_scope",
    "negative",
    "newaxis",
    "no_gradient",
    "no_op",
    "no_regularizer",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "orthogonal_initializer",
    "pad",
    "parse_example",
    "parse_single_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "pow",
    "print",
    "py_func",
    "qr",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "read_file",
    "real",
    "realdiv",
    "reciprocal",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "regex_replace",
    "repeat",
    "report_uninitialized_variables",
    "reset_default_graph",
    "reshape",
    "resource",
    "resource_variables_enabled",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "saturate_cast",
    "scalar_mul",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "sequence_mask",
    "serialize_tensor",
    "set_random_seed",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_depth",
    "sparse_add",
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_maximum",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_strip",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "substr",
    "subtract",
    "svd",
    "switch_case",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "tile",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uniform_unit_scaling_initializer",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "variable_axis_size_partitioner",
    "variable_creator_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "vectorized_map",
    "verify_tensor_all_finite",
    "where",
    "where_v2",
    "while_loop",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    "zeta",
]

_LAZY_NAMES: _LazyNames = {
    "ConditionalAccumulator": ("berth.data.accumulators", "ConditionalAccumulator"),
    "ConditionalAccumulatorBase": ("berth.data.accumulators", "ConditionalAccumulatorBase"),
    "Event": ("berth.summary.messages", "Event"),
    "FIFOQueue": ("berth.data.queues", "FIFOQueue"),
    "FixedLenFeature": ("berth.data.parsing", "FixedLenFeature"),
    "FixedLenSequenceFeature": ("berth.data.parsing", "FixedLenSequenceFeature"),
    "FixedLengthRecordReader": ("berth.data.readers", "FixedLengthRecordReader"),
    "HistogramProto": ("berth.summary.messages", "HistogramProto"),
    "IdentityReader": ("berth.data.readers", "IdentityReader"),
    "LogMessage": ("berth.summary.messages", "LogMessage"),
    "OptionalSpec": ("berth.data.optionals", "OptionalSpec"),
    "PaddingFIFOQueue": ("berth.data.queues", "PaddingFIFOQueue"),
    "PriorityQueue": ("berth.data.queues", "PriorityQueue"),
    "QueueBase": ("berth.data.queues", "QueueBase"),
    "RaggedTensor": ("berth.ops.ragged.ragged_tensor", "RaggedTensor"),
    "RaggedTensorSpec": ("berth.ops.ragged.ragged_tensor", "RaggedTensorSpec"),
    "RandomShuffleQueue": ("berth.data.queues", "RandomShuffleQueue"),
    "ReaderBase": ("berth.data.readers", "ReaderBase"),
    "SessionLog": ("berth.summary.messages", "SessionLog"),
    "SparseConditionalAccumulator": ("berth.data.accumulators", "SparseConditionalAccumulator"),
    "SparseTensor": ("berth.ops.sparse.sparse_tensor", "SparseTensor"),
    "SparseTensorSpec": ("berth.ops.sparse.sparse_tensor", "SparseTensorSpec"),
    "SparseTensorValue": ("berth.ops.sparse.sparse_tensor", "SparseTensorValue"),
    "Summary": ("berth.summary.messages", "Summary"),
    "SummaryMetadata": ("berth.summary.messages", "SummaryMetadata"),
    "TFRecordReader": ("berth.data.readers", "TFRecordReader"),
    "TensorArray": ("berth.ops.lists.tensor_array", "TensorArray"),
    "TensorArraySpec": ("berth.ops.lists.tensor_array", "TensorArraySpec"),
    "TextLineReader": ("berth.data.readers", "TextLineReader"),
    "WholeFileReader": ("berth.data.readers", "WholeFileReader"),
    "convert_to_tensor_or_sparse_tensor": (
        "berth.ops.sparse.sparse_tensor",
        "convert_to_tensor_or_sparse_tensor",
    ),
    "decode_csv": ("berth.data.decode_ops", "decode_csv_v1"),
    "decode_raw": ("berth.data.decode_ops", "decode_raw_v1"),
    "fake_quant_with_min_max_args": (
        "berth.ops.quantization.fake_quant",
        "fake_quant_with_min_max_args",
    ),
    "fake_quant_with_min_max_args_gradient": (
        "berth.ops.quantization.fake_quant",
        "fake_quant_with_min_max_args_gradient",
    ),
    "fake_quant_with_min_max_vars": (
        "berth.ops.quantization.fake_quant",
        "fake_quant_with_min_max_vars",
    ),
    "fake_quant_with_min_max_vars_gradient": (
        "berth.ops.quantization.fake_quant",
        "fake_quant_with_min_max_vars_gradient",
    ),
    "fake_quant_with_min_max_vars_per_channel": (
        "berth.ops.quantization.fake_quant",
        "fake_quant_with_min_max_vars_per_channel",
    ),
    "fake_quant_with_min_max_vars_per_channel_gradient": (
        "berth.ops.quantization.fake_quant",
        "fake_quant_with_min_max_vars_per_channel_gradient",
    ),
    "fft": ("berth.ops.signal.transforms", "fft"),
    "fft2d": ("berth.ops.signal.transforms", "fft2d"),
    "fft3d": ("berth.ops.signal.transforms", "fft3d"),
    "ifft": ("berth.ops.signal.transforms", "ifft"),
    "ifft2d": ("berth.ops.signal.transforms", "ifft2d"),
    "ifft3d": ("berth.ops.signal.transforms", "ifft3d"),
    "matching_files": ("berth.data.file_ops", "matching_files"),
    "parse_example": ("berth.data.parsing", "parse_example_v1"),
    "parse_single_example": ("berth.data.parsing", "parse_single_example_v1"),
    "parse_tensor": ("berth.data.decode_ops", "parse_tensor"),
    "read_file": ("berth.data.file_ops", "read_file"),
    "regex_replace": ("berth.ops.text.mapping", "regex_replace"),
    "serialize_tensor": ("berth.data.decode_ops", "serialize_tensor"),
    "sparse_add": ("berth.ops.sparse.arithmetic", "add_v1"),
    "sparse_concat": ("berth.ops.sparse.arrange", "concat_v1"),
    "sparse_fill_empty_rows": ("berth.ops.sparse.arrange", "fill_empty_rows"),
    "sparse_maximum": ("berth.ops.sparse.arithmetic", "sparse_maximum"),
    "sparse_minimum": ("berth.ops.sparse.arithmetic", "sparse_minimum"),
    "sparse_placeholder": ("berth.ops.sparse.sparse_tensor", "sparse_placeholder"),
    "sparse_reduce_max": ("berth.ops.sparse.arithmetic", "reduce_max_v1"),
    "sparse_reduce_max_sparse": ("berth.ops.sparse.arithmetic", "reduce_max_sparse"),
    "sparse_reduce_sum": ("berth.ops.sparse.arithmetic", "reduce_sum_v1"),
    "sparse_reduce_sum_sparse": ("berth.ops.sparse.arithmetic", "reduce_sum_sparse"),
    "sparse_reorder": ("berth.ops.sparse.arrange", "reorder"),
    "sparse_reset_shape": ("berth.ops.sparse.conversion", "reset_shape"),
    "sparse_reshape": ("berth.ops.sparse.arrange", "sparse_reshape"),
    "sparse_retain": ("berth.ops.sparse.conversion", "retain"),
    "sparse_segment_mean": ("berth.ops.sparse.segments", "segment_mean"),
    "sparse_segment_sqrt_n": ("berth.ops.sparse.segments", "segment_sqrt_n"),
    "sparse_segment_sum": ("berth.ops.sparse.segments", "segment_sum"),
    "sparse_slice": ("berth.ops.sparse.arrange", "sparse_slice"),
    "sparse_softmax": ("berth.ops.sparse.arithmetic", "softmax"),
    "sparse_split": ("berth.ops.sparse.arrange", "split_v1"),
    "sparse_tensor_dense_matmul": ("berth.ops.sparse.arithmetic", "sparse_dense_matmul"),
    "sparse_tensor_to_dense": ("berth.ops.sparse.conversion", "to_dense"),
    "sparse_to_dense": ("berth.ops.sparse.conversion", "sparse_to_dense"),
    "sparse_to_indicator": ("berth.ops.sparse.conversion", "to_indicator"),
    "sparse_transpose": ("berth.ops.sparse.arrange", "transpose"),
    "string_strip": ("berth.ops.text.mapping", "strip"),
    "string_to_hash_bucket_fast": ("berth.ops.text.mapping", "to_hash_bucket_fast"),
    "string_to_hash_bucket_strong": ("berth.ops.text.mapping", "to_hash_bucket_strong"),
    "string_to_number": ("berth.ops.text.mapping", "to_number_v1"),
    "substr": ("berth.ops.text.mapping", "substr_v1"),
    "write_file": ("berth.data.file_ops", "write_file"),
}

if TYPE_CHECKING:
    from berth.data.accumulators import ConditionalAccumulator as ConditionalAccumulator
    from berth.data.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
    from berth.data.accumulators import (
        SparseConditionalAccumulator as SparseConditionalAccumulator,
    )
    from berth.data.decode_ops import decode_csv_v1 as decode_csv
    from berth.data.decode_ops import decode_raw_v1 as decode_raw
    from berth.data.decode_ops import parse_tensor as parse_tensor
    from berth.data.decode_ops import serialize_tensor as serialize_tensor
    from berth.data.file_ops import matching_files as matching_files
    from berth.data.file_ops import read_file as read_file
    from berth.data.file_ops import write_file as write_file
    from berth.data.optionals import OptionalSpec as OptionalSpec
    from berth.data.parsing import FixedLenFeature as FixedLenFeature
    from berth.data.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
    from berth.data.parsing import parse_example_v1 as parse_example
    from berth.data.parsing import parse_single_example_v1 as parse_single_example
    from berth.data.queues import FIFOQueue as FIFOQueue
    from berth.data.queues import PaddingFIFOQueue as PaddingFIFOQueue
    from berth.data.queues import PriorityQueue as PriorityQueue
    from berth.data.queues import QueueBase as QueueBase
    from berth.data.queues import RandomShuffleQueue as RandomShuffleQueue
    from berth.data.readers import FixedLengthRecordReader as FixedLengthRecordReader
    from berth.data.readers import IdentityReader as IdentityReader
    from berth.data.readers import ReaderBase as ReaderBase
    from berth.data.readers import TextLineReader as TextLineReader
    from berth.data.readers import TFRecordReader as TFRecordReader
    from berth.data.readers import WholeFileReader as WholeFileReader
    from berth.ops.lists.tensor_array import TensorArray as TensorArray
    from berth.ops.lists.tensor_array import TensorArraySpec as TensorArraySpec
    from berth.ops.quantization.fake_quant import (
        fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    )
    from berth.ops.quantization.fake_quant import (
        fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    )
    from berth.ops.quantization.fake_quant import (
        fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    )
    from berth.ops.quantization.fake_quant import (
        fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    )
    from berth.ops.quantization.fake_quant import (
        fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    )
    from berth.ops.quantization.fake_quant import (
        fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
    )
    from berth.ops.ragged.ragged_tensor import RaggedTensor as RaggedTensor
    from berth.ops.ragged.ragged_tensor import RaggedTensorSpec as RaggedTensorSpec
    from berth.ops.signal.transforms import fft as fft
    from berth.ops.signal.transforms import fft2d as fft2d
    from berth.ops.signal.transforms import fft3d as fft3d
    from berth.ops.signal.transforms import ifft as ifft
    from berth.ops.signal.transforms import ifft2d as ifft2d
    from berth.ops.signal.transforms import ifft3d as ifft3d
    from berth.ops.sparse.arithmetic import add_v1 as sparse_add
    from berth.ops.sparse.arithmetic import reduce_max_sparse as sparse_reduce_max_sparse
    from berth.ops.sparse.arithmetic import reduce_max_v1 as sparse_reduce_max
    from berth.ops.sparse.arithmetic import reduce_sum_sparse as sparse_reduce_sum_sparse
    from berth.ops.sparse.arithmetic import reduce_sum_v1 as sparse_reduce_sum
    from berth.ops.sparse.arithmetic import softmax as sparse_softmax
    from berth.ops.sparse.arithmetic import sparse_dense_matmul as sparse_tensor_dense_matmul
    from berth.ops.sparse.arithmetic import sparse_maximum as sparse_maximum
    from berth.ops.sparse.arithmetic import sparse_minimum as sparse_minimum
    from berth.ops.sparse.arrange import concat_v1 as sparse_concat
    from berth.ops.sparse.arrange import fill_empty_rows as sparse_fill_empty_rows
    from berth.ops.sparse.arrange import reorder as sparse_reorder
    from berth.ops.sparse.arrange import sparse_reshape as sparse_reshape
    from berth.ops.sparse.arrange import sparse_slice as sparse_slice
    from berth.ops.sparse.arrange import split_v1 as sparse_split
    from berth.ops.sparse.arrange import transpose as sparse_transpose
    from berth.ops.sparse.conversion import reset_shape as sparse_reset_shape
    from berth.ops.sparse.conversion import retain as sparse_retain
    from berth.ops.sparse.conversion import sparse_to_dense as sparse_to_dense
    from berth.ops.sparse.conversion import to_dense as sparse_tensor_to_dense
    from berth.ops.sparse.conversion import to_indicator as sparse_to_indicator
    from berth.ops.sparse.segments import segment_mean as sparse_segment_mean
    from berth.ops.sparse.segments import segment_sqrt_n as sparse_segment_sqrt_n
    from berth.ops.sparse.segments import segment_sum as sparse_segment_sum
    from berth.ops.sparse.sparse_tensor import SparseTensor as SparseTensor
    from berth.ops.sparse.sparse_tensor import SparseTensorSpec as SparseTensorSpec
    from berth.ops.sparse.sparse_tensor import SparseTensorValue as SparseTensorValue
    from berth.ops.sparse.sparse_tensor import (
        convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
    )
    from berth.ops.sparse.sparse_tensor import sparse_placeholder as sparse_placeholder
    from berth.ops.text.mapping import regex_replace as regex_replace
    from berth.ops.text.mapping import strip as string_strip
    from berth.ops.text.mapping import substr_v1 as substr
    from berth.ops.text.mapping import to_hash_bucket_fast as string_to_hash_bucket_fast
    from berth.ops.text.mapping import to_hash_bucket_strong as string_to_hash_bucket_strong
    from berth.ops.text.mapping import to_number_v1 as string_to_number
    from berth.summary.messages import Event as Event
    from berth.summary.messages import HistogramProto as HistogramProto
    from berth.summary.messages import LogMessage as LogMessage
    from berth.summary.messages import SessionLog as SessionLog
    from berth.summary.messages import Summary as Summary
    from berth.summary.messages import SummaryMetadata as SummaryMetadata
# --- end

if TYPE_CHECKING:
    from berth.compat.v1 import app as app
    from berth.compat.v1 import autograph as autograph
    from berth.compat.v1 import compat as compat
    from berth.compat.v1 import data as data
    from berth.compat.v1 import flags as flags
    from berth.compat.v1 import gfile as gfile
    from berth.compat.v1 import image as image
    from berth.compat.v1 import io as io
    from berth.compat.v1 import layers as layers
    from berth.compat.v1 import logging as logging
    from berth.compat.v1 import lookup as lookup
    from berth.compat.v1 import python_io as python_io
    from berth.compat.v1 import quantization as quantization
    from berth.compat.v1 import signal as signal
    from berth.compat.v1 import spectral as spectral
    from berth.compat.v1 import strings as strings
    from berth.compat.v1 import summary as summary
    from berth.compat.v1 import train as train

_LAZY_MODULES = (
    "app",
    "autograph",
    "contrib",
    "compat",
    "data",
    "flags",
    "gfile",
    "image",
    "io",
    "layers",
    "logging",
    "lookup",
    "losses",
    "metrics",
    "python_io",
    "quantization",
    "signal",
    "ragged",
    "sparse",
    "spectral",
    "strings",
    "summary",
    "train",
)
"""Submodules that are imported when they are first used: most programs need few."""

__all__ += [
    "app",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "contrib",
    "data",
    "debugging",
    "dtypes",
    "errors",
    "flags",
    "gfile",
    "image",
    "initializers",
    "io",
    "layers",
    "linalg",
    "logging",
    "lookup",
    "losses",
    "metrics",
    "math",
    "nest",
    "nn",
    "python_io",
    "quantization",
    "random",
    "signal",
    "ragged",
    "sparse",
    "spectral",
    "strings",
    "summary",
    "sysconfig",
    "test",
    "train",
]


_explain_missing_names(__name__, __all__, _LAZY_MODULES, _LAZY_NAMES)


@_public_v1("enable_eager_execution")
def enable_eager_execution(config: _ConfigProto | None = None) -> None:
    """Run operations as they are written, on the devices that the options ask for."""
    _mode.set_eager(True)
    if config is None:
        return
    context = _context()
    context.devices.adopt(_device_options(config))
    if config.intra_op_parallelism_threads:
        _threading.set_intra_op_parallelism_threads(config.intra_op_parallelism_threads)
    if config.inter_op_parallelism_threads:
        _threading.set_inter_op_parallelism_threads(config.inter_op_parallelism_threads)
    if config.is_set("allow_soft_placement"):
        context.switches.soft_placement = config.allow_soft_placement
    if config.is_set("log_device_placement"):
        context.switches.log_placement = config.log_device_placement


@_public_v1("disable_eager_execution")
def disable_eager_execution() -> None:
    """Let operations go to the default graph."""
    _mode.set_eager(False)


@_public_v1("enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Run operations as they are written."""
    _mode.set_eager(True)


@_public_v1("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Add operations to the default graph: the initial mode of this API."""
    _mode.set_eager(False)


if not _mode.is_imported_by_program():
    _mode.start_with_graphs()
