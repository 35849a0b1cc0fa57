"""Messages of AutoGraph: what runs unconverted, said once; verbosity and traces."""

from __future__ import annotations

import sys
import weakref
from types import CodeType, FunctionType
from typing import Any

from berth.front.logger import get_logger
from berth.public import public


class _Verbosity:
    def __init__(self) -> None:
        self.level = 0
        self.echoes = False


_verbosity = _Verbosity()
_warned: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()


def log(level: int, message: str, *values: Any) -> None:
    """Log a message if the verbosity is at least this level."""
    if _verbosity.level >= level:
        get_logger().info(message, *values)
        if _verbosity.echoes:
            print(message % values)


def warn_not_converted(function: FunctionType, cause: Exception) -> None:
    """Warn that a function runs as it is; once for each."""
    code = function.__code__
    if _warned.get(id(code)) is code:
        return
    _warned[id(code)] = code
    message = (
        f"AutoGraph could not transform {function!r} and will run it as-is.\n"
        f"Cause: {cause}\nTo silence this warning, decorate the function with "
        "@tf.autograph.experimental.do_not_convert"
    )
    get_logger().warning("%s", message)
    if _verbosity.echoes:
        print(message)


@public("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much AutoGraph logs: 0 for warnings only, 10 for all."""
    _verbosity.level, _verbosity.echoes = level, alsologtostdout


@public("autograph.trace")
def trace(*args: Any) -> None:
    """Print values while a function is traced.

    >>> trace("tracing", 1)
    tracing 1
    """
    print(*args)
    sys.stdout.flush()
