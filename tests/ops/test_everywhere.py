"""Every operation gives the same values eagerly, in a graph and in a function, on any device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import berth as tf
import berth.compat.v1 as tf1
from berth.dtypes import variant
from berth.eager.mode import set_eager
from berth.ops.builder import apply
from berth.ops.convert import dtype_of
from berth.ops.evaluate import evaluate
from berth.ops.opdef import CATALOGUE, OpDef
from tests.ops.cases import EVERY


def _has_fixed_values(name: str) -> bool:
    """Tell whether an operation gives the same for the same inputs, wherever it is asked."""
    op = CATALOGUE[name]
    takes_lists = any(argument.type is variant for argument in op.arguments)
    is_apart = op.is_stateful or op.is_source or op.is_call or op.access is not None
    return not (is_apart or takes_lists)


CASES = [
    case
    for case in EVERY
    if _has_fixed_values(case[0]) and "PyFunc" not in case[0]  # their shapes only a run tells
]


def devices_for(op: OpDef, arrays: list[Any], attrs: Any) -> list[str]:
    dtype = attrs.get("dtype")
    if dtype is None and op.type_position is not None and arrays:
        dtype = dtype_of(arrays[op.type_position])
    return [f"/{kind.lower()}:0" for kind in sorted(op.device_types(dtype))]


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def eagerly(op: OpDef, arrays: list[Any], attrs: Any, device: str) -> list[Any]:
    with tf.device(device):
        result = as_list(apply(op, [tf.constant(array) for array in arrays], attrs))
    assert all(
        tensor.device.endswith(device[1:].upper()) for tensor in result if tensor is not None
    )
    return [tensor.numpy() for tensor in result if tensor is not None]


def in_function(op: OpDef, arrays: list[Any], attrs: Any, device: str) -> list[Any]:
    @tf.function
    def call(*tensors: Any) -> Any:
        with tf.device(device):
            return as_list(apply(op, tensors, attrs))

    result = call(*[tf.constant(array) for array in arrays])
    return [tensor.numpy() for tensor in result if tensor is not None]


def in_session(op: OpDef, arrays: list[Any], attrs: Any, device: str) -> list[Any]:
    before = set_eager(False)
    try:
        with tf1.Graph().as_default():
            fed = [tf1.placeholder(dtype_of(array), array.shape) for array in arrays]
            with tf1.device(device):
                result = as_list(apply(op, fed, attrs))
            with tf1.Session() as sess:
                values = sess.run(result, dict(zip(fed, arrays, strict=True)))
        return [value for value in values if value is not None]
    finally:
        set_eager(before)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_values_are_the_same_everywhere(case, eager, sim):
    name, inputs, attrs = case
    op = CATALOGUE[name]
    arrays = [np.asarray(value) for value in inputs]
    expected = evaluate(op, arrays, attrs)
    sim("1xT4")
    for device in devices_for(op, arrays, attrs):
        for way in (eagerly, in_function, in_session):
            found = way(op, arrays, attrs, device)
            for value, wanted in zip(found, expected, strict=True):
                message = f"{way.__name__} on {device}"
                assert np.asarray(value).dtype == wanted.dtype, message
                np.testing.assert_array_equal(value, wanted, message)
