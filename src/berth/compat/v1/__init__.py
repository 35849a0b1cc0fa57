"""TensorFlow 1: graphs and sessions. ``import berth.compat.v1 as tf``.

Operations go to the default graph, and are computed when a `Session` runs them.
"""

from __future__ import annotations

from typing import NoReturn

from berth import bitwise, both, config, debugging, dtypes, errors, nest, strings, test
from berth.autodiff.backprop import gradients
from berth.both import *
from berth.compat.v1 import initializers, linalg, math, nn, random, train
from berth.compat.v1 import variables as _variables
from berth.compat.v1.variables import *
from berth.config import threading as _threading
from berth.control_flow.cond import cond_v1 as cond
from berth.control_flow.while_loop import while_loop_v1 as while_loop
from berth.devices.spec import DeviceSpecV1 as DeviceSpec
from berth.eager import mode as _mode
from berth.eager.mode import executing_eagerly
from berth.front.context import context as _context
from berth.front.graph_scope import (
    GraphKeys,
    add_to_collection,
    add_to_collections,
    colocate_with,
    control_dependencies,
    convert_to_tensor,
    device,
    get_collection,
    get_collection_ref,
    name_scope,
)
from berth.front.options import ConfigProto, GPUOptions, GraphOptions
from berth.front.options import device_options as _device_options
from berth.functions.tensor_spec import TensorSpec
from berth.graph.default_graph import get_default_graph, reset_default_graph
from berth.graph.default_session import get_default_session
from berth.graph.node_text import GraphDef, NodeDef
from berth.ops.arrays.array import placeholder, placeholder_with_default
from berth.ops.arrays.depth import depth_to_space_v1 as depth_to_space
from berth.ops.arrays.depth import space_to_depth_v1 as space_to_depth
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import gather, where
from berth.ops.arrays.grids import linspace as lin_space
from berth.ops.arrays.indexed_slices import IndexedSlicesValue
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.metadata import shape, size
from berth.ops.arrays.moving import pad, transpose
from berth.ops.arrays.partitions import invert_permutation
from berth.ops.arrays.rearranging import reverse as reverse_v2
from berth.ops.arrays.rearranging import reverse_sequence_v1 as reverse_sequence
from berth.ops.arrays.scattering import gather_nd_v1 as gather_nd
from berth.ops.arrays.scattering import tensor_scatter_nd_add as tensor_scatter_add
from berth.ops.arrays.scattering import tensor_scatter_nd_sub as tensor_scatter_sub
from berth.ops.arrays.scattering import tensor_scatter_nd_update as tensor_scatter_update
from berth.ops.arrays.strings import py_func, string_join
from berth.ops.elementwise.arithmetic import (
    floordiv,
    mod,
    squared_difference,
    to_double,
    to_float,
    to_int32,
    to_int64,
)
from berth.ops.elementwise.arithmetic import floordiv as floor_div
from berth.ops.elementwise.compare import logical_xor
from berth.ops.elementwise.complex_numbers import angle, imag, real
from berth.ops.elementwise.gamma import digamma, lgamma, polygamma, zeta
from berth.ops.elementwise.quotients import div, rint
from berth.ops.elementwise.quotients import divide_no_nan as div_no_nan
from berth.ops.elementwise.special import erf, erfc
from berth.ops.elementwise.unary import (
    ceil,
    conj,
    expm1,
    is_finite,
    is_inf,
    is_nan,
    log,
    log1p,
    reciprocal,
    rsqrt,
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
from berth.ops.flow.control import tuple_v1 as tuple
from berth.ops.flow.printing import Print
from berth.ops.linalg.diagonals import band_part as matrix_band_part
from berth.ops.linalg.diagonals import diag as matrix_diag
from berth.ops.linalg.diagonals import diag_part as matrix_diag_part
from berth.ops.linalg.diagonals import set_diag as matrix_set_diag
from berth.ops.linalg.diagonals import tensor_diag as diag
from berth.ops.linalg.diagonals import tensor_diag_part as diag_part
from berth.ops.linalg.diagonals import trace
from berth.ops.linalg.linear_systems import cholesky_solve, matrix_transpose
from berth.ops.linalg.matrices import cholesky, qr, svd
from berth.ops.linalg.matrices import det as matrix_determinant
from berth.ops.linalg.matrices import eigh as self_adjoint_eig
from berth.ops.linalg.matrices import eigvalsh as self_adjoint_eigvals
from berth.ops.linalg.matrices import inv as matrix_inverse
from berth.ops.linalg.matrices import solve as matrix_solve
from berth.ops.linalg.matrices import triangular_solve as matrix_triangular_solve
from berth.ops.linalg.tensor_products import cross
from berth.ops.nn.activations import log_sigmoid
from berth.ops.random.sampling import multinomial
from berth.ops.random.sampling import shuffle as random_shuffle
from berth.ops.random.seeded import (
    random_normal,
    random_uniform,
    set_random_seed,
    truncated_normal,
)
from berth.ops.reductions.cumulative import cumprod
from berth.ops.reductions.extremes import argmax, argmin
from berth.ops.reductions.norms import clip_by_average_norm, global_norm
from berth.ops.reductions.norms import norm_v1 as norm
from berth.ops.reductions.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from berth.ops.reductions.statistics import bincount_v1 as bincount
from berth.ops.reductions.statistics import confusion_matrix_v1 as confusion_matrix
from berth.ops.reductions.statistics import count_nonzero_v1 as count_nonzero
from berth.ops.reductions.statistics import is_non_decreasing, is_strictly_increasing
from berth.ops.reductions.sums import accumulate_n
from berth.session.run_options import RunMetadata, RunOptions
from berth.session.session import InteractiveSession, Session

__all__ = [
    "ConfigProto",
    "DeviceSpec",
    "GPUOptions",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "IndexedSlicesValue",
    "InteractiveSession",
    "NodeDef",
    "Print",
    "RunMetadata",
    "RunOptions",
    "Session",
    "TensorSpec",
    "accumulate_n",
    "add_to_collection",
    "add_to_collections",
    "angle",
    "argmax",
    "argmin",
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
    "bincount",
    "bitwise",
    "boolean_mask",
    "ceil",
    "check_numerics",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "colocate_with",
    "cond",
    "config",
    "confusion_matrix",
    "conj",
    "control_dependencies",
    "convert_to_tensor",
    "count_nonzero",
    "cross",
    "cumprod",
    "debugging",
    "depth_to_space",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "disable_eager_execution",
    "disable_v2_behavior",
    "div",
    "div_no_nan",
    "dtypes",
    "enable_eager_execution",
    "enable_v2_behavior",
    "erf",
    "erfc",
    "errors",
    "executing_eagerly",
    "expm1",
    "floor_div",
    "floordiv",
    "gather",
    "gather_nd",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "global_norm",
    "gradients",
    "imag",
    "initializers",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "lgamma",
    "lin_space",
    "linalg",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_xor",
    "math",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_transpose",
    "matrix_triangular_solve",
    "mod",
    "multinomial",
    "name_scope",
    "nest",
    "nn",
    "norm",
    "ones_like",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "py_func",
    "qr",
    "random",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "real",
    "reciprocal",
    "reset_default_graph",
    "reverse_sequence",
    "reverse_v2",
    "rint",
    "rsqrt",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "set_random_seed",
    "shape",
    "size",
    "space_to_depth",
    "squared_difference",
    "string_join",
    "strings",
    "svd",
    "tensor_scatter_add",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "test",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "train",
    "transpose",
    "truncated_normal",
    "tuple",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "verify_tensor_all_finite",
    "where",
    "while_loop",
    "zeros_like",
    "zeta",
]
__all__ += both.__all__
__all__ += _variables.__all__


def __getattr__(name: str) -> NoReturn:
    """Say what there is instead of a name that is not there."""
    near = errors.did_you_mean(name, __all__)
    raise AttributeError(f"module 'berth.compat.v1' has no attribute {name!r}. {near}".rstrip())


def enable_eager_execution(config: ConfigProto | None = None) -> None:
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
    context.switches.soft_placement = config.allow_soft_placement or None
    context.switches.log_placement = config.log_device_placement


def disable_eager_execution() -> None:
    """Let operations go to the default graph."""
    _mode.set_eager(False)


def enable_v2_behavior() -> None:
    """Run operations as they are written."""
    _mode.set_eager(True)


def disable_v2_behavior() -> None:
    """Let operations go to the default graph: what this face does from the start."""
    _mode.set_eager(False)


_mode.start_with_graphs()
