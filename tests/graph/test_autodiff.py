"""``tf.gradients``: what is asked, what comes back, and where the gradients are computed.

Values, names and texts marked [TF] were read off TensorFlow 2.21, run with
`tensorflow.compat.v1` and `disable_v2_behavior()`.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import backpropagate, gradients
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.indexed_slices import IndexedSlices, as_dense, total
from berth.ops.elementwise.arithmetic import MUL
from berth.ops.gradient import gradient_of
from berth.ops.opdef import CATALOGUE, OpDef, all_devices
from berth.ops.rules import bind_nothing, like_first


@pytest.fixture(autouse=True)
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def values(grads, feeds=None):
    """Run gradients, with every variable initialized; None stays what it is."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [None if g is None else session.run(as_dense(g), feeds).tolist() for g in grads]


def names(graph, op_type=None):
    wanted = [op for op in graph.get_operations() if op_type in (None, op.type)]
    return [op.name for op in wanted if op.name.startswith("gradients")]


# --- programs [TF] --------------------------------------------------------------------------


def several_ys(tf, gradients):
    x = tf.constant([1.0, 2.0])
    return gradients([x * x, 3.0 * x], x)


def several_xs(tf, gradients):
    x, y = tf.constant(2.0), tf.constant(5.0)
    return gradients(x * x * y, [x, y])


def y_twice(tf, gradients):
    x = tf.constant(3.0)
    y = x * x
    return gradients([y, y], x)


def weighted(tf, gradients):
    x = tf.constant([1.0, 2.0])
    return gradients([x * x, x], x, grad_ys=[[10.0, 20.0], None])


def weighted_by_one(tf, gradients):
    x = tf.constant([1.0, 2.0])
    return gradients(x * x, x, grad_ys=tf.constant([1.0, 0.5]))


def intermediate(tf, gradients):
    x = tf.constant(3.0)
    middle = x * x
    return gradients(tf.exp(0.0 * middle) * middle, [middle, x])


def y_is_x(tf, gradients):
    x = tf.constant([3.0, 4.0])
    return gradients(x, x)


def ys_hold_x(tf, gradients):
    x = tf.constant(3.0)
    y = x * x
    return gradients([y, x, y * 2.0], [x, y])


def same_x_twice(tf, gradients):
    x = tf.constant(3.0)
    return gradients(x * x, [x, x])


def apart(tf, gradients):
    x, y = tf.constant(3.0), tf.constant(4.0)
    return gradients(x * 2.0, [x, y])


def apart_as_zeros(tf, gradients):
    x, y = tf.constant(3.0), tf.constant([4.0, 5.0])
    return gradients(x * 2.0, [x, y], unconnected_gradients="zero")


def partly_stopped(tf, gradients):
    x = tf.constant(3.0)
    return gradients(x * tf.stop_gradient(x * x), x)


def wholly_stopped(tf, gradients):
    x = tf.constant(3.0)
    return gradients(tf.stop_gradient(x) * 2.0, x)


def stopped_at_both(tf, gradients):
    a = tf.constant(0.0)
    b = 2.0 * a
    return gradients(a + b, [a, b], stop_gradients=[a, b])


def not_stopped(tf, gradients):
    a = tf.constant(0.0)
    b = 2.0 * a
    return gradients(a + b, [a, b])


def stopped_in_between(tf, gradients):
    x = tf.constant(3.0)
    middle = x * x
    return gradients(middle * x, x, stop_gradients=middle)


def stopped_at_one_output(tf, gradients):
    x = tf.constant([3.0, 4.0])
    first, second = tf.unstack(x)
    return gradients(first * 2.0 + second * 5.0, [x, first, second], stop_gradients=first)


def of_integers(tf, gradients):
    x = tf.constant([1.0, 2.0])
    return gradients(tf.cast(x, tf.int32), x)


def of_truth(tf, gradients):
    x = tf.constant([1.0, 2.0])
    return gradients(x > 1.0, x)


def by_integers(tf, gradients):
    x = tf.constant([1, 2])
    return gradients(x * x, x)


def integers_themselves(tf, gradients):
    x = tf.constant([1, 2])
    return gradients(x, x)


def nothing_asked(tf, gradients):
    return gradients(tf.constant(1.0), [])


def one_output_of_many(tf, gradients):
    x = tf.constant([1.0, 2.0, 3.0])
    return gradients(tf.unstack(x)[1] * 5.0, x)


def diamond(tf, gradients):
    x = tf.constant(2.0)
    y = x * x
    return gradients(y * y + y, x)


def second(tf, gradients):
    x = tf.constant([2.0, 3.0])
    return gradients(gradients(x * x * x, x), x)


def third(tf, gradients):
    x = tf.constant(2.0)
    first = gradients(x * x * x * x, x)[0]
    return gradients(gradients(first, x)[0], x)


def of_a_sum_of_squares(tf, gradients):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return gradients(tf.reduce_sum(tf.matmul(x, x)), x)


def resource_variable(tf, gradients):
    v = tf.Variable([1.0, 2.0], use_resource=True)
    return gradients(v * v, v)


def reference_variable(tf, gradients):
    v = tf.Variable([1.0, 2.0], use_resource=False)
    return gradients(v * v, v)


def variables_as_ys(tf, gradients):
    v = tf.Variable(1.0, use_resource=True)
    w = tf.Variable(2.0, use_resource=False)
    return gradients([v, w, v * w], [v, w])


def variables_apart(tf, gradients):
    v = tf.Variable([1.0, 2.0], use_resource=True)
    w = tf.Variable([[2.0]], use_resource=False)
    return gradients(tf.constant(1.0), [v, w], unconnected_gradients="zero")


PROGRAMS = {
    several_ys: [[5.0, 7.0]],
    several_xs: [20.0, 4.0],
    y_twice: [12.0],
    weighted: [[21.0, 81.0]],
    weighted_by_one: [[2.0, 2.0]],
    intermediate: [1.0, 6.0],
    y_is_x: [[1.0, 1.0]],
    ys_hold_x: [19.0, 3.0],
    same_x_twice: [6.0, 6.0],
    apart: [2.0, None],
    apart_as_zeros: [2.0, [0.0, 0.0]],
    partly_stopped: [9.0],
    wholly_stopped: [None],
    stopped_at_both: [1.0, 1.0],
    not_stopped: [3.0, 1.0],
    stopped_in_between: [9.0],
    stopped_at_one_output: [None, 2.0, 5.0],
    of_integers: [None],
    of_truth: [None],
    by_integers: [None],
    integers_themselves: [[1, 1]],
    nothing_asked: [],
    one_output_of_many: [[0.0, 5.0, 0.0]],
    diamond: [36.0],
    second: [[12.0, 18.0]],
    third: [48.0],
    of_a_sum_of_squares: [[[7.0, 11.0], [9.0, 13.0]]],
    resource_variable: [[2.0, 4.0]],
    reference_variable: [[2.0, 4.0]],
    variables_as_ys: [3.0, 2.0],
    variables_apart: [[0.0, 0.0], [[0.0]]],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_are_those_of_tensorflow(program):
    assert values(program(tf, gradients)) == PROGRAMS[program]


# --- errors [TF] ----------------------------------------------------------------------------

ERRORS = {
    "too few": (
        lambda x: gradients(x, x, grad_ys=[1.0, 2.0]),
        "Length mismatch. Passed 2 grad_ys for 1 ys",
    ),
    "unknown value": (
        lambda x: gradients(x, x, unconnected_gradients="maybe"),
        "Unknown value for unconnected_gradients: 'maybe'",
    ),
}
TYPE_ERRORS = {
    "text": (
        lambda x: gradients(tf.constant("text"), x),
        "Expected string, got 1 of type 'int' instead.",
    ),
    "complex y": (
        lambda x: gradients(tf.cast(x, tf.complex64, name="y"), x),
        'Gradients of complex tensors (Tensor("y:0", shape=(2,), dtype=complex64)) must set '
        "grad_ys (y.dtype = complex64)",
    ),
    "complex weight": (
        lambda x: gradients(x, x, grad_ys=tf.constant([1j, 2j])),
        'Gradient type complex128 generated for real or integer-valued tensor Tensor("x:0", '
        "shape=(2,), dtype=float32) with type float32 must be real or integer",
    ),
}


@pytest.mark.parametrize(("call", "message"), ERRORS.values(), ids=ERRORS)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(tf.constant([1.0, 2.0], name="x"))


@pytest.mark.parametrize(("call", "message"), TYPE_ERRORS.values(), ids=TYPE_ERRORS)
def test_wrong_types_are_refused(call, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        call(tf.constant([1.0, 2.0], name="x"))


def test_numbers_alone_are_refused():
    with pytest.raises(TypeError, match="GradientTape instead"):
        gradients(1.0, 2.0)


@pytest.fixture
def forgotten():
    """Define an operation whose gradient nobody wrote."""
    yield OpDef("Forgotten", "x:T", like_first, types={"T": [tf.float32]})
    del CATALOGUE["Forgotten"]


def test_missing_gradient_names_the_operation(graph, forgotten):
    """[TF]"""
    x = tf.constant(1.0)
    with tf.name_scope("layer"):
        y = graph.apply(forgotten, (x,), {}, "odd")
    with pytest.raises(LookupError) as caught:
        gradients(y, x)
    assert str(caught.value) == (
        "No gradient defined for operation'layer/odd' (op type: Forgotten). In general every "
        "operation must have an associated `@tf.RegisterGradient` for correct autodiff, which "
        "this op is lacking. If you want to pretend this operation is a constant in your "
        "program, you may insert `tf.stop_gradient`. This can be useful to silence the error in "
        "cases where you know gradients are not needed, e.g. the forward pass of "
        "tf.custom_gradient. Please see more details in "
        "https://www.tensorflow.org/api_docs/python/tf/custom_gradient."
    )


def test_missing_gradient_off_the_way_is_fine(graph, forgotten):
    x = tf.constant(1.0)
    y = graph.apply(forgotten, (tf.constant(2.0),), {}, None)
    [grad] = gradients(x * y, x)
    assert grad.op.type == "Mul"


# --- names [TF] -----------------------------------------------------------------------------


def test_gradients_have_names_of_tensorflow(graph):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    with tf.name_scope("layer"):
        y = tf.multiply(x, x, name="y")
    z = tf.tanh(y, name="z")
    [grad] = gradients([y, z], x)
    assert names(graph, "Fill") == ["gradients/grad_ys_0", "gradients/grad_ys_1"]
    assert names(graph, "TanhGrad") == ["gradients/z_grad/TanhGrad"]
    assert names(graph, "AddN") == ["gradients/AddN", "gradients/AddN_1"]
    assert all(name.startswith("gradients/layer/y_grad/") for name in names(graph, "Mul"))
    assert grad.name == "gradients/AddN_1:0"


def test_names_may_be_chosen(graph):
    """[TF]"""
    x = tf.constant(1.0)
    with tf.name_scope("train"):
        y = tf.exp(x, name="y")
        assert gradients(y, x, name="back")[0].name == "train/back/train/y_grad/mul:0"
        assert gradients(y, x)[0].name == "train/gradients/train/y_grad/mul:0"
    assert gradients(y, x)[0].name == "gradients/train/y_grad/mul:0"
    assert gradients(y, x)[0].name == "gradients_1/train/y_grad/mul:0"


def test_only_what_is_wanted_is_built(graph):
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3, 2])
    gradients(tf.matmul(x, w) * 2.0, w)
    assert len(names(graph, "MatMul")) == 1
    assert len(names(graph, "Mul")) == 1


# --- devices --------------------------------------------------------------------------------


def test_gradients_ask_for_the_forward_device(graph):
    """TensorFlow asks for none here: its gradients follow what they take."""
    x = tf.placeholder(tf.float32, name="x")
    with tf.device("/gpu:1"):
        y = tf.tanh(x, name="y")
    with tf.device("/gpu:0"):
        z = tf.sigmoid(y, name="z")
    with tf.device("/cpu:0"):
        gradients(z, x)
    by_name = {name: graph.get_operation_by_name(name).device for name in names(graph)}
    assert by_name["gradients/y_grad/TanhGrad"] == "/device:GPU:1"
    assert by_name["gradients/z_grad/SigmoidGrad"] == "/device:GPU:0"
    assert by_name["gradients/grad_ys_0"] == "/device:GPU:0"


def test_gradients_of_devices_with_ops_colocate(graph):
    """[TF]"""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    with tf.device("/gpu:1"):
        y = tf.tanh(x, name="y")
    z = tf.sigmoid(y, name="z")
    gradients(z, x, colocate_gradients_with_ops=True)
    groups = {
        name: graph.get_operation_by_name(name).colocation_groups() for name in names(graph)
    }
    assert groups["gradients/grad_ys_0"] == [b"loc:@z"]
    assert groups["gradients/z_grad/SigmoidGrad"] == [b"loc:@z"]
    assert groups["gradients/y_grad/TanhGrad"] == [b"loc:@y"]
    assert graph.get_operation_by_name("gradients/y_grad/TanhGrad").device == "/device:GPU:1"


def test_sums_are_made_device_by_device(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    parts = []
    for device in ("/gpu:0", "/gpu:1"):
        with tf.device(device):
            parts += [tf.tanh(x), tf.sigmoid(x)]
    gradients(parts, x)
    sums = [graph.get_operation_by_name(name) for name in names(graph, "AddN")]
    assert [op.device for op in sums] == ["/device:GPU:0", "/device:GPU:1", ""]
    assert [len(op.inputs) for op in sums] == [2, 2, 2]
    assert sums[0].colocation_groups() == [b"loc:@gradients/Sigmoid_grad/SigmoidGrad"]


def test_gradients_run_on_two_gpus(sim):
    sim("2xT4")
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0])
        towers = []
        for k in range(2):
            with tf.device(f"/gpu:{k}"):
                towers.append(tf.reduce_sum(tf.square(v) * (k + 1.0)))
        assert values(gradients(towers, v)) == [[6.0, 12.0]]


# --- rows -----------------------------------------------------------------------------------


def test_gather_gives_rows():
    x = tf.placeholder(tf.float32, [5, 2])
    [grad] = gradients(gather(x, [1, 3, 1]), x)
    assert isinstance(grad, IndexedSlices)
    assert grad.shape == (5, 2)
    assert grad.dtype == tf.float32
    with tf.Session() as session:
        rows = session.run([grad.values, grad.indices, grad.dense_shape])
        assert [array.tolist() for array in rows] == [[[1, 1]] * 3, [1, 3, 1], [5, 2]]
        dense = session.run(as_dense(grad))
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_rows_reach_variables(use_resource):
    v = tf.Variable([[1.0], [2.0], [3.0]], use_resource=use_resource)
    [grad] = gradients(gather(v, [[2, 0]]) * 5.0, v)
    assert isinstance(grad, IndexedSlices)
    assert values([grad]) == [[[5.0], [0.0], [5.0]]]


def test_rows_are_put_together(graph):
    """[TF]"""
    x = tf.placeholder(tf.float32, [5, 2])
    few, more = tf.constant([1, 1]), tf.constant([0, 3], tf.int64)
    [grad] = gradients(gather(x, few) * 2.0 + gather(x, more), x)
    assert isinstance(grad, IndexedSlices)
    assert grad.values.dims == (4, 2)
    assert grad.indices.dtype == tf.int64
    assert not names(graph, "AddN")
    assert values([grad]) == [[[1, 1], [4, 4], [0, 0], [1, 1], [0, 0]]]


def test_rows_and_a_whole_make_a_whole():
    x = tf.constant([[1.0], [2.0]])
    [grad] = gradients([gather(x, [1]), 3.0 * x], x)
    assert values([grad]) == [[[3.0], [4.0]]]
    assert not isinstance(grad, IndexedSlices)


def test_rows_become_a_whole_further_back():
    x = tf.constant([[1.0], [2.0]])
    [grad] = gradients(gather(x * x, [1, 1]), x)
    assert values([grad]) == [[[0.0], [8.0]]]


def test_rows_of_unknown_sizes_become_a_whole():
    x = tf.placeholder(tf.float32, [None, 1])
    [grad] = gradients(gather(x, [1]), x)
    assert grad.shape.as_list() == [None, 1]
    assert values([grad], {x: [[5.0], [6.0], [7.0]]}) == [[[0.0], [1.0], [0.0]]]


def test_rows_need_a_shape_to_become_a_whole():
    rows = IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
    assert rows.shape.rank is None
    with pytest.raises(ValueError, match="without dense_shape"):
        as_dense(rows)
    known = IndexedSlices(tf.constant([[2.0]]), tf.constant([1]), tf.constant([2, 1]))
    assert values([total([rows, -known])]) == [[[1.0], [-2.0]]]


# --- the walk by itself ---------------------------------------------------------------------


def test_records_need_no_graph_of_their_own():
    """A tape's records are walked like a graph's operations."""
    x, unused = tf.constant([2.0, 3.0]), tf.constant(7.0)
    y = x * x
    record = SimpleNamespace(definition=MUL, inputs=(x, x), outputs=(y,), attrs={})
    seen = []

    def within(done):
        seen.append(done)
        return nullcontext()

    found = backpropagate(
        iter([record]), {id(y): tf.ones_like(y)}, [id(x), id(y), id(unused)], within
    )
    assert seen == [record]
    assert found[id(unused)] is None
    assert values([found[id(x)], found[id(y)]]) == [[4.0, 6.0], [1.0, 1.0]]


def test_unnamed_records_give_their_type():
    odd = OpDef("Odd", "", lambda *_: (), kernels=all_devices(bind_nothing))
    del CATALOGUE["Odd"]
    with pytest.raises(LookupError, match=r"operation'Odd' \(op type: Odd\)"):
        gradient_of(SimpleNamespace(definition=odd))


def test_long_chains_are_walked():
    x = tf.constant(1.0)
    y = x
    for _ in range(5000):
        y = -y
    assert values(gradients(y, x)) == [1.0]


def test_gradients_broadcast_with_unknown_ranks():
    x = tf.placeholder(tf.float32)
    y = broadcast_to(x, tf.placeholder_with_default(np.int32([2, 3]), [None]))
    assert values(gradients(y, x), {x: [1.0, 2.0, 3.0]}) == [[2.0, 2.0, 2.0]]


def test_gradient_has_the_shape_of_its_tensor():
    """Also where the function that makes it knows less."""
    x = tf.placeholder(tf.float32, [2, None])

    @tf.custom_gradient
    def same(x):
        return tf.identity(x), lambda dy: tf.placeholder_with_default(dy, None)

    [grad] = tf.gradients(same(x), x)
    assert grad.shape.as_list() == [2, None]
