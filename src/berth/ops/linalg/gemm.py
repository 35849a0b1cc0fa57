"""Matrix products of kernels: BLAS's gemm on prepared arguments, or NumPy's matmul.

Both call the same library. gemm adds a product to a sum without another pass over memory, and
its arguments are prepared when a kernel is bound, so larger products use it where there is one
(`berth.openblas`). Shapes, types and strides alone decide, so an operation gives the same
values eagerly, in a function and in a session.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from berth.openblas import gemm_functions
from berth.ops.dividing import divided
from berth.ops.opdef import Call, Parts, make_calls

SMALL = 2**18
"""Up to this number of multiplications NumPy is as fast, and BLAS uses one thread by itself."""
WORTH_A_THREAD = 2**24
"""From this number of multiplications on, a second thread is worth its start."""
LEAD = 2**21
"""About how many of them the caller makes while another thread is woken."""
LARGE_IN_STACK = 2**20
"""From this number of multiplications on, a matrix of a stack is worth a call of its own."""

_ROW_MAJOR = ctypes.c_int(101)
_AS_IT_IS, _TRANSPOSED = ctypes.c_int(111), ctypes.c_int(112)
_SCALARS: dict[Any, Any] = {
    np.dtype(np.float32): ctypes.c_float,
    np.dtype(np.float64): ctypes.c_double,
}


def product(xp: Any, a: Any, b: Any, out: Any, n_threads: int) -> Call | Parts:
    """Bind ``out = a @ b`` for some threads: divided by rows or columns if it is large.

    BLAS has threads of its own, but they keep a core busy for a while after their work, where
    the next step needs it. So larger products are done by berth's.
    """
    n_products = out.size * a.shape[-1]
    if n_products <= SMALL:
        return xp.matmul, (a, b, out)
    if n_threads == 1:
        return multiply(xp, a, b, out)
    if n_products < WORTH_A_THREAD:
        return Parts([multiply(xp, a, b, out)])
    n_rows, n_columns = out.shape[-2:]
    length = max(n_rows, n_columns)
    parts = divided(length, n_threads, lead=length * LEAD // n_products)
    if n_rows >= n_columns:
        calls = [multiply(xp, a[..., part, :], b, out[..., part, :]) for part in parts]
    else:
        calls = [multiply(xp, a, b[..., part], out[..., part]) for part in parts]
    return Parts(calls)


def multiply(xp: Any, a: Any, b: Any, out: Any) -> Call:
    """Bind ``out = a @ b``, of two matrices or of stacks of them."""
    if out.ndim > 2:
        return _gemm_of_stacks(xp, a, b, out) or (xp.matmul, (a, b, out))
    return _gemm(xp, a, b, out, 0.0) or (xp.matmul, (a, b, out))


def multiply_add(xp: Any, a: Any, b: Any, out: Any, product: Any) -> list[Call]:
    """Bind ``out += a @ b``; `product` is scratch memory of the shape of the output."""
    call = _gemm(xp, a, b, out, 1.0)
    if call is not None:
        return [call]
    return [(xp.matmul, (a, b, product)), (xp.add, (out, product, out))]


def _gemm_of_stacks(xp: Any, a: Any, b: Any, out: Any) -> Call | None:
    """Bind one call of gemm for each matrix; None if NumPy is to make the products."""
    if xp is not np or a.shape[-1] * out.shape[-2] * out.shape[-1] < LARGE_IN_STACK:
        return None
    stack = out.shape[:-2]
    a, b = (xp.broadcast_to(array, stack + array.shape[-2:]) for array in (a, b))
    calls = [_gemm(xp, a[place], b[place], out[place], 0.0) for place in np.ndindex(stack)]
    return None if None in calls else (make_calls, (calls,))


def _gemm(xp: Any, a: Any, b: Any, out: Any, beta: float) -> Call | None:
    """Bind ``out = a @ b + beta * out`` to gemm; None if NumPy is to make the product."""
    if xp is not np or not a.ndim == b.ndim == out.ndim == 2:
        return None
    (n_rows, n_inner), n_columns, dtype = a.shape, out.shape[1], out.dtype
    if n_rows * n_inner * n_columns <= SMALL or n_rows == 1 or n_columns == 1:
        return None
    scalar = _SCALARS.get(dtype)
    if scalar is None or a.dtype != dtype or b.dtype != dtype:
        return None
    gemm = gemm_functions().get(dtype)
    first, second, result = _stored(a), _stored(b), _stored(out)
    if gemm is None or first is None or second is None or result is None:
        return None
    if result[0] is not _AS_IT_IS:
        return None
    how = _ROW_MAJOR, first[0], second[0]
    sizes = _number(n_rows), _number(n_columns), _number(n_inner)
    one, factor = scalar(1.0), scalar(beta)
    return gemm, (
        *(*how, *sizes, one, *first[1:], *second[1:]),
        *(factor, *result[1:]),
    )


def _stored(array: Any) -> tuple[ctypes.c_int, ctypes.c_void_p, ctypes.c_int64] | None:
    """Return how BLAS is told of a matrix: as rows or columns, from where, at what distance."""
    (n_rows, n_columns), (row, column), item = array.shape, array.strides, array.itemsize
    if column == item and row >= n_columns * item and row % item == 0:
        how, distance = _AS_IT_IS, row
    elif row == item and column >= n_rows * item and column % item == 0:
        how, distance = _TRANSPOSED, column
    else:
        return None
    if not array.flags.aligned:
        return None
    start = ctypes.c_void_p(array.ctypes.data)
    start.array = array  # type: ignore[attr-defined]  # the memory lives as long as the call
    return how, start, _number(distance // item)


_number = lru_cache(maxsize=256)(ctypes.c_int64)
"""A size as an argument, which no call changes."""
