"""berth: TensorFlow's device and GPU-memory system as a Python runtime.

``import berth as tf`` is TensorFlow 2's API, eager by default;
``import berth.compat.v1 as tf`` is TensorFlow 1's.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from berth import config, debugging, dtypes, errors, math
from berth.keras_import import install as _run_keras_on_berth
from berth.missing import LazyNames as _LazyNames
from berth.missing import load_lazily as _load_lazily

# --- written by dev/make_api.py: make api
# isort: split
from berth.autodiff.backprop import AggregationMethod, gradients
from berth.autodiff.custom_gradient import custom_gradient
from berth.autodiff.recompute import recompute_grad
from berth.autodiff.tape import GradientTape
from berth.control_flow.cond import case, cond, switch_case
from berth.control_flow.map_fn import foldl, foldr, map_fn, scan
from berth.control_flow.vectorized_map import vectorized_map
from berth.control_flow.while_loop import while_loop
from berth.devices.spec import DeviceSpecV2 as DeviceSpec
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
from berth.eager.mode import executing_eagerly, init_scope
from berth.eager.module import Module
from berth.eager.scope import (
    UnconnectedGradients,
    control_dependencies,
    convert_to_tensor,
    get_static_value,
    is_tensor,
    name_scope,
)
from berth.eager.variable import Variable
from berth.front.context import reset, simulate, trim
from berth.front.device_scope import device
from berth.front.logger import get_logger
from berth.front.why import why
from berth.functions.function import function
from berth.graph.expect import expect_device
from berth.graph.graph import Graph
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
from berth.ops.arrays.filling import fill, ones, range, zeros
from berth.ops.arrays.filling import ones_like_v2 as ones_like
from berth.ops.arrays.filling import zeros_like_v2 as zeros_like
from berth.ops.arrays.gathering import gather_v2 as gather
from berth.ops.arrays.gathering import where_v2 as where
from berth.ops.arrays.grids import linspace, meshgrid, sequence_mask, unravel_index
from berth.ops.arrays.indexed_slices import IndexedSlices, IndexedSlicesSpec
from berth.ops.arrays.indexing import boolean_mask_v2 as boolean_mask
from berth.ops.arrays.indexing import newaxis
from berth.ops.arrays.joining import concat, split, stack, unstack
from berth.ops.arrays.metadata import rank, shape_n
from berth.ops.arrays.metadata import shape_v2 as shape
from berth.ops.arrays.metadata import size_v2 as size
from berth.ops.arrays.one_hot import one_hot
from berth.ops.arrays.pad import pad_v2 as pad
from berth.ops.arrays.partitions import dynamic_partition, dynamic_stitch
from berth.ops.arrays.rearranging import repeat, reverse, reverse_sequence, roll
from berth.ops.arrays.scattering import (
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from berth.ops.arrays.slicing import slice, strided_slice
from berth.ops.arrays.sorting import argsort, sort
from berth.ops.arrays.strings import as_string, numpy_function
from berth.ops.arrays.tile import tile
from berth.ops.arrays.transpose import transpose_v2 as transpose
from berth.ops.arrays.unique import unique, unique_with_counts
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import (
    add,
    clip_by_value,
    maximum,
    minimum,
    multiply,
    pow,
    scalar_mul,
    subtract,
    truediv,
)
from berth.ops.elementwise.arithmetic import mod as floormod
from berth.ops.elementwise.arithmetic import truediv as divide
from berth.ops.elementwise.casting import cast
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
from berth.ops.elementwise.division import realdiv, truncatediv, truncatemod
from berth.ops.elementwise.roots import sqrt
from berth.ops.elementwise.saturate import saturate_cast
from berth.ops.elementwise.sigmoid import sigmoid, tanh
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
from berth.ops.elementwise.unary import abs, cos, exp, floor, negative, round, sign, sin, square
from berth.ops.flow.assertions import assert_equal, assert_greater, assert_less
from berth.ops.flow.checks import assert_rank
from berth.ops.flow.control import Assert, group, no_op, tuple
from berth.ops.flow.printing import print
from berth.ops.gradient import RegisterGradient, no_gradient
from berth.ops.linalg.diagonals import eye
from berth.ops.linalg.einsum import einsum, tensordot
from berth.ops.linalg.matmul import matmul
from berth.ops.linalg.nonsymmetric import eig, eigvals
from berth.ops.operators import Tensor
from berth.ops.reductions.argmax import argmax_v2 as argmax
from berth.ops.reductions.argmax import argmin_v2 as argmin
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.histogram import histogram_fixed_width
from berth.ops.reductions.norms import clip_by_global_norm, clip_by_norm, norm
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
from berth.ops.reductions.statistics import reduce_logsumexp
from berth.ops.shape import TensorShape
from berth.ops.type_spec import TensorSpec, TypeSpec, type_spec_from_value
from berth.variables.creators import variable_creator_scope
from berth.variables.initializers import Constant as constant_initializer
from berth.variables.initializers import Ones as ones_initializer
from berth.variables.initializers import RandomNormal as random_normal_initializer
from berth.variables.initializers import RandomUniform as random_uniform_initializer
from berth.variables.initializers import Zeros as zeros_initializer
from berth.variables.variable import VariableAggregation, VariableSynchronization

__all__ = [
    "AggregationMethod",
    "Assert",
    "DType",
    "DeviceSpec",
    "GradientTape",
    "Graph",
    "IndexedSlices",
    "IndexedSlicesSpec",
    "Module",
    "Operation",
    "OptionalSpec",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RegisterGradient",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorArray",
    "TensorArraySpec",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "UnconnectedGradients",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bitcast",
    "bool",
    "boolean_mask",
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
    "cond",
    "constant",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "device",
    "divide",
    "double",
    "dynamic_partition",
    "dynamic_stitch",
    "eig",
    "eigvals",
    "einsum",
    "ensure_shape",
    "equal",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "expect_device",
    "eye",
    "fftnd",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "floormod",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_logger",
    "get_static_value",
    "gradients",
    "greater",
    "greater_equal",
    "group",
    "half",
    "histogram_fixed_width",
    "identity",
    "identity_n",
    "ifftnd",
    "init_scope",
    "int16",
    "int32",
    "int64",
    "int8",
    "irfftnd",
    "is_tensor",
    "less",
    "less_equal",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "make_ndarray",
    "make_tensor_proto",
    "map_fn",
    "matmul",
    "maximum",
    "meshgrid",
    "minimum",
    "multiply",
    "name_scope",
    "negative",
    "newaxis",
    "no_gradient",
    "no_op",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "pad",
    "pow",
    "print",
    "random_normal_initializer",
    "random_uniform_initializer",
    "range",
    "rank",
    "realdiv",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reset",
    "reshape",
    "resource",
    "reverse",
    "reverse_sequence",
    "rfftnd",
    "roll",
    "round",
    "saturate_cast",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "simulate",
    "sin",
    "sinh",
    "size",
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
    "transpose",
    "trim",
    "truediv",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "variable_creator_scope",
    "variant",
    "vectorized_map",
    "where",
    "while_loop",
    "why",
    "zeros",
    "zeros_initializer",
    "zeros_like",
]

_LAZY_NAMES: _LazyNames = {
    "OptionalSpec": ("berth.data.optionals", "OptionalSpec"),
    "RaggedTensor": ("berth.ops.ragged.ragged_tensor", "RaggedTensor"),
    "RaggedTensorSpec": ("berth.ops.ragged.ragged_tensor", "RaggedTensorSpec"),
    "SparseTensor": ("berth.ops.sparse.sparse_tensor", "SparseTensor"),
    "SparseTensorSpec": ("berth.ops.sparse.sparse_tensor", "SparseTensorSpec"),
    "TensorArray": ("berth.ops.lists.tensor_array", "TensorArray"),
    "TensorArraySpec": ("berth.ops.lists.tensor_array", "TensorArraySpec"),
    "fftnd": ("berth.ops.signal.any_axes", "fftnd"),
    "ifftnd": ("berth.ops.signal.any_axes", "ifftnd"),
    "irfftnd": ("berth.ops.signal.any_axes", "irfftnd"),
    "rfftnd": ("berth.ops.signal.any_axes", "rfftnd"),
}

if TYPE_CHECKING:
    from berth.data.optionals import OptionalSpec as OptionalSpec
    from berth.ops.lists.tensor_array import TensorArray as TensorArray
    from berth.ops.lists.tensor_array import TensorArraySpec as TensorArraySpec
    from berth.ops.ragged.ragged_tensor import RaggedTensor as RaggedTensor
    from berth.ops.ragged.ragged_tensor import RaggedTensorSpec as RaggedTensorSpec
    from berth.ops.signal.any_axes import fftnd as fftnd
    from berth.ops.signal.any_axes import ifftnd as ifftnd
    from berth.ops.signal.any_axes import irfftnd as irfftnd
    from berth.ops.signal.any_axes import rfftnd as rfftnd
    from berth.ops.sparse.sparse_tensor import SparseTensor as SparseTensor
    from berth.ops.sparse.sparse_tensor import SparseTensorSpec as SparseTensorSpec
# --- end

if TYPE_CHECKING:
    from berth import (
        autograph,
        bitwise,
        compat,
        data,
        device_lib,
        experimental,
        image,
        initializers,
        io,
        linalg,
        nest,
        nn,
        ragged,
        random,
        sparse,
        strings,
        summary,
        sysconfig,
        test,
        timeline,
        train,
    )

__version__ = "0.1.0"
__all__ += [
    "__version__",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "data",
    "debugging",
    "device_lib",
    "distribute",
    "dtypes",
    "errors",
    "experimental",
    "image",
    "initializers",
    "io",
    "linalg",
    "lookup",
    "math",
    "nest",
    "nn",
    "quantization",
    "random",
    "raw_ops",
    "signal",
    "ragged",
    "sparse",
    "strings",
    "summary",
    "sysconfig",
    "test",
    "timeline",
    "train",
    "types",
]

_LAZY_MODULES = (
    "autograph",
    "bitwise",
    "compat",
    "data",
    "device_lib",
    "distribute",
    "experimental",
    "image",
    "initializers",
    "io",
    "linalg",
    "lookup",
    "nest",
    "nn",
    "quantization",
    "random",
    "raw_ops",
    "signal",
    "ragged",
    "sparse",
    "strings",
    "summary",
    "sysconfig",
    "test",
    "timeline",
    "train",
    "types",
)
_OF_KERAS = ("keras", "losses", "metrics", "optimizers")
"""What is imported from the package Keras. Not in `__all__`: it need not be installed."""
_NOT_YET = ("estimator",)
_run_keras_on_berth()


if not TYPE_CHECKING:  # checkers report a name that is not there

    def __getattr__(name: str) -> Any:
        """Import a submodule when it is first used: most programs need few."""
        found = _load_lazily(__name__, name, _LAZY_MODULES, _LAZY_NAMES)
        if found is not None:
            return found
        if name in _OF_KERAS:
            keras = _import_module("berth.keras")
            return keras if name == "keras" else getattr(keras, name)
        if name in _NOT_YET:
            raise AttributeError(f"berth has no tf.{name} yet: docs/ops.md lists what it has.")
        raise AttributeError(
            f"module 'berth' has no attribute {name!r}. {_near(name)}".rstrip()
        )

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def _near(name: str) -> str:
    """Say what there is instead of a name: elsewhere under the same name, or one like it."""
    for place in ("math", "nn", "linalg", "random"):
        if name in _import_module(f"berth.{place}").__all__:
            return f"There is tf.{place}.{name}."
    # As an attribute: to import it would make this a program of TensorFlow 1.
    if name in _import_module("berth.compat").v1.__all__:
        return f"It is TensorFlow 1's: tf.compat.v1.{name}, or `import berth.compat.v1 as tf`."
    return errors.did_you_mean(name, __all__)
