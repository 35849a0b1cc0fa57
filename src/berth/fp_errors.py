"""Floating-point errors: 1/0 is inf, as in TensorFlow, and NumPy warns of nothing.

`numpy.errstate` does the same, but takes longer than a small operation. From NumPy 2 on the
state is a context variable, which can be set to a state made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

try:
    from numpy._core import umath as _umath

    _state: Any = _umath._extobj_contextvar
    _ignoring = _umath._make_extobj(all="ignore")
except (ImportError, AttributeError, TypeError):  # another NumPy keeps it elsewhere
    _state = None

T = TypeVar("T")


def ignore_fp_errors(function: Callable[..., T], arguments: Sequence[Any]) -> T:
    """Call a function while NumPy does not warn of overflows and the like."""
    if _state is None:
        with np.errstate(all="ignore"):
            return function(*arguments)
    token = _state.set(_ignoring)
    try:
        return function(*arguments)
    finally:
        _state.reset(token)
