"""`partial_run`: what TensorFlow 2.21 gives, and raises, for the same calls."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf


@pytest.fixture(params=[None, "2xT4"])
def session(request, sim, graph):
    sim(request.param)
    with tf.Session(graph=graph) as session:
        yield session


@pytest.fixture
def nodes():
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    total = tf.add(a, b, name="total")
    return a, b, c, total, tf.multiply(total, c, name="product")


def test_run_is_made_in_parts(session, nodes):
    a, b, c, total, product = nodes
    handle = session.partial_run_setup([total, product], [a, b, c])
    assert handle.startswith("a:0,b:0,c:0->total:0,product:0//1/;")
    assert session.partial_run(handle, total, {a: 1, b: 2}) == 3.0
    assert session.partial_run(handle, product, {c: 3 * 17}) == 153.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup'"):
        session.partial_run(handle, product)  # it is over


def test_runs_in_parts_do_not_meet(session, nodes):
    a, b, c, total, product = nodes
    first, second = (session.partial_run_setup([total, product], [a, b, c]) for _ in range(2))
    assert session.partial_run(first, total, {a: 1, b: 1}) == 2.0
    assert session.partial_run(second, total, {a: 2, b: 2}) == 4.0
    assert session.run(total, {a: 5, b: 5}) == 10.0
    assert session.partial_run(first, product, {c: 10}) == 20.0
    assert session.partial_run(second, [product], {c: 10}) == [40.0]


def test_no_operation_runs_twice(session, nodes):
    a, b, c, *_ = nodes
    sample = tf.random_uniform([])
    drawn = [sample * a, sample * b]
    handle = session.partial_run_setup(drawn, [a, b])
    one = session.partial_run(handle, drawn[0], {a: 1.0})
    assert session.partial_run(handle, drawn[1], {b: 1.0}) == one
    v = tf.Variable(0.0, use_resource=True)
    session.run(v.initializer)
    update = v.assign_add(a)
    with tf.control_dependencies([update]):
        after = v.read_value() * c
    handle = session.partial_run_setup([update, after], [a, c])
    assert session.partial_run(handle, update, {a: 1.0}) == 1.0
    assert session.partial_run(handle, after, {c: 2.0}) == 2.0
    assert session.run(v) == 1.0


def test_shapes_may_depend_on_values(session):
    mask = tf.placeholder(tf.bool, [3], name="mask")
    scale = tf.placeholder(tf.float32, [], name="scale")
    kept = tf.boolean_mask([1.0, 2.0, 3.0], mask)
    scaled = kept * scale
    handle = session.partial_run_setup([kept, scaled], [mask, scale])
    assert session.partial_run(handle, kept, {mask: [True, False, True]}).tolist() == [1, 3]
    assert session.partial_run(handle, scaled, {scale: 2.0}).tolist() == [2, 6]


ERRORS = {
    "{a: 5, c: 1}, product": "The feed a:0 has already been fed.",
    "{c: 1}, total": "The fetch total:0 has already been fetched.",
    "{}, product": "Fetch c:0 can't be computed from the feeds that have been fed so far.",
    "{c: 1}, b": "The fetch b:0 was not specified in partial_run_setup.",
    "{total: 1}, product": "The feed total:0 was not specified in partial_run_setup.",
}


@pytest.mark.parametrize(("call", "message"), ERRORS.items(), ids=ERRORS)
def test_wrong_part_is_refused_and_changes_nothing(session, nodes, call, message):
    a, b, c, total, product = nodes
    handle = session.partial_run_setup([total, product], [a, b, c])
    session.partial_run(handle, total, {a: 1, b: 2})
    feeds, fetch = eval(call, {"a": a, "b": b, "c": c, "total": total, "product": product})
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.partial_run(handle, fetch, feeds)
    assert caught.value.message == message
    assert session.partial_run(handle, product, {c: 2}) == 6.0


def test_wrong_setup_is_refused(session, nodes):
    a, _, _, total, _ = nodes
    for fetches, feeds, message in (
        ([], [], "Must specify at least one target to fetch or execute."),
        (total, [a, a], 'Endpoint "a:0" fed more than once.'),
        (a, [a], "a:0 is both fed and fetched."),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.partial_run_setup(fetches, feeds)
        assert caught.value.message == message
    handle = session.partial_run_setup([total, total.op], [a])
    with pytest.raises(RuntimeError, match="requires empty `target_list`"):
        session.partial_run(handle, total.op, {a: 1})
