"""Programs that once went wrong; what they give here was read off TensorFlow 2.21."""

from __future__ import annotations

import copy
from pickle import dumps, loads

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import GPU_0, GPU_1, cases, evaluate

pytestmark = pytest.mark.usefixtures("eager")


def message_of(call, *arguments):
    """The class and message of the error that a call ends in."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is part of the answer
        call(*arguments)
    return caught.type, str(caught.value)


# --- custom gradients -------------------------------------------------------------------------

GRADIENTS_WITH_VARIABLES = {
    "lambda grad, variables: (grad * 10, [grad * 100])": [10.0, 100.0],
    "lambda grad, variables=None: (grad * 10, [grad * 100])": [10.0, 100.0],
    "lambda grad, **options: (grad * 10, [None])": [10.0, None],
    "lambda grad: grad": (
        TypeError,
        "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: [<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=3.0>]",
    ),
    "lambda grad, variables: (grad, [])": (
        ValueError,
        "Must return gradient for each variable from @custom_gradient grad_fn.",
    ),
}


@pytest.mark.parametrize("is_function", [False, True])
@pytest.mark.parametrize(("grad", "expected"), cases(GRADIENTS_WITH_VARIABLES))
def test_custom_gradients_reach_variables(grad, expected, is_function):
    variable, x = tf.Variable(3.0), tf.constant(2.0)

    @tf.custom_gradient
    def times(x):
        return x * variable, evaluate(grad)

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (tf.function(times) if is_function else times)(x)
        return [None if g is None else float(g) for g in tape.gradient(y, [x, variable])]

    result = message_of(run) if isinstance(expected, tuple) else run()
    assert result == expected


NUMBERS_OF_GRADIENTS = {
    "lambda grad: (grad, grad * 3)": [1.0, 3.0],
    "lambda grad: [grad, None]": [1.0, None],
    "lambda grad: grad": "custom_gradient function expected to return 2 gradients, but returned 1 instead.",
    "lambda grad: (grad,) * 3": "custom_gradient function expected to return 2 gradients, but returned 3 instead.",
}


@pytest.mark.parametrize(("grad", "expected"), cases(NUMBERS_OF_GRADIENTS))
def test_custom_gradients_are_counted(grad, expected):
    sources = [tf.constant(2.0), tf.constant(3.0)]
    function = tf.custom_gradient(lambda x, y: (x * y, evaluate(grad)))

    def run():
        with tf.GradientTape() as tape:
            tape.watch(sources)
            z = function(*sources)
        return [None if g is None else float(g) for g in tape.gradient(z, sources)]

    result = message_of(run) if isinstance(expected, str) else run()
    assert result == ((ValueError, expected) if isinstance(expected, str) else expected)


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_several_results_go_back_once(sim, device):
    sim("1xT4")
    asked = []

    @tf.custom_gradient
    def twice(x):
        def grad(first, second):
            asked.append((float(first), float(second)))
            return tf.sign(first + second)

        return (x * 1.0, x * 2.0), grad

    with tf.device(device):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            first, second = twice(x)
            y = 3 * first + second
        assert float(tape.gradient(y, x)) == 1.0
    assert (float(y), asked) == (10.0, [(3.0, 1.0)])


def test_methods_have_custom_gradients():
    class Layer:
        @tf.custom_gradient
        def scaled(self, x):
            return x * 2.0, lambda grad: grad * 9.0

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Layer().scaled(x)
    assert (float(y), float(tape.gradient(y, x))) == (2.0, 9.0)


# --- tapes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [None, "a", 2.0])
def test_sources_are_tensors(source):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.Variable(2.0) * 1.0
    for sources in (source, [y, source]):
        assert message_of(tape.gradient, y, sources) == (
            TypeError,
            f"Cannot convert the argument `type_value`: {source!r} to a TensorFlow DType.\n"
            "  The sources of a gradient are tensors or variables.",
        )


NO_BATCHES = {
    "tape.batch_jacobian(y, z)": "Need first dimension of target shape ((2, 2)) and source shape ((3, 1)) to match.",
    "tape.batch_jacobian(y, x[0])": "Shape (2,) must have rank at least 2",
    "tape.batch_jacobian(y[0], x)": "Shape (2,) must have rank at least 2",
    "tape.batch_jacobian(y[0, 0], x)": "Shape () must have rank at least 2",
}


@pytest.mark.parametrize(("call", "expected"), cases(NO_BATCHES))
def test_batches_are_checked(call, expected):
    x, z = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.ones([3, 1])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * x
    call = lambda call=call: evaluate(call, tape=tape, x=x, y=y, z=z)  # noqa: E731
    assert message_of(call) == (ValueError, expected)


def test_batches_may_be_of_any_size():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def derivatives(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.batch_jacobian(y, x)

    for n_rows in (1, 3):
        result = derivatives(tf.ones([n_rows, 2])).numpy()
        assert result.tolist() == [[[2.0, 0.0], [0.0, 2.0]]] * n_rows


def test_jacobians_of_nothing_are_empty():
    x, other = tf.constant([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, other])
        y = x[:0] * 2
    of_x, of_other = tape.jacobian(y, [x, other])
    assert (of_x.dims, of_x.dtype, of_other) == ((0, 2), tf.float32, None)


# --- conditions and order ---------------------------------------------------------------------


def test_conditions_are_not_none():
    assert message_of(tf.cond, None, lambda: 1, lambda: 2) == (
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    )


MAPS = {
    "tf.map_fn(sum, (x, y), fn_output_signature=tf.float32)": "Dimensions 2 and 3 are not compatible",
    "tf.scan(lambda s, e: s + e[0] * e[1], (x, y), initializer=0.0)": "Dimensions 2 and 3 are not compatible",
    "tf.map_fn(sum, [])": "elems must be a Tensor or (possibly nested) sequence of Tensors. Got [], which does not contain any Tensors.",
}


@pytest.mark.parametrize("is_function", [False, True])
@pytest.mark.parametrize(("call", "expected"), cases(MAPS))
def test_maps_go_along_one_length(call, expected, is_function):
    def run():
        return evaluate(call, x=tf.ones([2]), y=tf.ones([3]))

    assert message_of(tf.function(run) if is_function else run) == (ValueError, expected)


def test_functions_wait_for_variables():
    variable, outside = tf.Variable(0), tf.constant(1)

    @tf.function
    def count(x):
        with tf.control_dependencies([variable.assign_add(1), x, outside]):
            first = tf.identity(variable)
        tf.group(variable.assign_add(10), variable)
        with tf.control_dependencies([variable]):
            return first, tf.identity(variable)

    results = [[int(part) for part in count(tf.constant(5))] for _ in range(2)]
    assert results == [[1, 11], [12, 22]]


# --- functions --------------------------------------------------------------------------------


def test_variables_of_functions_change_shapes():
    variable, factor = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None)), tf.Variable(1.0)

    @tf.function
    def total(x):
        return tf.cond(x > 0, lambda: tf.reduce_sum(variable) * x * factor, lambda: x)

    @tf.function
    def put(x):
        variable.assign(x)
        return tf.size(variable)

    assert float(total(tf.constant(2.0))) == 6.0
    variable.assign([[1.0, 2.0, 3.0]])
    assert float(total(tf.constant(2.0))) == 12.0
    assert int(put(tf.ones([4]))) == 4
    with tf.GradientTape() as tape:
        y = total(tf.constant(3.0))
    of_variable, of_factor = tape.gradient(y, [variable, factor])
    assert (of_variable.numpy().tolist(), float(of_factor)) == ([3.0] * 4, 12.0)


def test_results_of_loops_stay_on_devices(sim):
    sim("2xT4")

    @tf.function
    def power(x, n):
        with tf.device("/gpu:1"):
            return x, tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, x])

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        same, (i, y) = power(x, tf.constant(2))
    assert [t.device for t in (same, i, y)] == [GPU_0, GPU_1, GPU_1]
    assert (int(i), y.numpy().tolist()) == (2, [1.0, 8.0])
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 12.0]
    assert (same.array.dtype, i.array.dtype) == (np.float32, np.int32)


def test_loops_over_growing_values_go_back(sim):
    sim("1xT4")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]

    @tf.function
    def doubled(x):
        grow = lambda i, y: (i + 1, tf.concat([y, y * 2.0], 0))  # noqa: E731
        return tf.while_loop(lambda i, y: i < 2, grow, [0, x], shape_invariants=shapes)[1]

    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = doubled(x)
    assert (y.device, y.numpy().tolist()) == (GPU_0, [1.0, 2.0, 2.0, 4.0])
    assert tape.gradient(y, x).numpy().tolist() == [9.0]


def test_strings_of_loops_stay_on_host(sim):
    sim("1xT4")
    text = tf.function(
        lambda x: tf.cond(x > 0, lambda: tf.constant("+"), lambda: tf.constant("-"))
    )
    assert text(tf.constant(1)).numpy() == b"+"


@pytest.mark.parametrize("value", [{1, 2}, bytearray(b"a")], ids=repr)
def test_arguments_are_hashable(value):
    function = tf.function(lambda x, y: x)
    assert message_of(function, 1, value) == (
        TypeError,
        f"Could not generate a generic TraceType for {value!r}.Please verify that it is immutable/hashable. Otherwise, consider implementing the Tracing Protocol for it.",
    )


def test_traced_functions_check_shapes():
    traced = tf.function(lambda x: tf.reshape(x, [2, 1])).get_concrete_function(
        tf.TensorSpec([2], tf.float32)
    )
    assert traced(tf.constant([1.0, 2.0])).dims == (2, 1)
    assert message_of(traced, tf.constant(1.0)) == (
        TypeError,
        "Binding inputs to tf.function failed due to `Can not cast TensorSpec(shape=(), dtype=tf.float32, name=None) to TensorSpec(shape=(2,), dtype=tf.float32, name=None)`. Received args: (<tf.Tensor: shape=(), dtype=float32, numpy=1.0>,) and kwargs: {} for signature: (x).",
    )


class Adder:
    """An object with methods that are functions, under several names."""

    def __init__(self, number):
        self.number = number

    def plain(self, x):
        return x + self.number

    same = tf.function(plain)
    nameless = tf.function(lambda self, x: x * self.number)

    @tf.function
    def add(self, x):
        return x + self.number


class Hundredfold(Adder):
    @tf.function
    def add(self, x):
        return super().add(x) * 100


def test_methods_keep_other_methods_alone():
    adder = Adder(1)
    assert (int(adder.same(tf.constant(1))), adder.plain(1)) == (2, 2)


def test_methods_call_those_they_replace():
    hundredfold = Hundredfold(2)
    assert [int(hundredfold.add(tf.constant(1))) for _ in range(3)] == [300, 300, 300]


def test_nameless_methods_are_traced_once():
    adder = Adder(3)
    assert [int(adder.nameless(tf.constant(x))) for x in (1, 2)] == [3, 6]
    assert adder.nameless.experimental_get_tracing_count() == 1


def test_methods_of_classes_are_traced_once():
    traced = []

    class Parent:
        @classmethod
        @tf.function
        def named(cls, x):
            traced.append(cls)
            return x + len(cls.__name__)

    class Descendant(Parent):
        pass

    owners = (Parent, Descendant, Parent, Descendant)
    assert [int(owner.named(tf.constant(1))) for owner in owners] == [7, 11, 7, 11]
    assert traced == [Parent, Descendant]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: loads(dumps(x))])
def test_copies_have_their_own_methods(copied):
    first = Adder(1)
    assert int(first.add(tf.constant(1))) == 2
    second = copied(first)
    second.number = 10
    assert [int(adder.add(tf.constant(1))) for adder in (second, first, second)] == [11, 2, 11]
    assert [a.add.experimental_get_tracing_count() for a in (first, second)] == [1, 1]


# --- conversions ------------------------------------------------------------------------------

MISFITS = {
    "tf.Variable(tf.constant(1), dtype=tf.float32)": "initial_value: Tensor conversion requested dtype float32 for Tensor with dtype int32: <tf.Tensor: shape=(), dtype=int32, numpy=1>",
    "tf.convert_to_tensor(tf.constant(1), tf.float32, name='foo')": "foo: Tensor conversion requested dtype float32 for Tensor with dtype int32: <tf.Tensor: shape=(), dtype=int32, numpy=1>",
    "tf.convert_to_tensor(tf.constant(1), tf.float32)": "Tensor conversion requested dtype float32 for Tensor with dtype int32: <tf.Tensor: shape=(), dtype=int32, numpy=1>",
}


@pytest.mark.parametrize(("call", "expected"), cases(MISFITS))
def test_misfits_are_named(call, expected):
    assert message_of(evaluate, call) == (ValueError, expected)
