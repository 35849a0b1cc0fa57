"""``tf.math``: arithmetic and its functions, as TensorFlow 1 has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.missing import LazyNames as _LazyNames
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.arrays.partitions import invert_permutation
from berth.ops.arrays.sorting import in_top_k_v1 as in_top_k
from berth.ops.arrays.sorting import top_k
from berth.ops.elementwise.add_n import accumulate_n, add_n
from berth.ops.elementwise.arithmetic import (
    add,
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
from berth.ops.elementwise.arithmetic import mod as floormod
from berth.ops.elementwise.arithmetic import truediv as divide
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
from berth.ops.elementwise.complex_numbers import angle, imag, real
from berth.ops.elementwise.division import (
    divide_no_nan,
    multiply_no_nan,
    nextafter,
    reciprocal_no_nan,
    rint,
    xdivy,
    xlog1py,
    xlogy,
)
from berth.ops.elementwise.gamma import digamma, lgamma, polygamma, zeta
from berth.ops.elementwise.polyval import polyval
from berth.ops.elementwise.roots import reciprocal, rsqrt, sqrt
from berth.ops.elementwise.sigmoid import sigmoid, tanh
from berth.ops.elementwise.special import erf, erfc, erfcinv, erfinv, ndtri
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
from berth.ops.nn.softmax import log_softmax, softmax
from berth.ops.nn.softplus import log_sigmoid, softplus, softsign
from berth.ops.reductions.argmax import argmax, argmin
from berth.ops.reductions.cumulative import cumprod, cumsum, cumulative_logsumexp
from berth.ops.reductions.norms import l2_normalize
from berth.ops.reductions.reduction import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
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
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_std,
    reduce_variance,
    zero_fraction,
)
from berth.ops.reductions.unsorted_segments import (
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bincount",
    "ceil",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "divide",
    "divide_no_nan",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "real",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "top_k",
    "truediv",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
    "zeta",
]

_LAZY_NAMES: _LazyNames = {
    "bessel_i0": ("berth.ops.special.bessel", "bessel_i0"),
    "bessel_i0e": ("berth.ops.special.bessel", "bessel_i0e"),
    "bessel_i1": ("berth.ops.special.bessel", "bessel_i1"),
    "bessel_i1e": ("berth.ops.special.bessel", "bessel_i1e"),
}

if TYPE_CHECKING:
    from berth.ops.special.bessel import bessel_i0 as bessel_i0
    from berth.ops.special.bessel import bessel_i0e as bessel_i0e
    from berth.ops.special.bessel import bessel_i1 as bessel_i1
    from berth.ops.special.bessel import bessel_i1e as bessel_i1e
# --- end

__all__ += ["special"]

_explain_missing_names(__name__, __all__, ("special",), _LAZY_NAMES)
