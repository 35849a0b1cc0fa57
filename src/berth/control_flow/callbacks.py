"""Functions that users pass to operations (`tf.map_fn`): converted where AutoGraph is on.

AutoGraph is above this layer, and says here, for each thread, how functions are converted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Convert = Callable[[Any], Any]


class _Status(threading.local):
    def __init__(self) -> None:
        self.convert: Convert | None = None
        self.is_disabled = False


_status = _Status()


def as_converted(function: Any) -> Any:
    """Return a function as AutoGraph converts it; as it is if AutoGraph is not on."""
    return function if _status.convert is None else _status.convert(function)


def is_disabled() -> bool:
    """Tell whether the code that runs is not to be converted, nor what it passes on."""
    return _status.is_disabled


@contextmanager
def converting(convert: Convert | None) -> Iterator[None]:
    """Convert the functions that are passed to operations in a block; None disables that."""
    before = _status.convert, _status.is_disabled
    _status.convert, _status.is_disabled = convert, convert is None
    try:
        yield
    finally:
        _status.convert, _status.is_disabled = before
