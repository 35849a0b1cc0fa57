"""Variables that are made while a function is traced.

They are made outside of the function, as it were: at once, on the device that the function
asks for there. Only the first trace of a function may make any, or every call would.
"""

from __future__ import annotations

import threading
from typing import Any

from berth.blocks import FunctionBlock, Stack, Use
from berth.eager.mode import leave_functions
from berth.front.device_scope import EagerDevice
from berth.graph.func_graph import FuncGraph
from berth.ops import builder


class Tracing:
    """The functions that a thread is tracing, and how many variables they have made."""

    def __init__(self) -> None:
        self.n_made = 0
        self.may_make: Stack[bool] = Stack()
        """Whether each function that is being traced may make variables."""


class _Current(threading.local):
    def __init__(self) -> None:
        self.tracing = Tracing()


_current = _Current()


def current_tracing() -> Tracing:
    """Return what this thread is tracing."""
    return _current.tracing


def join_tracing(tracing: Tracing) -> None:
    """Let this thread trace a part of what another thread does."""
    _current.tracing = tracing


def tracing(*, may_make_variables: bool) -> FunctionBlock[None]:
    """Trace a function inside the block."""
    return FunctionBlock(_begin_tracing, may_make_variables)


def _begin_tracing(use: Use, may_make_variables: bool) -> None:
    use.set(_current.tracing.may_make, may_make_variables)


def n_variables_made() -> int:
    """Return how many variables this thread has made in functions."""
    return _current.tracing.n_made


def making_variable() -> FunctionBlock[None]:
    """Leave the functions that are being traced, to make a variable."""
    return FunctionBlock(_begin_making)


def _begin_making(use: Use) -> None:
    graph: Any = builder.entered()
    if not isinstance(graph, FuncGraph):
        return
    if not all(_current.tracing.may_make.values()):
        raise ValueError(
            "tf.function only supports singleton tf.Variables created on the first call. Make "
            "sure the tf.Variable is only created once or created outside tf.function. See "
            "https://www.tensorflow.org/guide/function#creating_tfvariables for more "
            "information."
        )
    _current.tracing.n_made += 1
    leave_functions(use)
    wanted = graph.devices.wanted()
    if wanted:
        use.enter(EagerDevice(wanted))
