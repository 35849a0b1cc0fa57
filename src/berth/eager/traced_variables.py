"""Variables that are made while a function is traced.

They are made outside of the function, as it were: at once, on the device that the function
asks for there. Only the first trace of a function may make any, or every call would.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from berth.eager.mode import init_scope
from berth.front.device_scope import EagerDevice
from berth.graph.func_graph import FuncGraph
from berth.ops import builder


class _Tracing(threading.local):
    may_make = True
    n_made = 0


_tracing = _Tracing()


@contextmanager
def tracing(*, may_make_variables: bool) -> Iterator[None]:
    """Trace a function inside the block."""
    before = _tracing.may_make
    _tracing.may_make = before and may_make_variables
    try:
        yield
    finally:
        _tracing.may_make = before


def n_variables_made() -> int:
    """Return how many variables this thread has made in functions."""
    return _tracing.n_made


@contextmanager
def making_variable() -> Iterator[None]:
    """Leave the functions that are being traced, to make a variable."""
    graph: Any = builder.entered()
    with ExitStack() as scopes:
        if isinstance(graph, FuncGraph):
            if not _tracing.may_make:
                raise ValueError(
                    "tf.function only supports singleton tf.Variables created on the first "
                    "call. Make sure the tf.Variable is only created once or created outside "
                    "tf.function. See https://www.tensorflow.org/guide/function"
                    "#creating_tfvariables for more information."
                )
            _tracing.n_made += 1
            scopes.enter_context(init_scope())
            wanted = graph.devices.wanted()
            if wanted:
                scopes.enter_context(EagerDevice(wanted))
        yield
