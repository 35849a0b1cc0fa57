"""`tf.SparseTensor` and `tf.sparse`, beside what TensorFlow gives."""

from __future__ import annotations

from typing import Any

import pytest

import berth as tf
from berth.compat import v1
from tests.ops.composite_cases import check, recorded


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", recorded("sparse.json"))
def test_sparse_tensors_are_tensorflow_s(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.usefixtures("eager")
def test_components_are_shown() -> None:
    given = tf.SparseTensor([[0, 1]], [5], [1, 2])
    assert str(given) == (
        "SparseTensor(indices=tf.Tensor([[0 1]], shape=(1, 2), dtype=int64), "
        "values=tf.Tensor([5], shape=(1,), dtype=int32), "
        "dense_shape=tf.Tensor([1 2], shape=(2,), dtype=int64))"
    )
    assert (given.shape.as_list(), given.dtype) == ([1, 2], tf.int32)
    assert repr(given._type_spec) == "SparseTensorSpec(TensorShape([1, 2]), tf.int32)"
    assert [spec.shape.as_list() for spec in given._type_spec._component_specs] == [
        [None, 2],
        [None],
        [2],
    ]


@pytest.mark.usefixtures("eager")
def test_functions_take_sparse_tensors() -> None:
    @tf.function
    def total(x: Any) -> Any:
        assert x.shape.as_list() == [2, 3]
        return tf.sparse.add(x, x), tf.sparse.reduce_sum(x)

    twice, number = total(tf.SparseTensor([[0, 1]], [5], [2, 3]))
    assert twice.values.numpy().tolist() == [10]
    assert number.numpy() == 5
    total(tf.SparseTensor([[0, 1], [1, 1]], [5, 6], [2, 3]))
    assert total.experimental_get_tracing_count() == 1


@pytest.mark.usefixtures("eager")
def test_loops_take_sparse_tensors() -> None:
    @tf.function
    def doubled(x: Any) -> Any:
        loop = tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, tf.sparse.concat(1, [x, x])),
            (0, x),
            (tf.TensorShape([]), tf.TensorShape([None, None])),
        )
        return tf.sparse.to_dense(loop[1])

    assert doubled(tf.SparseTensor([[0, 1]], [5], [1, 2])).numpy().tolist() == [[0, 5] * 8]


def test_sessions_feed_sparse_tensors() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.sparse_placeholder("float32", [None, 3])
        assert x.shape.as_list() == [None, 3]
        fed = v1.SparseTensorValue([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])
        result = session.run(v1.sparse_tensor_to_dense(x), {x: fed})
        assert result.tolist() == [[0, 1, 0], [0, 0, 2]]
        again = session.run(x, {x: ([[0, 0]], [4.0], [1, 3])})
        assert isinstance(again, v1.SparseTensorValue)
        assert again.values.tolist() == [4.0]


@pytest.mark.usefixtures("eager")
def test_products_have_gradients() -> None:
    a = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 3.0], [2, 3])
    b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch([a.values, b])
        y = tf.sparse.sparse_dense_matmul(a, b)
    of_values, of_b = tape.gradient(y, [a.values, b])
    assert of_values.numpy().tolist() == [3.0, 11.0, 7.0]
    assert of_b.numpy().tolist() == [[1.0, 1.0], [3.0, 3.0], [2.0, 2.0]]
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.sparse.to_dense(a) * 3.0
    assert tape.gradient(y, a).values.numpy().tolist() == [3.0, 3.0, 3.0]


@pytest.mark.usefixtures("eager")
def test_dense_functions_refuse_sparse_tensors() -> None:
    given = tf.SparseTensor([[0, 1]], [5.0], [1, 2])
    assert tf.abs(given).values.numpy().tolist() == [5.0]
    with pytest.raises(
        ValueError, match=r"^Attempt to convert a value \(SparseTensor\(indices"
    ):
        tf.convert_to_tensor(given)
    with pytest.raises(
        ValueError, match=r"^Attempt to convert a value \(SparseTensor\(indices"
    ):
        tf.matmul(given, given)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("sparse_to_dense", ([[0, 1], [1, 0]], [2, 2], [5, 6]), [[0, 5], [6, 0]]),
        ("sparse_to_dense", ([1, 3], [4], [5, 6], -1), [-1, 5, -1, 6]),
        ("sparse_to_dense", ([2], [3], 1.5), [0.0, 0.0, 1.5]),
    ],
)
def test_values_become_dense(name: str, arguments: Any, expected: Any) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        assert session.run(getattr(v1, name)(*arguments)).tolist() == expected
