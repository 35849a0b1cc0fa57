"""berth's operations under TensorFlow's names, and what tests call them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

import berth.compat.v1 as tf
from berth import dtypes
from berth.graph.graph import Graph
from berth.ops.arrays import (
    placeholders,
)
from berth.ops.builder import current
from berth.ops.convert import dtype_of
from berth.ops.dispatch import bind as bind_kernel
from berth.ops.evaluate import HostValue, evaluate
from berth.ops.flow import control
from berth.ops.opdef import CATALOGUE, Launch, OpDef, in_order

Case: TypeAlias = tuple[str, list[Any], dict[str, Any]]
"""The name of an operation, its inputs and its attributes."""


def _placeholders(dtype: Any, name: str) -> Any:
    return lambda *dims: placeholders.placeholder(dtype, dims, name=name)


def _group_on_devices() -> Any:
    graph: Any = current()
    with graph.device("/cpu:0"):
        a = placeholders.placeholder(dtypes.float32, [2], name="p")
    with graph.device("/gpu:0"):
        b = placeholders.placeholder(dtypes.float32, [2], name="p")
    return control.group(a, b)


NAMES = {
    "tf": tf,
    "np": np,
    "P": _placeholders(dtypes.float32, "p"),
    "I": _placeholders(dtypes.int32, "i"),
    "L": _placeholders(dtypes.int64, "l"),
    "B": _placeholders(dtypes.bool_, "b"),
    "X": _placeholders(dtypes.complex64, "x"),
    "S": _placeholders(dtypes.string, "s"),
    "U": lambda dtype=dtypes.float32: placeholders.placeholder(dtype, None, name="u"),
    "f": lambda *inputs: inputs,
    "group_on_devices": _group_on_devices,
}
"""What recorded calls may use: placeholders of each type, U of an unknown rank."""


def make(call: str) -> tuple[Any, Graph]:
    """Make a recorded call in a graph of its own; return its result and the graph."""
    graph = Graph()
    with graph.as_default():
        return eval(call, dict(NAMES)), graph


def compute(call: str, **feeds: Any) -> Any:
    """Make a call whose placeholders are these arrays, and compute it node by node."""
    graph = Graph()
    with graph.as_default():
        tensors = {
            name: placeholders.placeholder(dtype_of(value), value.shape, name=name)
            for name, value in feeds.items()
        }
        result = eval(call, {**NAMES, **tensors})
    values: dict[Any, Any] = {}
    for op in graph.ops:
        if op.type in ("Placeholder", "Const"):
            outputs = [feeds[op.name] if op.type == "Placeholder" else op.attrs["value"]]
        else:
            outputs = evaluate(op.definition, [values[t] for t in op.inputs], op.attrs)
        values.update(zip(op.outputs, outputs, strict=True))
    return [values[t] for t in result] if isinstance(result, list) else values.get(result)


def run(op: OpDef | str, *inputs: Any, **attrs: Any) -> np.ndarray[Any, Any]:
    """Compute an operation with one output."""
    [output] = run_all(op, *inputs, **attrs)
    return output


def run_all(op: OpDef | str, *inputs: Any, **attrs: Any) -> list[np.ndarray[Any, Any]]:
    """Compute an operation at once, of arrays or what NumPy makes arrays of."""
    definition = CATALOGUE[op] if isinstance(op, str) else op
    return evaluate(definition, [np.asarray(value) for value in inputs], attrs)


def bind(
    op: OpDef,
    inputs: Sequence[np.ndarray[Any, Any]],
    attrs: Mapping[str, Any],
    n_threads: int = 1,
) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """Bind an operation to arrays; return the call and the outputs, which it has yet to fill."""
    values = [HostValue(dtype_of(array), array.shape, array) for array in inputs]
    return bind_seen(op, values, inputs, attrs, {}, n_threads)


def bind_seen(
    op: OpDef,
    seen: Sequence[Any],
    inputs: Sequence[np.ndarray[Any, Any]],
    attrs: Mapping[str, Any],
    state: Any,
    n_threads: int = 1,
) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """Bind an operation whose shape rule sees something else than the arrays: a variable."""
    types = op.infer(seen, attrs)
    kernel = op.kernel("CPU", None)
    assert kernel is not None
    outputs = [np.empty(dims or (), dtype.np_dtype) for dtype, dims in types]
    needed = kernel.scratch(seen, types, attrs, n_threads) if kernel.scratch else ()
    scratch = [np.empty(dims or (), dtype.np_dtype) for dtype, dims in needed]
    launch = Launch(np, inputs, outputs, attrs, scratch, state, n_threads)
    return bind_kernel(kernel, launch, in_order), outputs


def sample(
    dtype: Any, shape: tuple[int, ...], seed: int = 0, positive: bool = False
) -> np.ndarray[Any, Any]:
    """Draw small numbers of a type, none of them zero."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind == "O":
        texts = np.empty(shape, object)
        texts.reshape(-1)[:] = [b"%d" % n for n in rng.integers(0, 9, texts.size)]
        return texts
    numbers = rng.integers(1, 6, shape).astype(np.float64)
    if kind in "fc":
        numbers += rng.random(shape)
    if kind != "u" and not positive:
        numbers *= rng.choice([-1, 1], shape)
    if kind == "c":
        return (numbers + 1j * rng.random(shape)).astype(dtype)
    return np.asarray(numbers).astype(dtype)


def f(*shape: int) -> np.ndarray[Any, Any]:
    """Draw small floats of 32 bits."""
    return sample("f", shape)


def d(*shape: int) -> np.ndarray[Any, Any]:
    """Draw small floats of 64 bits."""
    return sample("d", shape)


def i(*values: int) -> np.ndarray[Any, Any]:
    """Make a vector of integers."""
    return np.array(values, np.int32)


def at(value: int) -> np.ndarray[Any, Any]:
    """Make a single integer: an axis, a number of rows."""
    return np.array(value, np.int32)
