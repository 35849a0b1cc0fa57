"""FunctionalOps: which bodies run, in which order, on which devices, and how one goes back."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.control_flow.cond import cond, cond_v1, switch_case
from berth.control_flow.map_fn import foldl, foldr, map_fn, scan
from berth.control_flow.while_loop import while_loop
from berth.errors import InvalidArgumentError
from berth.front.context import context
from berth.ops.arrays.strings import numpy_function, py_func
from berth.ops.flow.control import Assert
from tests.ops.gradient_checks import check_gradient

SOFT = tf.ConfigProto(allow_soft_placement=True)


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def noting(log, name, value=1.0):
    """Make a tensor whose computation is noted down."""

    def note():
        log.append(name)
        return np.float32(value)

    tensor = py_func(note, [], tf.float32)
    tensor.set_shape([])
    return tensor


def started(session):
    session.run(tf.global_variables_initializer())
    return session


# --- what runs ------------------------------------------------------------------------------


def test_only_the_chosen_branch_runs(graph):
    log, p = [], tf.placeholder(tf.bool, [])
    result = cond(p, lambda: noting(log, "yes", 1), lambda: noting(log, "no", 2))
    with tf.Session() as session:
        assert session.run(result, {p: True}) == 1
        assert session.run(result, {p: False}) == 2
    assert log == ["yes", "no"]


def test_what_is_outside_runs_always(graph):
    log, p = [], tf.placeholder(tf.bool, [])
    outside = noting(log, "outside", 3)
    result = cond(p, lambda: outside + 1, lambda: tf.constant(0.0))
    with tf.Session() as session:
        assert session.run(result, {p: False}) == 0
    assert log == ["outside"]


@pytest.mark.parametrize("n_times", [0, 1, 1000])
def test_loops_run_as_often_as_asked(graph, n_times):
    log, n = [], tf.placeholder(tf.int32, [])
    i, total = while_loop(
        lambda i, t: i < n, lambda i, t: (i + 1, t + noting(log, "body")), (0, 0.0)
    )
    with tf.Session() as session:
        assert session.run([i, total], {n: n_times}) == [n_times, float(n_times)]
    assert len(log) == n_times


def test_graphs_run_only_what_is_needed(graph):
    v = tf.Variable(1.0)

    def forgetful():
        tf.assign(v, 100.0)
        return tf.constant(2.0)

    result = cond(tf.constant(True), forgetful, lambda: tf.constant(0.0))
    with tf.Session() as session:
        started(session)
        assert session.run([result, v]) == [2.0, 1.0]


def test_functions_run_all_effects(eager):
    v = tf2.Variable(1.0)

    def forgetful():
        v.assign(100.0)
        return tf2.constant(2.0)

    f = tf2.function(lambda p: cond(p, forgetful, lambda: tf2.constant(0.0)))
    assert float(f(tf2.constant(True))) == 2.0
    assert float(v) == 100.0


def test_unused_calls_with_effects_run(eager):
    log = []

    @tf2.function
    def f(p):
        cond(p, lambda: numpy_function(lambda: log.append(1), [], []), tf2.no_op)
        return p

    f(tf2.constant(True))
    f(tf2.constant(False))
    assert log == [1]


def test_outputs_nobody_wants_cost_nothing(graph):
    log, p = [], tf.placeholder(tf.bool, [])
    first, _ = cond(
        p, lambda: (tf.constant(1.0), noting(log, "second")), lambda: (tf.constant(0.0),) * 2
    )
    with tf.Session() as session:
        assert session.run(first, {p: True}) == 1.0
    assert log == []


def test_who_waits_means_the_whole(graph):
    v, p = tf.Variable(1.0), tf.placeholder(tf.bool, [])
    result = cond(p, lambda: v.assign_add(1.0), lambda: tf.constant(0.0))
    with tf.control_dependencies([result]):
        later = tf.constant(5.0) + 0.0
    with tf.Session() as session:
        started(session)
        session.run(result.op, {p: True})
        assert session.run(v) == 2.0
        assert session.run(later, {p: True}) == 5.0
        assert session.run(v) == 3.0


def test_results_can_be_fed(graph):
    log, p = [], tf.placeholder(tf.bool, [])
    result = cond(p, lambda: noting(log, "yes"), lambda: noting(log, "no"))
    with tf.Session() as session:
        assert session.run(result + 1, {result: 5.0}) == 6.0
    assert log == []


# --- variables ------------------------------------------------------------------------------


@pytest.mark.parametrize("use_resource", [False, True])
def test_branches_write_variables(graph, use_resource):
    v = tf.Variable(1.0, use_resource=use_resource)
    p = tf.placeholder(tf.bool, [])
    result = cond_v1(p, lambda: v.assign_add(10.0), lambda: v.assign_sub(1.0))
    with tf.Session() as session:
        started(session)
        assert session.run(result, {p: True}) == 11.0
        assert session.run(result, {p: False}) == 10.0
        assert session.run(v) == 10.0


@pytest.mark.parametrize("use_resource", [False, True])
def test_loops_see_what_they_wrote(graph, use_resource):
    v = tf.Variable(1.0, use_resource=use_resource)

    def body(i, total):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1, total + v.read_value()

    _, total = while_loop(lambda i, t: i < 3, body, (0, 0.0))
    with tf.Session() as session:
        started(session)
        assert session.run(total) == 2 + 3 + 4
        assert session.run(v) == 4.0


def test_bodies_see_the_current_value(graph):
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign(v, 7.0)]):
        result = cond(tf.constant(True), lambda: v + 0.0, lambda: tf.constant(0.0))
    with tf.Session() as session:
        started(session)
        assert session.run(result) == 7.0


def test_bodies_come_after_references(graph):
    v = tf.Variable(1.0)
    written = tf.assign(v, 7.0)
    result = cond(tf.constant(True), lambda: written + 0.0, lambda: tf.constant(0.0))
    again = tf.assign_add(written, result)
    with tf.Session() as session:
        started(session)
        assert session.run(again) == 14.0


def test_uninitialized_variables_are_reported(graph):
    v = tf.Variable(1.0, name="v")
    result = cond(tf.constant(True), lambda: v + 1, lambda: tf.constant(0.0))
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"
        ),
    ):
        session.run(result)


def test_variables_made_in_bodies_are_outside(graph):
    made = []

    def branch():
        made.append(tf.Variable(3.0))
        return made[0] + 1

    result = cond(tf.constant(True), branch, lambda: tf.constant(0.0))
    assert made[0].graph is graph
    with tf.Session() as session:
        started(session)
        assert session.run(result) == 4.0


def test_bodies_wait_for_operations_outside(graph):
    v = tf.Variable(1.0, use_resource=True)
    write = v.assign(5.0, read_value=False)

    def branch():
        with tf.control_dependencies([write]):
            return tf.identity(v.read_value())

    result = cond(tf.constant(True), branch, lambda: tf.constant(0.0))
    with tf.Session() as session:
        started(session)
        assert session.run(result) == 5.0


def test_functions_keep_the_order_of_accesses(eager):
    v = tf2.Variable(1.0)

    @tf2.function
    def f(p):
        before = v.read_value()
        cond(p, lambda: v.assign_add(10.0), lambda: v.assign(0.0))
        between = v.read_value()
        v.assign_add(1.0)
        return before, between

    assert [float(t) for t in f(tf2.constant(True))] == [1.0, 11.0]
    assert [float(t) for t in f(tf2.constant(False))] == [12.0, 0.0]
    assert float(v) == 1.0


def test_values_read_before_are_kept(eager):
    v = tf2.Variable([1.0, 2.0])
    held = v.read_value()
    f = tf2.function(lambda: while_loop(lambda i: i < 3, lambda i: count(v, i), [0]))
    f()
    assert held.numpy().tolist() == [1.0, 2.0]
    assert v.numpy().tolist() == [4.0, 5.0]


def count(variable, i):
    variable.assign_add([1.0, 1.0])
    return i + 1


def test_loops_train(eager):
    w = tf2.Variable(1.0)

    def step(i):
        with tf2.GradientTape() as tape:
            loss = (w - 5.0) * (w - 5.0)
        w.assign_sub(0.25 * tape.gradient(loss, w))
        return i + 1

    tf2.function(lambda: while_loop(lambda i: i < 30, step, [0]))()
    assert abs(float(w) - 5.0) < 1e-5


def test_sessions_have_values_of_their_own(graph):
    v = tf.Variable(1.0)
    grow = while_loop(lambda i: i < 3, lambda i: after(v.assign_add(1.0), i + 1), [0])
    with tf.Session() as one, tf.Session() as other:
        started(one), started(other)
        one.run(grow)
        assert [one.run(v), other.run(v)] == [4.0, 1.0]


def after(op, value):
    with tf.control_dependencies([op]):
        return tf.identity(value)


# --- devices --------------------------------------------------------------------------------


def devices_of(call):
    """Tell where the operations of a call's bodies were put."""
    placements = [body.graph.placement.devices for body in call.attrs["subgraphs"]]
    return [{op.type: d.short_name for op, d in found.items()} for found in placements]


def test_bodies_stand_in_the_scopes_around(sim, graph):
    sim("2xT4")
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:1"):
        result = cond(x[0] > 0, lambda: tf.square(x), lambda: tf.exp(x))
    with tf.Session() as session:
        assert session.run(result, {x: [2.0, 3.0]}).tolist() == [4.0, 9.0]
    yes, no = devices_of(result.op)
    assert yes["Square"] == no["Exp"] == "GPU:1"


def test_branches_choose_devices(sim, graph):
    sim("2xT4")
    x = tf.placeholder(tf.float32, [2])

    def on(device, function):
        with tf.device(device):
            return function(x)

    result = cond(x[0] > 0, lambda: on("/gpu:1", tf.square), lambda: on("/cpu:0", tf.exp))
    slope = gradients(result, x)[0]
    with tf.Session(config=SOFT) as session:
        assert session.run([result, slope], {x: [2.0, 3.0]})[1].tolist() == [4.0, 6.0]
        assert session.run(slope, {x: [0.0, 0.0]}).tolist() == [1.0, 1.0]
    yes, no = devices_of(result.op)
    assert (yes["Square"], no["Exp"]) == ("GPU:1", "CPU:0")


def test_bodies_go_to_their_variables(sim, graph):
    sim("2xT4")
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0])
        w = tf.Variable([1.0, 2.0], use_resource=True)
    result = cond(
        tf.constant(True), lambda: (v * 2, w.assign_add([1, 1])), lambda: (v + 0, w.value())
    )
    with tf.Session() as session:
        started(session)
        doubled, grown = session.run(result)
    assert (doubled.tolist(), grown.tolist()) == ([2.0, 4.0], [2.0, 3.0])
    yes, _ = devices_of(result[0].op)
    assert yes["VariableV2"] == yes["VarHandleOp"] == yes["AssignAddVariableOp"] == "GPU:1"


def test_bodies_that_never_run_are_placed(sim, graph):
    sim()

    def impossible():
        with tf.device("/gpu:7"):
            return tf.constant(1.0) + 1

    result = cond(tf.constant(True), lambda: tf.constant(1.0), impossible)
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match="Cannot assign"):
        session.run(result)


def test_functions_take_and_give_device_tensors(sim, eager):
    sim("T4")
    with tf2.device("/gpu:0"):
        x = tf2.constant([1.0, 2.0])
    f = tf2.function(
        lambda x: while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), (0, x))
    )
    assert f(x)[1].numpy().tolist() == [1.0, 16.0]


# --- runs beside each other -----------------------------------------------------------------


def test_threads_share_a_session(graph):
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None])
    _, total = while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + x), (0, x))
    picked = cond(n > 2, lambda: total * 2, lambda: total)
    errors = []
    with tf.Session() as session:

        def work(number):
            for _ in range(20):
                found = session.run(picked, {n: number, x: [float(number)] * (number + 1)})
                expected = number * (number + 1.0) * (2 if number > 2 else 1)
                if found.tolist() != [expected] * (number + 1):
                    errors.append(found)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_errors_leave_everything_as_before(graph):
    x = tf.placeholder(tf.int32, [])
    _, total = while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + 12 // (x - i)), (0, 0))
    with tf.Session() as session:
        for _ in range(2):
            assert session.run(total, {x: 4}) == 3 + 4 + 6
            with pytest.raises(InvalidArgumentError, match="while/floordiv"):
                session.run(total, {x: 2})


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_closing_frees_the_bodies(sim, graph, device):
    sim("T4")
    x = tf.placeholder(tf.float32, [1 << 16])
    with tf.device(device):
        result = cond(x[0] > 0, lambda: tf.exp(x) * 2 + 1, lambda: x)
        _, total = while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.sin(t) * t), (0, x))
        slope = gradients([result, total], x)[0]
    session = tf.Session(config=SOFT)
    used = in_use(session)
    for _ in range(2):
        session.run(slope, {x: np.ones(1 << 16)})
        assert in_use(session) > used + (1 << 16)
        session.drop_idle()
        assert in_use(session) < used + (1 << 12)  # constants stay on the GPU
    session.run(slope, {x: np.ones(1 << 16)})
    session.close()
    gc.collect()
    assert in_use(session) == used


def in_use(session):
    return sum(device.arena.stats.in_use_bytes for device in session._engine.devices)


def test_interactive_sessions_place_bodies(sim, graph):
    sim("T4")
    with tf.device("/gpu:0"):
        v = tf.Variable(2.0, use_resource=True)
    result = cond(tf.constant(True), lambda: v * 2, lambda: v + 0)
    session = tf.InteractiveSession()
    session.run(v.initializer)
    assert result.eval() == 4.0
    session.close()


def test_traced_runs_show_the_bodies(graph):
    result = while_loop(lambda i: i < 2, lambda i: i + 1, [0])
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(result, options=options, run_metadata=metadata) == [2]
    nodes = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert nodes.count("while/add") == 2


def test_loops_end_with_the_deadline(graph):
    forever = while_loop(lambda i: i < 1, lambda i: i * 1, [0])
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(forever, options=tf.RunOptions(timeout_in_ms=50))


def test_plans_tell_what_follows(graph):
    x = tf.placeholder(tf.float32, [])
    result = cond(tf.square(x) > 4.0, lambda: x, lambda: -x, name="pick")
    with tf.Session() as session:
        told = session.plan(result, {x: 1.0}).explain()
    assert "Square" in told
    assert "Then pick (StatelessIf), as values decide, and what waits for it" in told


# --- going back -----------------------------------------------------------------------------

A, B = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.3, -0.7])


def powers(n_times):
    return lambda a, b: while_loop(
        lambda i, s: i < n_times, lambda i, s: (i + 1, s * a + tf.sin(b)), (0, a)
    )[1]


def alternating(a, b):
    def body(i, s):
        return i + 1, cond(tf.equal(i % 2, 0), lambda: s * a, lambda: tf.sin(s) + b)

    return while_loop(lambda i, s: i < 4, body, (0, a))[1]


def triangle(a, b):
    def inner(i, s):
        return while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * a + b), (0, s))[1]

    return while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, inner(i, s)), (0, a))[1]


DIFFERENTIABLE = {
    "the chosen branch": lambda a, b: cond(a[0] > 0, lambda: a * b * a, lambda: a),
    "the other branch": lambda a, b: cond(a[0] < 0, lambda: a * b * a, lambda: tf.exp(b)),
    "two outputs": lambda a, b: cond(a[0] > 0, lambda: (a * b, tf.sin(a)), lambda: (a, b)),
    "nothing done": lambda a, b: cond(a[0] > 0, lambda: a, lambda: b),
    "one of several": lambda a, b: switch_case(
        tf.constant(1), [lambda: a, lambda: a * b * b, lambda: b]
    ),
    "no iteration": powers(0),
    "three iterations": powers(3),
    "two variables": lambda a, b: while_loop(
        lambda i, s, t: i < 3, lambda i, s, t: (i + 1, tf.sin(s) * t, t * a), (0, a, b)
    )[1:],
    "limited": lambda a, b: while_loop(
        lambda i, s: i < 30, lambda i, s: (i + 1, s * a), (0, b), maximum_iterations=2
    )[1],
    "choices in a loop": alternating,
    "a loop in a choice": lambda a, b: cond(a[0] > 0, lambda: powers(2)(a, b), lambda: a),
    "loops in a loop": triangle,
    "map": lambda a, b: map_fn(lambda r: tf.sin(r) * tf.reduce_sum(b), a),
    "map of two": lambda a, b: map_fn(lambda r: (r[0] * r[1], tf.exp(r[0])), (a, b)),
    "map of map": lambda a, b: map_fn(lambda r: map_fn(lambda q: tf.sin(q) * r, b), a),
    "scan": lambda a, b: scan(lambda s, r: s * r + tf.reduce_sum(b), a),
    "scan from behind": lambda a, b: scan(
        lambda s, r: s * r * b, a, initializer=b, reverse=True
    ),
    "foldl": lambda a, b: foldl(lambda s, r: tf.sin(s) * r, a),
    "foldr": lambda a, b: foldr(lambda s, r: tf.sin(s) * r + b, a, initializer=b),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_slopes(name):
    check_gradient(DIFFERENTIABLE[name], A, B)


@pytest.mark.parametrize(
    "name", ["the chosen branch", "three iterations", "choices in a loop", "map", "scan"]
)
def test_gradients_have_gradients(name):
    check_gradient(DIFFERENTIABLE[name], A, B, order=2)


def test_gradients_reach_variables(graph):
    v, w = tf.Variable(2.0), tf.Variable(3.0, use_resource=True)
    p = tf.placeholder(tf.bool, [])
    chosen = cond(p, lambda: v * v * w, lambda: w * 5.0)
    _, looped = while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * w), (0, 1.0))
    slopes = gradients(chosen, [v, w]) + gradients(looped, [w])
    with tf.Session() as session:
        started(session)
        assert session.run(slopes, {p: True}) == [12.0, 4.0, 27.0]
        assert session.run(slopes, {p: False}) == [0.0, 5.0, 27.0]


def test_unconnected_gradients_are_none(graph):
    x = tf.placeholder(tf.float32, [])
    one = cond(x > 0, lambda: tf.constant(1.0), lambda: tf.constant(2.0))
    assert gradients(one, x) == [None]
    stopped = while_loop(lambda i: i < 3.0, lambda i: i * x, [x], back_prop=False)
    assert gradients(stopped, x) == [None]


def test_gradients_can_be_made_later(graph):
    x = tf.placeholder(tf.float32, [])
    chosen = cond(x > 0, lambda: x * x, lambda: x)
    _, looped = while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * x), (0, x))
    with tf.Session() as session:
        assert session.run([chosen, looped], {x: 2.0}) == [4.0, 8.0]
        slopes = gradients(chosen, x) + gradients(looped, x)
        for _ in range(2):
            assert session.run([chosen, looped], {x: 2.0}) == [4.0, 8.0]
            assert session.run(slopes, {x: 2.0}) == [4.0, 12.0]


def test_effects_happen_once(graph):
    log, x = [], tf.constant(2.0)
    chosen = cond(x > 0, lambda: x * x * noting(log, "branch", 3), lambda: x)
    _, looped = while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, s * x * noting(log, "body", 3)), (0, 1.0)
    )
    with tf.Session() as session:
        found = session.run([chosen, looped, *gradients(chosen, x), *gradients(looped, x)])
    assert found == [12.0, 36.0, 12.0, 36.0]
    assert sorted(log) == ["body", "body", "branch"]


def test_chance_is_the_same_both_ways(graph):
    x = tf.constant(2.0)
    _, drawn = while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s * x * tf.random_uniform([])), (0, 1.0)
    )
    [slope] = gradients(drawn, x)
    with tf.Session() as session:
        value, found = session.run([drawn, slope])
        assert found == pytest.approx(3 * value / 2.0)


def test_growing_variables_have_gradients(graph):
    x = tf.placeholder(tf.float32, [1])
    [grown] = while_loop(
        lambda s: tf.size(s) < 5,
        lambda s: tf.concat([s, s * s], 0),
        [x],
        shape_invariants=[tf.TensorShape([None])],
    )
    with tf.Session() as session:
        found = session.run(gradients(grown, x), {x: [2.0]})
    assert found[0].tolist() == [1 + 3 * 4 + 3 * 32 + 1024]


def test_rows_must_have_one_shape(graph):
    rows = map_fn(tf.range, tf.constant([1, 2]))
    with (
        tf.Session() as session,
        pytest.raises(
            InvalidArgumentError,
            match=r"one shape in all iterations, and not \[1\] in one and \[2\]",
        ),
    ):
        session.run(rows)


# --- functions and tapes --------------------------------------------------------------------


@pytest.mark.parametrize("is_persistent", [False, True])
def test_tapes_see_through_functions(eager, is_persistent):
    w, x = tf2.Variable(3.0), tf2.constant(2.0)
    f = tf2.function(lambda x, p: cond(p, lambda: w * w * x, lambda: x * x))
    for is_true, expected in ((True, [9.0, 12.0]), (False, [4.0, 0.0])):
        with tf2.GradientTape(persistent=is_persistent) as tape:
            tape.watch(x)
            y = f(x, tf2.constant(is_true))
        found = tape.gradient(y, [x, w], unconnected_gradients="zero")
        assert [float(grad) for grad in found] == expected


@pytest.mark.parametrize("is_persistent", [False, True])
@pytest.mark.parametrize(("position", "slope"), [(0, 1.0), (1, 4.0), (9, 12.0)])
def test_tapes_see_the_chosen_function(eager, position, slope, is_persistent):
    x = tf2.constant(2.0)
    powers = [lambda: x + 0.0, lambda: x * x, lambda: x * x * x]
    f = tf2.function(lambda index: switch_case(index, powers))
    with tf2.GradientTape(persistent=is_persistent) as tape:
        tape.watch(x)
        y = f(tf2.constant(position))
    assert float(tape.gradient(y, x)) == slope


def test_tapes_inside_functions(eager):
    w = tf2.Variable(3.0)

    @tf2.function
    def f(x, n):
        with tf2.GradientTape() as outer:
            outer.watch(x)
            with tf2.GradientTape() as inner:
                inner.watch(x)
                y = while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * x * w), (0, x))[1]
            first = inner.gradient(y, [x, w])
        return (*first, outer.gradient(first[0], x))

    found = f(tf2.constant(2.0), tf2.constant(2))  # of x³w²
    assert [float(grad) for grad in found] == [108.0, 48.0, 108.0]


def test_functions_call_functions(eager):
    w, x = tf2.Variable(3.0), tf2.constant(2.0)
    inner = tf2.function(lambda x: cond(x > 0, lambda: w * x, lambda: x))
    outer = tf2.function(
        lambda x: while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, inner(s) + x), (0, x))[1]
    )
    with tf2.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    assert float(y) == 9 * 2 + 3 * 2 + 2
    assert [float(g) for g in tape.gradient(y, [x, w])] == [13.0, 2 * 3 * 2 + 2]


def test_eager_loops_are_on_tape(eager):
    x = tf2.constant(3.0)
    with tf2.GradientTape() as tape:
        tape.watch(x)
        _, y = while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), (0, x))
        z = map_fn(lambda r: r * x, tf2.stack([x, y]))
    assert tape.gradient(z, x).numpy() == 2 * 3 + 5 * 81


def test_open_shapes_are_traced_once(eager):
    f = tf2.function(
        lambda x: map_fn(tf2.reduce_sum, x),
        input_signature=[tf2.TensorSpec([None, None], tf2.float32)],
    )
    for n_rows, n_columns in ((2, 3), (4, 1)):
        assert f(tf2.ones([n_rows, n_columns])).numpy().tolist() == [float(n_columns)] * n_rows
    assert f.experimental_get_tracing_count() == 1


def test_assertions_in_branches_stop_functions(eager):
    @tf2.function
    def f(x):
        cond(x > 0, tf2.no_op, lambda: Assert(x > 0, [x]))
        return x

    assert float(f(tf2.constant(1.0))) == 1.0
    with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[-1\]"):
        f(tf2.constant(-1.0))
    assert float(f(tf2.constant(2.0))) == 2.0


def test_programs_forget_their_bodies(sim, eager):
    sim("T4")
    f = tf2.function(lambda x: cond(x[0] > 0, lambda: tf2.exp(x) * 2 + 1, lambda: x))
    f(tf2.ones([1 << 16]))
    context().drop_idle()
    gc.collect()
    assert sum(d.arena.stats.in_use_bytes for d in context().opened()) < 1 << 12
