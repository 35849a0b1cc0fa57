"""``tf.sparse`` of TensorFlow 1: sparse tensors."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.sparse.arithmetic import add_v1 as add
from berth.ops.sparse.arithmetic import (
    bincount,
    reduce_max_sparse,
    reduce_sum_sparse,
    softmax,
    sparse_dense_matmul,
)
from berth.ops.sparse.arithmetic import reduce_max_v1 as reduce_max
from berth.ops.sparse.arithmetic import reduce_sum_v1 as reduce_sum
from berth.ops.sparse.arithmetic import sparse_dense_matmul as matmul
from berth.ops.sparse.arithmetic import sparse_maximum as maximum
from berth.ops.sparse.arithmetic import sparse_minimum as minimum
from berth.ops.sparse.arrange import concat_v1 as concat
from berth.ops.sparse.arrange import expand_dims, fill_empty_rows, reorder, transpose
from berth.ops.sparse.arrange import sparse_reshape as reshape
from berth.ops.sparse.arrange import sparse_slice as slice
from berth.ops.sparse.arrange import split_v1 as split
from berth.ops.sparse.conversion import (
    eye,
    from_dense,
    reset_shape,
    retain,
    to_dense,
    to_indicator,
)
from berth.ops.sparse.segments import segment_mean, segment_sqrt_n, segment_sum
from berth.ops.sparse.sparse_tensor import SparseTensor
from berth.ops.sparse.sparse_tensor import sparse_placeholder as placeholder

__all__ = [
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "matmul",
    "maximum",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
# --- end
