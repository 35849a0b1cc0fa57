"""Computing without warnings: 1/0 is inf here, as in TensorFlow, and nobody is told.

`numpy.errstate` says so too, but takes longer to say it than a small operation takes. From
NumPy 2 on the state is a context variable, which can be set to a state made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

try:
    from numpy._core import umath as _umath

    _state: Any = _umath._extobj_contextvar
    _quiet = _umath._make_extobj(all="ignore")
except (ImportError, AttributeError, TypeError):  # another NumPy keeps it elsewhere
    _state = None


def ignore_fp_errors(function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Call a function while NumPy tells nobody of overflows and the like."""
    if _state is None:
        with np.errstate(all="ignore"):
            function(*arguments)
        return
    token = _state.set(_quiet)
    try:
        function(*arguments)
    finally:
        _state.reset(token)
