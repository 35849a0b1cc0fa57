"""Floating-point errors: 1/0 is inf, as in TensorFlow, and NumPy warns of nothing.

`numpy.errstate` does the same, but takes longer than a small operation. From NumPy 2 on the
state is a context variable, which can be set to a state made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def _restore(before: Any) -> None:
    np.seterr(**before)


start_ignoring: Callable[[], Any] = partial(np.seterr, all="ignore")
"""Let NumPy warn of nothing; `stop_ignoring`, given what this returns, restores its state."""
stop_ignoring: Callable[[Any], Any] = _restore

with suppress(ImportError, AttributeError, TypeError):  # older NumPy keeps it elsewhere
    from numpy._core import umath as _umath

    _state: Any = _umath._extobj_contextvar
    start_ignoring = partial(_state.set, _umath._make_extobj(all="ignore"))
    stop_ignoring = _state.reset


def ignore_fp_errors(function: Callable[..., T], arguments: Sequence[Any]) -> T:
    """Call a function while NumPy does not warn of overflows and the like."""
    before = start_ignoring()
    try:
        return function(*arguments)
    finally:
        stop_ignoring(before)
