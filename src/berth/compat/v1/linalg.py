"""``tf.linalg``: matrices; where TensorFlow 1 differs, as it has them."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.linalg.cholesky import cholesky_solve, logdet
from berth.ops.linalg.decompositions import eigh, eigvalsh, qr, svd
from berth.ops.linalg.diagonals import (
    band_part,
    diag,
    diag_part,
    eye,
    set_diag,
    tensor_diag,
    tensor_diag_part,
    trace,
)
from berth.ops.linalg.einsum import cross, einsum, matvec, tensordot
from berth.ops.linalg.exponential import expm
from berth.ops.linalg.least_squares import lstsq, matrix_rank, pinv
from berth.ops.linalg.matmul import matmul
from berth.ops.linalg.matrices import cholesky, det, inv, slogdet, solve, triangular_solve
from berth.ops.linalg.nonsymmetric import eig, eigvals, lu
from berth.ops.linalg.transposes import adjoint, matrix_transpose
from berth.ops.reductions.norms import global_norm, l2_normalize, normalize
from berth.ops.reductions.norms import norm_v1 as norm

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "lu",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "triangular_solve",
]
# --- end

_explain_missing_names(__name__, __all__)
