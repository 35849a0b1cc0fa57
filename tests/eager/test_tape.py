"""`tf.GradientTape` in eager programs."""

from __future__ import annotations

import gc
import threading
from collections import namedtuple

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import CPU_0, GPU_0, GPU_1, in_use
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")

Pair = namedtuple("Pair", "a b")
USED_TWICE = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"


def values(structure):
    """The arrays of a structure of tensors, as lists and numbers."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: values(item) for key, item in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*map(values, structure))
    if isinstance(structure, list | tuple):
        return type(structure)(map(values, structure))
    return structure.numpy().tolist()


def product():
    """Two variables and their product, on a tape that has stopped."""
    v, w = tf.Variable(3.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * w
    return tape, y, v, w


# --- sources and targets -----------------------------------------------------------------------------


def test_constants_must_be_watched():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        before = x * x
        tape.watch(x)
        after = x * x
    assert tape.gradient(before, x) is None
    assert values(tape.gradient(after, x)) == 6.0


def test_variables_are_watched_when_read():
    v, fixed = tf.Variable(3.0), tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * fixed
    assert values(tape.gradient(y, [v, fixed])) == [2.0, None]


SOURCES = {
    "one": (lambda v, w: v, 2.0),
    "list": (lambda v, w: [v, w], [2.0, 3.0]),
    "tuple": (lambda v, w: (w, v), (3.0, 2.0)),
    "dict": (lambda v, w: {"w": w, "v": v}, {"w": 3.0, "v": 2.0}),
    "nested": (lambda v, w: {"v": v, "w": [w, (v,)]}, {"v": 2.0, "w": [3.0, (2.0,)]}),
    "namedtuple": (Pair, Pair(2.0, 3.0)),
    "repeated": (lambda v, w: [v, v], [2.0, 2.0]),
    "none at all": (lambda v, w: [], []),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_gradients_have_the_sources_structure(kind):
    arrange, expected = SOURCES[kind]
    tape, y, v, w = product()
    assert values(tape.gradient(y, arrange(v, w))) == expected


TARGETS = {
    "list": lambda y, z: [y, z],
    "dict": lambda y, z: {"a": y, "b": [z]},
    "tuple": lambda y, z: (y, (z,)),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_gradients_of_targets_add_up(kind):
    v, w = tf.Variable(3.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y, z = v * w, v + w
    assert values(tape.gradient(TARGETS[kind](y, z), [v, w])) == [3.0, 4.0]


def test_one_target_twice_counts_twice():
    tape, y, v, _ = product()
    assert values(tape.gradient([y, y], v)) == 4.0


def test_gradient_of_itself_is_one():
    tape, y, v, _ = product()
    assert values(tape.gradient([y, v], [y, v])) == [1.0, 3.0]


def test_no_targets_give_none():
    tape, _, v, _ = product()
    assert tape.gradient([], v) is None


def test_intermediate_tensors_are_sources():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, second = tf.unstack(x)
        y = first * first * second
    assert values(tape.gradient(y, x)) == [4.0, 1.0]
    assert values(tape.gradient(y, first)) == 4.0
    assert values(tape.gradient(second, x)) == [0.0, 1.0]


def test_reading_value_is_another_tensor():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        read = v.value()
        y = read * read
    assert values(tape.gradient(y, [v, read])) == [6.0, 6.0]
    assert tape.gradient(y, v.value()) is None


def test_targets_made_afterwards_are_unknown():
    tape, y, v, _ = product()
    assert tape.gradient(y * y, v) is None


def test_python_control_flow_is_recorded():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        total = sum(x * x for x in v)
        if total > 10.0:
            total = total * 2.0
    assert values(tape.gradient(total, v)) == [4.0, 8.0, 12.0]


MATH = {
    "broadcast": (lambda x: x * [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [6.0, 6.0]),
    "numpy operand": (lambda x: x * np.array([[1.0, 2.0]], np.float32), [1.0, 2.0]),
    "index": (lambda x: x[0] * x, [4.0, 1.0]),
    "slice": (lambda x: x[::-1] * [1.0, 5.0], [5.0, 1.0]),
    "matmul": (lambda x: tf.matmul(x[None], x[:, None]), [2.0, 4.0]),
    "list of tensors": (lambda x: tf.reduce_sum([x * x, x]), [3.0, 5.0]),
    "concat": (lambda x: tf.concat([x, x[:1]], 0) * [1.0, 2.0, 4.0], [5.0, 2.0]),
    "where": (lambda x: tf.where([True, False], x, x * x), [1.0, 4.0]),
    "reduce_max": (tf.reduce_max, [0.0, 1.0]),
    "stop_gradient": (lambda x: tf.stop_gradient(x * x) + x, [1.0, 1.0]),
    "cast there and back": (
        lambda x: tf.cast(tf.cast(x, tf.float64) * 2, tf.float32),
        [2.0, 2.0],
    ),
    "add_n": (lambda x: tf.add_n([x, x, x * x]), [4.0, 6.0]),
}


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("name", MATH)
def test_gradients_of_eager_mathematics(sim, place, name):
    sim("1xT4")
    compute, expected = MATH[name]
    with tf.device(place):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = compute(x)
        assert values(tape.gradient(y, x)) == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_gradients_keep_the_dtype(dtype):
    x = tf.constant([2, 3], tf.as_dtype(dtype))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    gradient = tape.gradient(y, x)
    assert gradient.dtype == x.dtype
    assert values(gradient) == [4.0, 6.0]


def test_gradients_of_complex_conjugate():
    x = tf.constant(1 + 2j)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).numpy() == 2 - 4j


def test_gradients_of_empty_tensors():
    x = tf.zeros([0, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    assert tape.gradient(y, x).shape == [0, 3]


# --- when the tape records -------------------------------------------------------------------------


def test_tapes_are_used_once():
    tape, y, v, _ = product()
    tape.gradient(y, v)
    with pytest.raises(RuntimeError) as raised:
        tape.gradient(y, v)
    assert first_line(raised.value) == USED_TWICE


def test_tapes_used_inside_are_used():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        inside = tape.gradient(y, v)
    assert values(inside) == 6.0
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, v)


def test_tapes_never_entered_are_used():
    with pytest.raises(RuntimeError, match="non-persistent"):
        tf.GradientTape().gradient(tf.constant(1.0), tf.constant(1.0))


def test_persistent_tapes_are_used_often():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        z = y * y
    assert values(tape.gradient(y, v)) == 6.0
    assert values(tape.gradient(z, v)) == 108.0
    assert values(tape.gradient(z, y)) == 18.0
    assert values(tape.gradient(z, v)) == 108.0


def test_tapes_can_be_entered_again():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    with tape:
        z = y * v
    assert values(tape.gradient(z, v)) == 27.0


def test_active_tapes_cannot_be_entered():
    with (
        tf.GradientTape() as tape,
        pytest.raises(
            ValueError,
            match=r"^Tape is still recording, This can happen if you try to re-enter an already-active tape\.",
        ),
    ):
        tape.__enter__()


def test_errors_leave_tapes_whole():
    v, made = tf.Variable(3.0), []
    tape = tf.GradientTape()

    def fail():
        made.append(v * v)
        raise KeyError("on purpose")

    with pytest.raises(KeyError), tape:
        fail()
    assert values(tape.gradient(made[0], v)) == 6.0


def test_only_watched_variables_count():
    v, w = tf.Variable(3.0), tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    assert values(tape.gradient(y, [v, w])) == [2.0, None]


def test_watch_takes_structures():
    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, {"y": (y,)}])
        z = x * y
    assert values(tape.gradient(z, [x, y])) == [4.0, 3.0]


def test_stop_recording_pauses():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        with tape.stop_recording():
            z = y * v
        u = y * z
    assert tape.gradient(z, v) is None
    assert values(tape.gradient(u, v)) == 162.0


def test_reset_forgets():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        tape.reset()
        z = v * 2.0
    assert tape.gradient(y, v) is None
    assert values(tape.gradient(z, v)) == 2.0


def test_watched_variables_are_the_variables():
    v, w = tf.Variable(3.0, name="v"), tf.Variable(2.0, name="w", trainable=False)
    with tf.GradientTape() as tape:
        v * w
    assert [watched.name for watched in tape.watched_variables()] == ["v:0"]
    assert tape.watched_variables()[0] is v


def test_assignments_do_not_disturb_records():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        v.assign(10.0)
        z = v * v
    v.assign(100.0)
    assert values(tape.gradient(y, v)) == 6.0
    assert values(tape.gradient(z, v)) == 20.0


def test_tapes_belong_to_their_thread():
    v, made = tf.Variable(3.0), []

    def compute():
        made.append(v * v)
        with tf.GradientTape() as own:
            y = v * v
        made.append(own.gradient(y, v))

    with tf.GradientTape() as tape:
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
    assert tape.gradient(made[0], v) is None
    assert values(made[1]) == 6.0


# --- several tapes, and higher orders ---------------------------------------------------------------


def test_two_tapes_record_the_same():
    v = tf.Variable(3.0)
    with tf.GradientTape() as first, tf.GradientTape() as second:
        y = v * v
    assert values(first.gradient(y, v)) == 6.0
    assert values(second.gradient(y, v)) == 6.0


def test_gradients_of_gradients():
    x = tf.Variable(2.0)
    with tf.GradientTape() as third:
        with tf.GradientTape() as second:
            with tf.GradientTape() as first:
                y = x**4
            g = first.gradient(y, x)
        h = second.gradient(g, x)
    assert values([g, h, third.gradient(h, x)]) == [32.0, 48.0, 48.0]


def test_persistent_tape_differentiates_itself():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x * x
        g = tape.gradient(y, x)
    assert values(tape.gradient(g, x)) == 12.0


def test_gradient_of_a_penalty():
    v = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = v * v
        z = inner.gradient(y, v) * y
    assert values(outer.gradient(z, v)) == 54.0


JACOBIANS = {
    "elementwise": (lambda x, w: x * x, [[[2.0, 0.0], [0.0, 4.0]], None]),
    "scalar source": (lambda x, w: x * w, [[[3.0, 0.0], [0.0, 3.0]], [1.0, 2.0]]),
    "scalar target": (lambda x, w: tf.reduce_sum(x) * w, [[3.0, 3.0], 3.0]),
    "matrix target": (
        lambda x, w: tf.matmul([[1.0, 2.0], [3.0, 4.0]], x[:, None]),
        [[[[1.0, 2.0]], [[3.0, 4.0]]], None],
    ),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name):
    compute, expected = JACOBIANS[name]
    x, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = compute(x, w)
    assert values(tape.jacobian(y, [x, w])) == expected


def test_hessian_is_jacobian_of_gradient():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x * x * x)
        g = inner.gradient(y, x)
    assert values(outer.jacobian(g, x)) == [[6.0, 0.0], [0.0, 12.0]]


def test_jacobian_uses_the_tape_up():
    tape, y, v, _ = product()
    tape.jacobian(y, v)
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.jacobian(y, v)


def test_batch_jacobian():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert values(tape.batch_jacobian(y, x)) == [
        [[2.0, 0.0], [0.0, 4.0]],
        [[6.0, 0.0], [0.0, 8.0]],
    ]


# --- unconnected, and gradients that come in ----------------------------------------------------------


def test_unconnected_gradients_may_be_zero():
    v, w = tf.Variable([3.0, 4.0]), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = w * w
    assert values(tape.gradient(y, [v, w])) == [None, 4.0]
    assert values(tape.gradient(y, [v, w], unconnected_gradients="none")) == [None, 4.0]
    assert values(tape.gradient(y, [v, w], unconnected_gradients="zero")) == [[0.0, 0.0], 4.0]
    assert values(tape.jacobian(y, v, unconnected_gradients="zero")) == [0.0, 0.0]


def test_unconnected_gradients_have_names():
    v, w = tf.Variable([3.0, 4.0]), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = w * w
    zero = tf.UnconnectedGradients.ZERO
    assert values(tape.gradient(y, v, unconnected_gradients=zero)) == [0.0, 0.0]


def test_unconnected_gradients_are_checked():
    tape, y, v, _ = product()
    with pytest.raises(ValueError, match=r"^Unknown value for unconnected_gradients: 'bad'"):
        tape.gradient(y, v, unconnected_gradients="bad")


OUTPUT_GRADIENTS = {
    "tensor": (lambda: tf.constant([10.0, 1.0]), [60.0, 8.0]),
    "scalar": (lambda: tf.constant(2.0), [12.0, 16.0]),
    "array": (lambda: np.array([10.0, 1.0], np.float32), [60.0, 8.0]),
    "list of one": (lambda: [tf.constant([10.0, 1.0])], [60.0, 8.0]),
    "none": (lambda: None, [6.0, 8.0]),
}


@pytest.mark.parametrize("kind", OUTPUT_GRADIENTS)
def test_output_gradients_weigh_targets(kind):
    make, expected = OUTPUT_GRADIENTS[kind]
    v = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = v * v
    assert values(tape.gradient(y, v, output_gradients=make())) == expected


def test_output_gradients_of_several_targets():
    v = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        y, z = v * v, v + 1.0
    weights = [tf.constant([10.0, 1.0]), tf.constant([5.0, 5.0])]
    assert values(tape.gradient([y, z], v, output_gradients=weights)) == [65.0, 13.0]


def test_output_gradient_none_counts_nothing():
    v = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        y, z = v * v, v + 1.0
    weights = [tf.constant([10.0, 1.0]), None]
    assert values(tape.gradient([y, z], v, output_gradients=weights)) == [60.0, 8.0]


# --- sparse gradients ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tf.Variable, tf.constant])
def test_gather_gives_indexed_slices(make):
    table = make([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch(table)
        rows = tf.gather(table, [0, 2, 0])
    gradient = tape.gradient(rows, table)
    assert isinstance(gradient, tf.IndexedSlices)
    assert values(gradient.indices) == [0, 2, 0]
    assert values(gradient.values) == [[1.0, 1.0]] * 3
    assert values(gradient.dense_shape) == [3, 2]


def test_sparse_and_dense_gradients_add_up():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.gather(table, [0, 2, 0])) + tf.reduce_sum(table)
    assert values(tape.gradient(total, table)) == [[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]]


def test_two_gathers_stay_sparse():
    table = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        first, second = tf.gather(table, [0]), tf.gather(table, [1, 1])
    gradient = tape.gradient([first, second], table)
    assert isinstance(gradient, tf.IndexedSlices)
    assert sorted(values(gradient.indices)) == [0, 1, 1]


# --- what has no gradient -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "compute",
    [tf.round, tf.floor, lambda x: tf.argmax([x, x]), lambda x: x > 1.0],
    ids=["round", "floor", "argmax", "greater"],
)
def test_steps_have_no_gradient(compute):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = compute(x)
    assert tape.gradient(y, x) is None


def test_integer_variables_have_no_gradient():
    v = tf.Variable(3)
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v) is None


def test_integer_targets_have_no_gradient():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.cast(v, tf.int32)
    assert tape.gradient(y, v) is None


def test_integers_are_watched_in_vain():
    x = tf.constant(3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None


def test_numpy_functions_have_no_gradient():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.numpy_function(lambda a: a * a, [x], tf.float32)
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (
            3.0,
            "Passed in object 3.0 of type 'float', not tf.Tensor or tf.Variable or ExtensionType.",
        ),
        (
            np.ones(2),
            "Passed in object [1. 1.] of type 'ndarray', not tf.Tensor or tf.Variable or ExtensionType.",
        ),
    ],
    ids=["float", "array"],
)
def test_only_tensors_can_be_watched(thing, text):
    with tf.GradientTape() as tape, pytest.raises(ValueError) as raised:  # noqa: PT011
        tape.watch(thing)
    assert first_line(raised.value) == text


def test_none_is_no_target():
    tape, _, v, _ = product()
    with pytest.raises(TypeError) as raised:
        tape.gradient(None, v)
    assert first_line(raised.value) == (
        "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to be differentiated, but received None."
    )


def test_idle_tapes_cannot_be_reset():
    with pytest.raises(ValueError, match=r"^Tape is not recording\."):
        tf.GradientTape().reset()
    with (
        pytest.raises(
            RuntimeError, match=r"^Trying to stop recording a tape which is not recording\."
        ),
        tf.GradientTape().stop_recording(),
    ):
        pass


def test_tapes_work_in_graphs():
    with tf.Graph().as_default():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert tape.gradient(y, x) is not None


# --- devices and memory -------------------------------------------------------------------------------


def test_gradients_of_variables_on_several_gpus(sim):
    sim("2xT4")
    weights = []
    for index in (0, 1):
        with tf.device(f"/gpu:{index}"):
            weights.append(tf.Variable([1.0, 2.0]))
    with tf.GradientTape() as tape:
        losses = []
        for index, weight in enumerate(weights):
            with tf.device(f"/gpu:{index}"):
                losses.append(tf.reduce_sum(weight * weight * float(index + 1)))
        with tf.device("/cpu:0"):
            total = tf.add_n(losses)
    gradients = tape.gradient(total, weights)
    assert [loss.device for loss in losses] == [GPU_0, GPU_1]
    assert total.device == CPU_0
    assert values(gradients) == [[2.0, 4.0], [4.0, 8.0]]
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.assign_sub(gradient)
    assert values(weights) == [[-1.0, -2.0], [-3.0, -6.0]]
    assert [weight.device for weight in weights] == [GPU_0, GPU_1]


@pytest.mark.parametrize("place", ["/gpu:0", "/gpu:1", "/cpu:0"])
def test_gradients_are_placed_where_asked(sim, place):
    sim("2xT4")
    with tf.device("/gpu:0"):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
    with tf.device(place):
        gradient = tape.gradient(y, x)
    assert gradient.device.lower().endswith(place.replace("/", "device:"))
    assert values(gradient) == [2.0, 4.0]


def test_tapes_give_their_memory_back(sim):
    sim("1xT4")
    gc.collect()
    baseline = in_use()
    x = tf.ones([1 << 18])
    held = in_use() - baseline
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(5):
            y = tf.sin(y)
    assert in_use() - baseline >= 5 * held  # the tape keeps what its gradients need
    gradient = tape.gradient(y, x)
    assert in_use() - baseline <= 3 * held  # x, y and the gradient
    del x, y, gradient, tape
    assert in_use() == baseline


def test_forgotten_tapes_leave_no_memory(sim):
    sim("1xT4")

    def step():
        v = tf.Variable(tf.ones([1 << 16]))
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                y = tf.sin(v * v)
            g = inner.gradient(y, v)
        return outer.gradient(g, v) is not None

    baseline = in_use()
    assert step()
    gc.collect()
    assert in_use() == baseline


def test_descent_finds_the_minimum():
    v = tf.Variable([2.0, 20.0])
    for _ in range(60):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((v - [7.0, -1.0]) ** 2.0)
        v.assign_sub(0.1 * tape.gradient(loss, v))
    np.testing.assert_allclose(v.numpy(), [7.0, -1.0], atol=1e-3)
