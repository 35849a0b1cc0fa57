"""OpenBLAS, the matrix library that NumPy's wheels come with, called by ctypes.

It is the library that NumPy has loaded, with the kernels it chose for the processor and its
threads. gemm takes what `numpy.matmul` does not: a sum to add the product to. NumPy built on
another library gives no functions here, and its own are used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_PREFIXES = ("scipy_cblas_", "cblas_")
"""Of the functions with integers of 64 bits, in the wheels of NumPy 2 and NumPy 1."""
_TYPES: dict[str, np.dtype[Any]] = {
    "sgemm64_": np.dtype(np.float32),
    "dgemm64_": np.dtype(np.float64),
}


def numpy_libraries(kind: type[ctypes.CDLL] = ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    """Open the OpenBLAS that NumPy's wheel comes with, if it comes with one.

    Functions of a `ctypes.PyDLL` keep the interpreter's lock.
    """
    folder = Path(np.__file__).parent.with_name("numpy.libs")
    for path in sorted(folder.glob("*openblas*")):
        yield kind(str(path))


@lru_cache(maxsize=1)
def gemm_functions() -> dict[np.dtype[Any], Any]:
    """Return ``cblas_sgemm`` and ``cblas_dgemm`` by type of elements, if they are there."""
    functions: dict[np.dtype[Any], Any] = {}
    for library in numpy_libraries():
        for name, dtype in _TYPES.items():
            for prefix in _PREFIXES:
                function = getattr(library, prefix + name, None)
                if function is not None and dtype not in functions:
                    function.restype = None
                    functions[dtype] = function
    return functions
