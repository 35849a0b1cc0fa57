"""Floating-point errors: 1/0 is inf, as in TensorFlow, and NumPy warns of nothing.

`numpy.errstate` does the same, but takes longer than a small operation. From NumPy 2 on the
state is a context variable, which can be set to a state made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def _set_state(state: Any) -> None:
    np.seterr(**state)


get_state: Callable[[], Any] = np.geterr
"""Return what NumPy does about errors in this thread."""
set_state: Callable[[Any], Any] = _set_state
IGNORE: Any = {"all": "ignore"}
"""The state in which NumPy warns of nothing."""

_np: Any = np
if hasattr(_np, "geterrobj"):  # NumPy 1, whose other functions can be interrupted half way
    get_state, set_state, IGNORE = _np.geterrobj, _np.seterrobj, [_np.getbufsize(), 0, None]
with suppress(ImportError, AttributeError, TypeError):  # NumPy 2, unless it keeps it elsewhere
    from numpy._core import umath as _umath

    _state: Any = _umath._extobj_contextvar
    IGNORE = _umath._make_extobj(all="ignore")
    get_state, set_state = _state.get, _state.set


def ignore_fp_errors(function: Callable[..., T], arguments: Sequence[Any]) -> T:
    """Call a function while NumPy does not warn of overflows and the like."""
    before = get_state()
    try:
        set_state(IGNORE)  # in here: Ctrl-C may arrive as soon as it is done
        return function(*arguments)
    finally:
        set_state(before)
