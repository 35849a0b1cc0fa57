"""TensorFlow 1: graphs and sessions. ``import berth.compat.v1 as tf``.

Operations go to the default graph, and are computed when a `Session` runs them.
"""

from __future__ import annotations

from berth import config, debugging, dtypes, errors, test
from berth.compat.v1 import math, nn, random, strings
from berth.config import threading as _threading
from berth.devices.spec import DeviceSpecV1 as DeviceSpec
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
from berth.front.context import context as _context
from berth.front.graph_scope import (
    GraphKeys,
    add_to_collection,
    colocate_with,
    control_dependencies,
    convert_to_tensor,
    device,
    get_collection,
    name_scope,
)
from berth.front.options import ConfigProto, GPUOptions, GraphOptions
from berth.front.options import device_options as _device_options
from berth.front.run_options import RunMetadata, RunOptions
from berth.front.session import InteractiveSession, Session
from berth.graph.default import get_default_session
from berth.graph.graph import Graph
from berth.graph.ground import get_default_graph, reset_default_graph
from berth.graph.operation import Operation
from berth.graph.tensor import Tensor
from berth.graph.text import GraphDef, NodeDef
from berth.graph.variable import (
    Variable,
    assign,
    assign_add,
    assign_sub,
    global_variables,
    global_variables_initializer,
    is_variable_initialized,
    trainable_variables,
    variables_initializer,
)
from berth.ops.array import (
    constant,
    expand_dims,
    identity,
    placeholder,
    placeholder_with_default,
    reshape,
    squeeze,
    stop_gradient,
)
from berth.ops.compare import (
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
from berth.ops.control import Assert, group, no_op
from berth.ops.extremes import argmax, argmin
from berth.ops.filling import fill, one_hot, ones, ones_like, range, zeros, zeros_like
from berth.ops.gathering import gather, where
from berth.ops.indexing import boolean_mask
from berth.ops.joining import concat, split, stack, unstack
from berth.ops.linalg import matmul
from berth.ops.math import (
    add,
    add_n,
    cast,
    clip_by_value,
    floordiv,
    maximum,
    minimum,
    mod,
    multiply,
    pow,
    squared_difference,
    subtract,
    to_double,
    to_float,
    to_int32,
    to_int64,
    truediv,
)
from berth.ops.metadata import rank, shape, size
from berth.ops.moving import pad, tile, transpose
from berth.ops.random import random_normal, random_uniform, set_random_seed, truncated_normal
from berth.ops.reduction import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from berth.ops.shape import TensorShape
from berth.ops.slicing import slice, strided_slice
from berth.ops.strings import as_string, numpy_function, py_func, string_join
from berth.ops.unary import (
    abs,
    ceil,
    cos,
    exp,
    expm1,
    floor,
    log,
    log1p,
    negative,
    reciprocal,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tanh,
)

__all__ = [
    # modules
    "config",
    "debugging",
    "dtypes",
    "errors",
    "math",
    "nn",
    "random",
    "strings",
    "test",
    # types
    "DType",
    "TensorShape",
    "as_dtype",
    "bool",
    "complex128",
    "complex64",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "resource",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    # graphs and sessions
    "ConfigProto",
    "DeviceSpec",
    "GPUOptions",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "InteractiveSession",
    "NodeDef",
    "Operation",
    "RunMetadata",
    "RunOptions",
    "Session",
    "Tensor",
    "add_to_collection",
    "colocate_with",
    "control_dependencies",
    "convert_to_tensor",
    "device",
    "enable_eager_execution",
    "get_collection",
    "get_default_graph",
    "get_default_session",
    "name_scope",
    "reset_default_graph",
    # variables
    "Variable",
    "assign",
    "assign_add",
    "assign_sub",
    "global_variables",
    "global_variables_initializer",
    "is_variable_initialized",
    "trainable_variables",
    "variables_initializer",
    # operations
    "Assert",
    "abs",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "as_string",
    "boolean_mask",
    "cast",
    "ceil",
    "clip_by_value",
    "concat",
    "constant",
    "cos",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "fill",
    "floor",
    "floordiv",
    "gather",
    "greater",
    "greater_equal",
    "group",
    "identity",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "no_op",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "pow",
    "py_func",
    "random_normal",
    "random_uniform",
    "range",
    "rank",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reshape",
    "round",
    "rsqrt",
    "set_random_seed",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "size",
    "slice",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string_join",
    "subtract",
    "tanh",
    "tile",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "transpose",
    "truediv",
    "truncated_normal",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]


def enable_eager_execution(config: ConfigProto | None = None) -> None:
    """Run operations as they are written, on the devices that the options ask for."""
    if config is None:
        return
    context = _context()
    context.devices.adopt(_device_options(config))
    if config.intra_op_parallelism_threads:
        _threading.set_intra_op_parallelism_threads(config.intra_op_parallelism_threads)
    if config.inter_op_parallelism_threads:
        _threading.set_inter_op_parallelism_threads(config.inter_op_parallelism_threads)
    context.switches.soft_placement = config.allow_soft_placement or None
    context.switches.log_placement = config.log_device_placement
