"""`tf.Variable` as eager programs use it."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import CPU_0, GPU_0, GPU_1, Differs, cases, evaluate
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")

MISSING = "there is no such attribute"

# --- making them -----------------------------------------------------------------------------------

REPRS = {
    "tf.Variable(1.0)": "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>",
    "tf.Variable([1, 2], name='w')": "<tf.Variable 'w:0' shape=(2,) dtype=int32, numpy=array([1, 2], dtype=int32)>",
    "tf.Variable([[1, 2], [3, 4]])": "<tf.Variable 'Variable:0' shape=(2, 2) dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
    "tf.Variable(lambda: tf.ones([2]))": "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([1., 1.], dtype=float32)>",
    "tf.Variable(lambda: [1, 2], dtype=tf.float32)": "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>",
    "tf.Variable(1, dtype=tf.float64)": "<tf.Variable 'Variable:0' shape=() dtype=float64, numpy=1.0>",
    "tf.Variable(np.arange(2.))": "<tf.Variable 'Variable:0' shape=(2,) dtype=float64, numpy=array([0., 1.])>",
    "tf.Variable(True)": "<tf.Variable 'Variable:0' shape=() dtype=bool, numpy=True>",
    "tf.Variable('abc')": "<tf.Variable 'Variable:0' shape=() dtype=string, numpy=b'abc'>",
    "tf.Variable(['abc'])": "<tf.Variable 'Variable:0' shape=(1,) dtype=string, numpy=array([b'abc'], dtype=object)>",
    "tf.Variable([1, 2], shape=[None])": "<tf.Variable 'Variable:0' shape=(None,) dtype=int32, numpy=array([1, 2], dtype=int32)>",
    "tf.Variable([1, 2], shape=tf.TensorShape(None))": "<tf.Variable 'Variable:0' shape=<unknown> dtype=int32, numpy=array([1, 2], dtype=int32)>",
    "tf.Variable(tf.zeros([0, 2]))": "<tf.Variable 'Variable:0' shape=(0, 2) dtype=float32, numpy=array([], shape=(0, 2), dtype=float32)>",
    "tf.Variable(initial_value=3, trainable=False, name='q', dtype=tf.int64)": "<tf.Variable 'q:0' shape=() dtype=int64, numpy=3>",
    "tf.Variable(tf.Variable([1, 2]))": "<tf.Variable 'Variable:0' shape=(2,) dtype=int32, numpy=array([1, 2], dtype=int32)>",
    "tf.Variable(1).assign(2)": Differs(
        "<tf.Variable 'UnreadVariable' shape=() dtype=int32, numpy=2>",
        "assign returns the variable itself",
    ),
    "tf.Variable(1).ref()": "<Reference wrapping <tf.Variable 'Variable:0' shape=() dtype=int32, numpy=1>>",
}


@pytest.mark.parametrize(("call", "text"), cases(REPRS))
def test_repr_is_tensorflows(call, text):
    assert repr(evaluate(call)) == text


PROPERTIES = {
    "tf.Variable(1., name='a/b').name": "a/b:0",
    "tf.Variable(1., name='x').name == tf.Variable(1., name='x').name": True,
    "tf.Variable([1, 2]).shape.as_list()": [2],
    "tf.Variable([1, 2]).get_shape().rank": 1,
    "tf.Variable([1, 2]).dtype": tf.int32,
    "tf.Variable(1.).trainable": True,
    "tf.Variable(1).trainable": True,
    "tf.Variable(1., trainable=False).trainable": False,
    "tf.Variable(1.).device": CPU_0,
    "tf.Variable(1.).constraint": None,
    "tf.Variable(1., constraint=abs).constraint(-3)": 3,
    "bool(tf.Variable([1, 2]).is_initialized())": True,
    "tf.Variable([1, 2]).numpy().tolist()": [1, 2],
    "type(tf.Variable(3).numpy())": np.int32,
    "tf.Variable([1, 2]).handle.dtype": tf.resource,
    "tf.Variable([1, 2]).handle.device": CPU_0,
    "tf.Variable([1, 2]).initializer": None,
    "isinstance(tf.Variable(1), tf.Variable)": True,
}


@pytest.mark.parametrize(("call", "value"), cases(PROPERTIES))
def test_properties_are_tensorflows(call, value):
    assert evaluate(call) == value


NO_VALUE = "The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a `variable_def`. You provided neither."
REFUSED = {
    "tf.Variable()": (ValueError, NO_VALUE),
    "tf.Variable(None)": (ValueError, NO_VALUE),
    "tf.Variable([1, 2], shape=[3])": (
        ValueError,
        "In this `tf.Variable` creation, the initial value's shape ((2,)) is not compatible with the explicitly supplied `shape` argument ([3]).",
    ),
    "tf.Variable(1.5, dtype=tf.int32)": (
        TypeError,
        "Cannot convert 1.5 to EagerTensor of dtype int32",
    ),
    "hash(tf.Variable(1))": (
        TypeError,
        "Variable is unhashable. Instead, use variable.ref() as the key. (Variable: <tf.Variable 'Variable:0' shape=() dtype=int32, numpy=1>)",
    ),
    "tf.Variable([1, 2]).op": (
        AttributeError,
        "Tensor.op is undefined when eager execution is enabled.",
    ),
    "tf.Variable([1, 2]).initial_value": (
        RuntimeError,
        "This property is not supported when eager execution is enabled.",
    ),
    "tf.Variable([1, 2]).eval()": (
        RuntimeError,
        "This operation is not supported when eager execution is enabled.",
    ),
    "len(tf.Variable([1, 2]))": Differs(
        (TypeError, "object of type 'ResourceVariable' has no len()"),
        "the class is called Variable",
    ),
}


@pytest.mark.parametrize(("call", "error"), cases(REFUSED))
def test_what_variables_refuse(call, error):
    kind, message = error
    with pytest.raises(kind) as raised:
        evaluate(call)
    assert first_line(raised.value) == message


def test_properties_cannot_be_set():
    variable = tf.Variable(1.0)
    for name in ("trainable", "shape", "dtype"):
        with pytest.raises(AttributeError):
            setattr(variable, name, None)


# --- assigning ---------------------------------------------------------------------------------------

ASSIGNMENTS = {
    "v.assign([3., 4.])": [3.0, 4.0],
    "v.assign([3, 4])": [3.0, 4.0],
    "v.assign(np.array([3, 4]))": [3.0, 4.0],
    "v.assign(np.array([3., 4.]))": [3.0, 4.0],
    "v.assign(tf.constant([3., 4.]))": [3.0, 4.0],
    "v.assign(tf.Variable([3., 4.]))": [3.0, 4.0],
    "v.assign(v)": [1.0, 2.0],
    "v.assign(v * 2)": [2.0, 4.0],
    "v.assign_add([1., 1.])": [2.0, 3.0],
    "v.assign_sub([1., 1.])": [0.0, 1.0],
    "v.assign_add(v)": [2.0, 4.0],
    "v.assign_sub(v)": [0.0, 0.0],
    "v.assign_add([1., 1.]).assign_sub([2., 2.]).assign_add([5., 5.])": [5.0, 6.0],
    "v.assign([3., 4.], use_locking=True, name='x')": [3.0, 4.0],
    "v.assign_add(delta=[1., 1.])": [2.0, 3.0],
    "v.assign(value=[5., 5.])": [5.0, 5.0],
}


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize(("call", "value"), cases(ASSIGNMENTS))
def test_assignments_change_the_variable(sim, place, call, value):
    sim("1xT4")
    with tf.device(place):
        v = tf.Variable([1.0, 2.0])
        result = evaluate(call, v=v)
    assert v.numpy().tolist() == value
    assert result.numpy().tolist() == value


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float64", "uint8", "complex64"])
def test_assignments_of_every_dtype(dtype):
    variable = tf.Variable(np.array([5, 6], dtype))
    variable.assign_add([1, 1])
    variable.assign_sub(np.array([2, 0], dtype))
    assert variable.dtype == tf.as_dtype(dtype)
    assert variable.numpy().tolist() == [4, 7]


def test_unread_results_see_later_values():
    variable = tf.Variable([1.0, 2.0])
    result = variable.assign([3.0, 3.0])
    read = result + 0.0
    variable.assign([4.0, 4.0])
    assert result.numpy().tolist() == [4.0, 4.0]
    assert read.numpy().tolist() == [3.0, 3.0]


def test_read_value_false_returns_none():
    assert tf.Variable(1.0).assign(2.0, read_value=False) is None


def test_shapes_with_unknown_sizes():
    variable = tf.Variable([1, 2], shape=[None])
    variable.assign([1, 2, 3])
    assert variable.numpy().tolist() == [1, 2, 3]
    assert variable.shape.as_list() == [None]
    anything = tf.Variable([1, 2], shape=tf.TensorShape(None))
    anything.assign([[1]])
    anything.assign_add([[1]])
    assert anything.numpy().tolist() == [[2]]


CONVERSION = "Tensor conversion requested dtype int32 for Tensor with dtype float32: <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"
MISMATCHES = {
    "v.assign([1, 2, 3])": (
        ValueError,
        "Cannot assign value to variable ' Variable:0': Shape mismatch.The variable shape (2,), and the assigned value shape (3,) are incompatible.",
    ),
    "v.assign(1)": (
        ValueError,
        "Cannot assign value to variable ' Variable:0': Shape mismatch.The variable shape (2,), and the assigned value shape () are incompatible.",
    ),
    "v.assign_add([1, 2, 3])": (
        tf.errors.InvalidArgumentError,
        "Cannot update variable with shape [2] using a Tensor with shape [3], shapes must be equal. [Op:AssignAddVariableOp] name: ",
    ),
    "v.assign_sub(1)": (
        tf.errors.InvalidArgumentError,
        "Cannot update variable with shape [2] using a Tensor with shape [], shapes must be equal. [Op:AssignSubVariableOp] name: ",
    ),
    "v.assign(tf.constant([1., 2.]))": (ValueError, CONVERSION),
    "v.assign_add(tf.constant([1., 2.]))": (ValueError, CONVERSION),
    "v.assign([1.5, 2])": (TypeError, "Cannot convert [1.5, 2] to EagerTensor of dtype int32"),
    "v.assign_add([1.5, 2])": (
        TypeError,
        "Cannot convert [1.5, 2] to EagerTensor of dtype int32",
    ),
    "v.assign(None)": (
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    ),
}


@pytest.mark.parametrize(("call", "error"), cases(MISMATCHES))
def test_values_that_do_not_fit(call, error):
    kind, message = error
    v = tf.Variable([1, 2])
    with pytest.raises(kind) as raised:
        evaluate(call, v=v)
    assert first_line(raised.value) == message
    assert v.numpy().tolist() == [1, 2]


WRONG_SHAPES = [[1, 2, 3], 1, [[1, 2]], [1], []]


@pytest.mark.parametrize("value", WRONG_SHAPES, ids=str)
@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_wrong_shapes_change_nothing(method, value):
    variable = tf.Variable([1, 2])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        getattr(variable, method)(tf.constant(value, tf.int32))
    assert variable.numpy().tolist() == [1, 2]


@pytest.mark.parametrize("value", [[1], [1, 2, 3]], ids=str)
@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
def test_unknown_sizes_do_not_broadcast(method, value):
    variable = tf.Variable([1, 2], shape=[None])
    with pytest.raises(tf.errors.InvalidArgumentError):
        getattr(variable, method)(tf.constant(value))
    assert variable.numpy().tolist() == [1, 2]


def test_bools_cannot_be_added():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.Variable(True).assign_add(True)


IN_PLACE = {
    "v += 1": "`variable += value` with `tf.Variable`s is not supported. Use `variable.assign_add(value)` to modify the variable, or `out = variable + value` if you need to get a new output Tensor.",
    "v -= 1": "`variable -= value` with `tf.Variable`s is not supported. Use `variable.assign_sub(value)` to modify the variable, or `out = variable * value` if you need to get a new output Tensor.",
    "v *= 1": "`var *= value` with `tf.Variable`s is not supported. Use `var.assign(var * value)` to modify the variable, or `out = var * value` if you need to get a new output Tensor.",
    "v /= 1": "`var /= value` with `tf.Variable`s is not supported. Use `var.assign(var / value)` to modify the variable, or `out = var / value` if you need to get a new output Tensor.",
}


@pytest.mark.parametrize("statement", IN_PLACE)
def test_in_place_operators_are_refused(statement):
    with pytest.raises(RuntimeError) as raised:
        exec(statement, {"v": tf.Variable(1)})
    assert first_line(raised.value) == IN_PLACE[statement]


# --- values ------------------------------------------------------------------------------------------

VALUES = {
    "v + 1": [2, 3],
    "1 + v": [2, 3],
    "1 - v": [0, -1],
    "v * v": [1, 4],
    "-v": [-1, -2],
    "abs(v)": [1, 2],
    "v / 2": [0.5, 1.0],
    "v // 2": [0, 1],
    "v % 2": [1, 0],
    "v ** 2": [1, 4],
    "2 ** v": [2, 4],
    "v < 2": [True, False],
    "2 >= v": [True, True],
    "v == [1, 3]": [True, False],
    "v != 2": [True, False],
    "v[0]": 1,
    "v[:1]": [1],
    "v[None]": [[1, 2]],
    "v[::-1]": [2, 1],
    "v[tf.constant([True, False])]": [1],
    "tf.identity(v)": [1, 2],
    "tf.add(v, v)": [2, 4],
    "tf.reduce_sum([v, v])": 6,
    "tf.stack([v, [3, 4]])": [[1, 2], [3, 4]],
    "tf.concat([v, [3, 4]], 0)": [1, 2, 3, 4],
    "tf.gather(v, [1, 1])": [2, 2],
    "v.value()": [1, 2],
    "v.read_value()": [1, 2],
    "np.array([1, 1], np.int32) + v": [2, 3],
    "v.sparse_read([1, 0])": [2, 1],
    "v.gather_nd([[1]])": [2],
}


@pytest.mark.parametrize(("call", "value"), cases(VALUES))
def test_variables_are_values(call, value):
    assert evaluate(call, v=tf.Variable([1, 2])).numpy().tolist() == value


def test_python_values_of_variables():
    assert bool(tf.Variable(True)) is True
    assert int(tf.Variable(3.7)) == 3
    assert float(tf.Variable(3)) == 3.0
    assert [int(x) for x in tf.Variable([1, 2])] == [1, 2]
    assert np.add(tf.Variable([1, 2]), 1).tolist() == [2, 3]
    assert np.array(tf.Variable([1, 2])).tolist() == [1, 2]


def test_references_stand_for_variables():
    variable, other = tf.Variable(1), tf.Variable(1)
    assert variable.ref().deref() is variable
    assert {variable.ref(): "found"}[variable.ref()] == "found"
    assert variable.ref() != other.ref()


ITEM_ASSIGNMENTS = {
    "v[0].assign(5)": [5, 2, 3],
    "v[1:].assign([5, 6])": [1, 5, 6],
    "v[tf.constant(1)].assign(5)": [1, 5, 3],
    "v[::2].assign(5)": [5, 2, 5],
    "v[None, ..., -1].assign([9])": [1, 2, 9],
    "v[0].assign(5)[1].assign(6)": [5, 6, 3],
    "tf.function(lambda: [v[:2].assign(v[1:] * 10), v[0].assign(v[0] + 1)])()": [21, 30, 3],
    "v.scatter_update(tf.IndexedSlices([9], [1]))": [1, 9, 3],
    "v.scatter_add(tf.IndexedSlices([9, 9], [1, 1]))": [1, 20, 3],
    "v.scatter_sub(tf.IndexedSlices([1], [2]))": [1, 2, 2],
    "v.scatter_nd_add([[0]], [3])": [4, 2, 3],
    "v.scatter_nd_update([[2]], [7])": [1, 2, 7],
}


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize(("call", "value"), cases(ITEM_ASSIGNMENTS))
def test_parts_can_be_assigned(sim, place, call, value):
    sim("1xT4")
    with tf.device(place):
        v = tf.Variable([1, 2, 3])
        before = v.value()
        evaluate(call, v=v)
    assert v.numpy().tolist() == value
    assert before.numpy().tolist() == [1, 2, 3]


def test_parts_must_fit():
    v = tf.Variable([1, 2, 3])
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"^Cannot broadcast input shape \[2\] into final shape \[\]",
    ):
        v[0].assign([1, 2])
    assert v.numpy().tolist() == [1, 2, 3]
    assert not hasattr(tf.constant([1])[0], "assign")


def test_deep_copies_are_apart():
    variable = tf.Variable([1, 2], name="w")
    twin = copy.deepcopy(variable)
    variable.assign([7, 8])
    assert (twin.name, twin.numpy().tolist()) == ("w:0", [1, 2])


def test_variables_of_variables_are_apart():
    first = tf.Variable([1, 2])
    second = tf.Variable(first)
    first.assign([0, 0])
    assert second.numpy().tolist() == [1, 2]


# --- devices -----------------------------------------------------------------------------------------


def test_variables_live_where_made(sim):
    sim("2xT4")
    assert tf.Variable(1.0).device == GPU_0
    with tf.device("/gpu:1"):
        assert tf.Variable(1.0).device == GPU_1
        assert tf.Variable(lambda: tf.zeros([2])).device == GPU_1
    with tf.device("/cpu:0"):
        assert tf.Variable(1.0).device == CPU_0


def test_initial_values_come_along(sim):
    sim("2xT4")
    value = tf.constant([1.0, 2.0])
    with tf.device("/cpu:0"):
        other = tf.Variable([1.0, 2.0])
    with tf.device("/gpu:1"):
        made = [tf.Variable(value), tf.Variable(other), tf.Variable(lambda: value)]
    assert [variable.device for variable in made] == [GPU_1] * 3
    assert tf.Variable(other).device == GPU_0
    assert [variable.numpy().tolist() for variable in made] == [[1.0, 2.0]] * 3


def test_variables_made_inside_functions(sim):
    sim("2xT4")
    made = []

    @tf.function
    def f(x):
        if not made:
            with tf.device("/gpu:1"):
                made.append(tf.Variable([1.0, 2.0]))
        return made[0] * x

    assert f(tf.constant(2.0)).numpy().tolist() == [2.0, 4.0]
    assert made[0].device == GPU_1


def test_assigning_from_another_device(sim):
    sim("2xT4")
    with tf.device("/gpu:0"):
        value = tf.constant([3.0, 4.0])
    with tf.device("/gpu:1"):
        variable = tf.Variable([1.0, 2.0])
    with tf.device("/cpu:0"):
        variable.assign(value)
        variable.assign_add(value)
    assert variable.device == GPU_1
    assert variable.numpy().tolist() == [6.0, 8.0]
    assert value.device == GPU_0


def test_graphs_refuse_eager_variables():
    variable = tf.Variable(1.0)
    with (
        tf.Graph().as_default(),
        pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor"),
    ):
        variable + 1.0


# --- threads -----------------------------------------------------------------------------------------


def together(*works):
    """Run them at once, each in a thread of its own."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("through", ["eager", "function", "both"])
def test_threads_lose_no_update(sim, place, through):
    sim("1xT4")
    with tf.device(place):
        variable, step = tf.Variable(tf.zeros([300_000])), tf.ones([300_000])
        function = tf.function(lambda: variable.assign_add(step))
        function()

    def eagerly():
        with tf.device(place):
            for _ in range(40):
                variable.assign_add(step)

    def in_function():
        with tf.device(place):
            for _ in range(40):
                function()

    works = {
        "eager": [eagerly] * 4,
        "function": [in_function] * 4,
        "both": [eagerly, in_function] * 2,
    }
    together(*works[through])
    assert variable.numpy().min() == variable.numpy().max() == 161.0


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
def test_threads_read_whole_values(sim, place):
    sim("1xT4")
    with tf.device(place):
        variable, step = tf.Variable(tf.zeros([300_000])), tf.ones([300_000])
    torn = []

    def write():
        for _ in range(40):
            variable.assign_add(step)

    def read():
        for _ in range(40):
            array = variable.value().numpy()
            if array.min() != array.max():
                torn.append((array.min(), array.max()))

    together(write, write, read, read)
    assert torn == []
    assert variable.numpy().min() == variable.numpy().max() == 80.0


def test_names_of_scopes_nest(eager):
    with tf.name_scope("a") as outer, tf.name_scope("b") as inner:
        variable = tf.Variable(1.0)
        with tf.name_scope("c/") as whole, tf.name_scope("") as none:
            pass
    assert (outer, inner, whole, none) == ("a/", "a/b/", "c/", "")
    assert variable.name == "a/b/Variable:0"
    assert tf.Variable(1.0, name="v").name == "v:0"
