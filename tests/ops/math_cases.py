"""A case for each operation of mathematics that is not elementwise."""

from __future__ import annotations

import numpy as np

from berth.dtypes import int32, int64
from tests.ops.calls import Case, at, d, f, i, sample

SQUARES = np.stack([np.eye(3) * 2 + 1, np.eye(3) * 3])
ONCE = {"exclusive": False, "reverse": False}
BACK = {"exclusive": True, "reverse": True}
ALIGN = {"align": "RIGHT_LEFT"}
IDS = i(0, 0, 2)

MATH_CASES: list[Case] = [
    ("Cholesky", [SQUARES], {}),
    ("Cross", [d(2, 3), d(2, 3)], {}),
    ("Cumprod", [d(2, 3), at(-1)], ONCE),
    ("Cumsum", [d(2, 3), at(0)], BACK),
    ("CumulativeLogsumexp", [d(2, 5), at(1)], ONCE),
    ("CumulativeLogsumexp", [d(2, 5), at(0)], BACK),
    ("Diag", [d(2, 3)], {}),
    ("DiagPart", [d(2, 3, 2, 3)], {}),
    ("Einsum", [d(2, 2, 3)], {"equation": "iij->ji"}),
    ("Einsum", [d(2, 3)], {"equation": "i...->...i"}),
    ("Einsum", [d(2, 3), d(3, 4)], {"equation": "ij,jk->ki"}),
    ("Einsum", [d(3, 2, 4), d(4, 3, 5)], {"equation": "jbk,kjl->lb"}),
    ("Einsum", [d(5, 2, 3), d(3, 4)], {"equation": "...ij,jk->...ik"}),
    ("LogMatrixDeterminant", [SQUARES], {}),
    ("LowerBound", [np.sort(f(2, 3)), f(2, 4)], {"out_type": int32}),
    ("MatrixBandPart", [d(2, 3, 4), at(1), at(-1)], {}),
    ("MatrixDeterminant", [SQUARES], {}),
    ("MatrixDiagPartV3", [d(2, 3, 4), i(-1, 1), d()], ALIGN),
    ("MatrixDiagPartV3", [d(2, 3, 4), at(1), d()], ALIGN),
    ("MatrixDiagV3", [d(2, 3), at(0), at(-1), at(5), d()], ALIGN),
    ("MatrixDiagV3", [d(2, 3, 3), i(-1, 1), at(-1), at(-1), d()], ALIGN),
    ("MatrixExponential", [SQUARES], {}),
    ("MatrixInverse", [SQUARES], {"adjoint": True}),
    ("MatrixSetDiagV3", [d(2, 3, 4), d(2, 3), at(0)], ALIGN),
    ("MatrixSolve", [SQUARES, d(2, 3, 1)], {"adjoint": False}),
    ("MatrixTriangularSolve", [SQUARES, d(3, 2)], {"adjoint": True, "lower": True}),
    ("Qr", [d(2, 4, 3)], {"full_matrices": False}),
    ("SegmentMax", [d(3, 2), IDS], {}),
    ("SegmentMin", [d(3, 2), IDS], {}),
    ("SegmentProd", [d(3, 2), IDS], {}),
    ("SegmentSum", [d(3, 2), IDS], {}),
    ("SelfAdjointEigV2", [SQUARES], {"compute_v": True}),
    ("Svd", [d(2, 4, 3)], {"compute_uv": True, "full_matrices": True}),
    ("UpperBound", [np.sort(f(2, 3)), f(2, 4)], {"out_type": int64}),
    ("UnsortedSegmentMax", [d(3, 2), i(1, -1, 0), at(4)], {}),
    ("UnsortedSegmentMin", [d(3, 2), i(1, -1, 0), at(4)], {}),
    ("UnsortedSegmentProd", [d(3, 2), i(1, -1, 0), at(4)], {}),
    ("UnsortedSegmentSum", [d(2, 2, 3), np.array([[1, 0], [2, 2]]), at(4)], {}),
]

SQUARE = sample("d", (512, 512))
FEW = (np.arange(512) // 8).astype(np.int32)
MATH_LARGE: list[Case] = [
    ("Cross", [SQUARE[:, :510].reshape(-1, 3)] * 2, {}),
    ("Cumprod", [SQUARE, at(0)], BACK),
    ("Cumsum", [SQUARE, at(1)], ONCE),
    ("CumulativeLogsumexp", [SQUARE, at(0)], ONCE),
    ("Einsum", [SQUARE.reshape(8, 64, 512), SQUARE], {"equation": "aib,bk->kia"}),
    ("MatrixBandPart", [SQUARE, at(1), at(1)], {}),
    ("MatrixDiagPartV3", [SQUARE, i(-9, 9), d()], ALIGN),
    ("MatrixSetDiagV3", [SQUARE, SQUARE[0], at(0)], ALIGN),
    ("MatrixTriangularSolve", [SQUARE, SQUARE], {"adjoint": True, "lower": False}),
    ("SegmentMax", [SQUARE, FEW], {}),
    ("UnsortedSegmentSum", [SQUARE, FEW, at(64)], {}),
]
