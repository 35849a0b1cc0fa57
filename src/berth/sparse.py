"""``tf.sparse``: sparse tensors."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.sparse.arithmetic import (
    add,
    bincount,
    reduce_max,
    reduce_sum,
    softmax,
    sparse_dense_matmul,
)
from berth.ops.sparse.arithmetic import sparse_dense_matmul as matmul
from berth.ops.sparse.arithmetic import sparse_maximum as maximum
from berth.ops.sparse.arithmetic import sparse_minimum as minimum
from berth.ops.sparse.arrange import (
    concat,
    expand_dims,
    fill_empty_rows,
    reorder,
    split,
    transpose,
)
from berth.ops.sparse.arrange import sparse_reshape as reshape
from berth.ops.sparse.arrange import sparse_slice as slice
from berth.ops.sparse.conversion import (
    eye,
    from_dense,
    map_values,
    reset_shape,
    retain,
    to_dense,
    to_indicator,
)
from berth.ops.sparse.segments import segment_mean, segment_sqrt_n, segment_sum
from berth.ops.sparse.sparse_tensor import SparseTensor

__all__ = [
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "matmul",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
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
