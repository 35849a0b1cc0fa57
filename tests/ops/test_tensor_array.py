"""`tf.TensorArray`, beside what TensorFlow gives, and in loops with gradients."""

from __future__ import annotations

from typing import Any

import pytest

import berth as tf
from berth.compat import v1
from berth.dtypes import float32
from berth.ops.lists.list_value import ListValue
from tests.ops.composite_cases import check, recorded


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", recorded("tensor_array.json"))
def test_arrays_are_tensorflow_s(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.usefixtures("eager")
def test_arrays_have_attributes() -> None:
    array = tf.TensorArray("float32", 2)
    assert (array.dtype, array.dynamic_size, array.handle) == (tf.float32, False, None)
    assert array.write(0, [1.0, 2.0]) is array
    assert array.element_shape.as_list() == [2]
    assert repr(tf.type_spec_from_value(array)) == (
        "TensorArraySpec(TensorShape([2]), tf.float32, False, True)"
    )
    with pytest.raises(NotImplementedError, match=r"^TensorArray.grad is not supported when"):
        array.grad("gradients")
    array.close()


def _powers(x: Any, n: int) -> Any:
    """Multiply x to powers in a loop that reads what it wrote before."""

    def body(i: Any, array: Any) -> Any:
        return i + 1, array.write(i, array.read(i - 1) * x)

    start = tf.TensorArray(tf.float32, n, clear_after_read=False).write(0, x)
    return tf.while_loop(lambda i, a: i < n, body, (1, start))[1].stack()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_loops_have_gradients(wrap: Any) -> None:
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrap(lambda x: _powers(x, 4))(x)
    assert y.numpy().tolist() == [[2.0, 3.0], [4.0, 9.0], [8.0, 27.0], [16.0, 81.0]]
    # The sum of k * x ** (k - 1).
    assert tape.gradient(y, x).numpy().tolist() == [49.0, 142.0]


def test_loops_have_gradients_in_sessions() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32", [None])
        y = _powers(x, 4)
        [grad] = v1.gradients(y, [x])
        assert session.run([y, grad], {x: [2.0, 3.0]})[1].tolist() == [49.0, 142.0]


GRADIENTS = {
    "gather": (lambda a: a.gather([2, 0, 2]), [1.0, 0.0, 2.0]),
    "unstack": (lambda a: a.read(1) * 3.0, [0.0, 3.0, 0.0]),
    "concat": (lambda a: a.write(0, [5.0]).concat() * 2.0, [0.0, 2.0, 2.0]),
    "scatter": (lambda a: a.scatter([0], [[7.0]]).stack(), [0.0, 1.0, 1.0]),
    "size": (lambda a: a.stack() * tf.cast(a.size(), tf.float32), [3.0, 3.0, 3.0]),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", GRADIENTS)
def test_functions_have_gradients(name: str) -> None:
    use, expected = GRADIENTS[name]

    @tf.function
    def f(x: Any) -> Any:
        return use(tf.TensorArray(tf.float32, 3).unstack(x))

    x = tf.constant([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy().reshape(-1).tolist() == expected


@pytest.mark.usefixtures("eager")
def test_functions_take_and_return_arrays() -> None:
    @tf.function
    def more(array: Any) -> Any:
        return array.write(1, array.read(0) + 1.0)

    array = more(tf.TensorArray("float32", 2).write(0, [1.0]))
    assert array.stack().numpy().tolist() == [[1.0], [2.0]]
    assert more(array).read(1).numpy().tolist() == [2.0]


@pytest.mark.usefixtures("eager")
def test_loops_learn_the_shape_of_elements() -> None:
    @tf.function
    def f() -> Any:
        array = tf.TensorArray(tf.float32, 3)
        loop = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.zeros([2]))), (0, array)
        )
        stacked = loop[1].stack()
        assert stacked.shape.as_list() == [3, 2]
        return stacked

    assert f().shape.as_list() == [3, 2]


@pytest.mark.parametrize("n_elements", [0, 1, 31, 32, 33, 1024, 1025])
def test_lists_keep_their_versions(n_elements: int) -> None:
    first = ListValue.of(list(range(n_elements)), float32, ())
    assert first.items() == list(range(n_elements))
    longer = first.replaced(n_elements, "end")
    assert longer.items() == [*range(n_elements), "end"]
    assert first.length == n_elements
    far = first.replaced(n_elements + 40, "far")
    assert far.get(n_elements + 40) == "far"
    assert far.items()[:n_elements] == list(range(n_elements))
    assert far.resized(n_elements).items() == first.items()


@pytest.mark.usefixtures("eager")
def test_a_write_copies_one_element() -> None:
    """Of a list of 1,024 elements, versions share all but a path of the tree."""
    first = ListValue.of(list(range(1024)), float32, ())
    second = first.replaced(700, "new")
    shared = sum(a is b for a, b in zip(first._root, second._root, strict=True))
    assert shared == 31
