"""`tf.RaggedTensor` and `tf.ragged`, beside what TensorFlow gives."""

from __future__ import annotations

from typing import Any

import pytest

import berth as tf
from berth.compat import v1
from berth.ops.ragged.ragged_tensor import RaggedTensorValue
from tests.ops.composite_cases import check, recorded


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", recorded("ragged.json"))
def test_ragged_tensors_are_tensorflow_s(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.usefixtures("eager")
def test_functions_take_ragged_tensors() -> None:
    @tf.function
    def doubled(x: Any) -> Any:
        return x * 2, tf.reduce_sum(x, axis=1)

    given = tf.ragged.constant([[1, 2], [3]])
    assert (
        repr(given._type_spec)
        == "RaggedTensorSpec(TensorShape([2, None]), tf.int32, 1, tf.int64)"
    )
    assert repr(given) == "<tf.RaggedTensor [[1, 2], [3]]>"
    twice, sums = doubled(given)
    assert twice.to_list() == [[2, 4], [6]]
    assert sums.numpy().tolist() == [3, 3]
    doubled(tf.ragged.constant([[1, 2, 3], [4]]))
    assert doubled.experimental_get_tracing_count() == 1


@pytest.mark.usefixtures("eager")
def test_gradients_are_ragged() -> None:
    given = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(given)
        y = tf.reduce_sum(given * given)
    assert tape.gradient(y, given).to_list() == [[2.0, 4.0], [6.0]]


def test_sessions_fetch_ragged_tensors() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        given = v1.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1])
        value = session.run(given + 1)
        assert isinstance(value, RaggedTensorValue)
        assert value.to_list() == [[2, 3], [4]]
        again = session.run(given.to_tensor(), {given: value})
        assert again.tolist() == [[2, 3], [4, 0]]


@pytest.mark.usefixtures("eager")
def test_rows_of_operands_must_agree() -> None:
    given = tf.ragged.constant([[1, 2], [3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Operands' shapes do not match"):
        given * tf.ragged.constant([[1], [2, 3]])
    with pytest.raises(ValueError, match=r"^Only scalars are broadcast to ragged tensors"):
        given * tf.constant([[1], [2]])
    with pytest.raises(ValueError, match=r"^Specify argument `lengths` or `padding`, but not"):
        tf.RaggedTensor.from_tensor([[1]], lengths=[1], padding=0)
