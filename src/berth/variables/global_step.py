"""The global step: the variable that counts training steps."""

from __future__ import annotations

import logging
from typing import Any

from berth.dtypes import DType, int64
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.graph.tensor import SymbolicTensor
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros
from berth.variables.scope import get_variable
from berth.variables.variable import Variable

_log = logging.getLogger("berth")
_READ_KEY = "global_step_read_op_cache"


@public_v1("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of the global step in a session."""
    return int(sess.run(global_step_tensor))


@public_v1("train.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """Global step of a graph, by default the default one; None if it has none."""
    graph = graph or get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        _log.error("Multiple tensors in global_step collection.")
        return None
    step = steps[0] if steps else _named(graph)
    if step is not None:
        assert_global_step(step)
    return step


def _named(graph: Graph) -> SymbolicTensor | None:
    op = graph.by_name.get("global_step")
    return op.outputs[0] if op is not None and op.outputs else None


@public_v1("train.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """Create the global step of a graph; ValueError if it has one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@public_v1("train.get_or_create_global_step")
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Global step of a graph, created if it has none.

    >>> with Graph().as_default():
    ...     get_or_create_global_step()
    <tf.Variable 'global_step:0' shape=() dtype=int64_ref>
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step_read_for(user: str) -> Any:
    """Tensor of the default graph's global step, for hooks; an error that names the user."""
    graph = get_default_graph()
    reads = graph.get_collection(_READ_KEY)
    if reads:
        return reads[0]
    step = get_global_step(graph)
    if step is None:
        raise RuntimeError(f"Global step should be created to use {user}.")
    with graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
        # A value of its own, and not the variable's memory, which the next step writes.
        read = (step.initialized_value() if isinstance(step, Variable) else step) + 0
    graph.add_to_collection(_READ_KEY, read)
    return read


@public_v1("train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Assert that a variable or tensor can be a global step: an integer scalar."""
    dtype = getattr(global_step_tensor, "dtype", None)
    if not isinstance(dtype, DType):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    if not dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    shape = global_step_tensor.get_shape()
    if shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
