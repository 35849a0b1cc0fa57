"""Functions computed in all ways there are: on each device, of shapes known and unknown.

compute(tf.cumsum, np.array([1, 2, 3]))     the same values from all of them, or it fails
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import berth.compat.v1 as tf
from berth.front.context import Context

KNOWN, OPEN, RANK = "known", "open sizes", "open rank"
WAYS = (("/cpu:0", KNOWN), ("/cpu:0", OPEN), ("/cpu:0", RANK), ("/gpu:0", KNOWN))

Array = np.ndarray[Any, Any]


def compute(
    function: Callable[..., Any], *arrays: Any, without: Sequence[str] = (), exact: bool = True
) -> Any:
    """Return a function's value, or list of values, once all ways agree about it."""
    values = [np.asarray(array) for array in arrays]
    ways = [way for way in WAYS if way[1] not in without]
    expected, *others = _compute(function, values, ways)
    for found in others:
        for one, other in zip(expected, found, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(other, one, rtol=0 if exact else 1e-6)
    return expected if len(expected) > 1 else expected[0]


def _compute(
    function: Callable[..., Any], values: Sequence[Array], ways: Sequence[tuple[str, str]]
) -> list[list[Array]]:
    environ = {"BERTH_LEDGER_DIR": os.environ["BERTH_LEDGER_DIR"], "BERTH_SIM": "T4"}
    program = Context(environ)
    feeds: dict[Any, Array] = {}
    outputs: list[list[Any]] = []
    try:
        with program.as_default(), tf.Graph().as_default():
            for device, knowledge in ways:
                with tf.device(device):
                    shapes = [_shape(value, knowledge) for value in values]
                    tensors = [
                        tf.placeholder(value.dtype, shape)
                        for value, shape in zip(values, shapes, strict=True)
                    ]
                    result = function(*tensors)
                feeds |= dict(zip(tensors, values, strict=True))
                outputs.append(list(result) if isinstance(result, list | tuple) else [result])
            config = tf.ConfigProto(allow_soft_placement=True)
            with tf.Session(config=config) as session:
                found: list[list[Array]] = session.run(outputs, feeds)
        for tensors, arrays in zip(outputs, found, strict=True):
            for tensor, array in zip(tensors, arrays, strict=True):
                tensor.shape.assert_is_compatible_with(np.shape(array))
        return [[np.asarray(array) for array in arrays] for arrays in found]
    finally:
        program.reset()


def _shape(value: Array, knowledge: str) -> Any:
    return {KNOWN: value.shape, OPEN: [None] * value.ndim, RANK: None}[knowledge]


def shape_of(function: Callable[..., Any], *shapes: Any, dtype: Any = np.float32) -> Any:
    """Return what is known of a function's output, of tensors of these shapes."""
    with tf.Graph().as_default():
        output = function(*(tf.placeholder(dtype, shape) for shape in shapes))
        return output.shape.dims_or_none
