"""The nodes that calls make, their types, and their errors, as TensorFlow 2.21 has them.

``tensorflow.json`` was recorded by running the calls in TensorFlow. Each line is a call, the
nodes of the graph after it, and the types and shapes of what it returned.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from berth.ops.shape import TensorShape
from tests.ops.calls import make

RECORDED = json.loads((Path(__file__).parent / "tensorflow.json").read_text())
CALLS: dict[str, Any] = RECORDED["calls"]
ERRORS: dict[str, Any] = RECORDED["errors"]

LESS_EXACT = {
    "tf.reshape(P(2, 3), [3, I()])": "the number may be wrong, and only a run can tell",
    "tf.range(1, 5.0, 2)": "TensorFlow computes the casts while it builds",
    "tf.strided_slice(P(4, 4), [0], [2])": "TensorFlow computes the strides while it builds",
}


@pytest.mark.parametrize("call", CALLS)
def test_nodes_are_named_as_in_tensorflow(call):
    _, graph = make(call)
    assert [f"{op.type} {op.name}" for op in graph.ops] == CALLS[call][0]


@pytest.mark.parametrize("call", [call for call in CALLS if call not in LESS_EXACT])
def test_types_are_as_exact_as_in_tensorflow(call):
    result, _ = make(call)
    expected = CALLS[call][1]
    if expected is None:
        assert not hasattr(result, "dims")
        return
    is_list = isinstance(result, list)
    assert is_list == (not expected or isinstance(expected[0], list))
    for tensor, (dtype, dims) in zip(
        result if is_list else [result], expected if is_list else [expected], strict=True
    ):
        assert tensor.dtype.base_dtype.name == dtype
        known = TensorShape(dims)
        assert known.merge_with(tensor.dims) == TensorShape(tensor.dims)


@pytest.mark.parametrize("call", ERRORS)
def test_errors_begin_with_tensorflows_words(call):
    kind, message = ERRORS[call]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its class is compared below
        make(call)
    assert type(caught.value).__mro__[0].__name__ == kind
    assert str(caught.value).startswith(message.rstrip("."))
