"""Planners: a graph is placed when it has grown, a request once for all shapes of its feeds."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError
from berth.plan.compiler import Site
from berth.plan.knowledge import NOTHING
from berth.plan.plan import Feed, Request
from berth.run.planner import MAX_SIGNATURES, Options, Planner, plan_part, plan_request


@pytest.fixture
def planner(session):
    """Make a planner of the session's graph: ``planner(**options)``."""

    def make(pinned=None, **options):
        site = Site(session._engine.devices, 1, can_slice=False)
        return Planner(session.graph, site, Options(**options), pinned)

    return make


@pytest.fixture
def square(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    return x, tf.square(x, name="square")


def request(fetch, x=None, size=1):
    return Request((fetch,), (), () if x is None else (Feed(x, (size,)),))


def test_request_is_placed_once_for_all_shapes(planner, square):
    x, y = square
    planner = planner()
    placed = planner.placed(request(y, x, 1))

    assert planner.placed(request(y, x, 2)) is placed
    assert [op.name for op in placed.ops] == ["square"]


def test_plan_is_for_the_shapes_of_its_request(planner, square):
    x, y = square
    planner = planner()
    for size in (1, 5):
        plan, blocked = plan_request(request(y, x, size), planner.placed(request(y, x, size)))
        assert not blocked.ops
        assert plan.type_of(plan.fetches[0]).dims == (size,)


def test_graph_that_grew_is_placed_again(planner, square):
    x, y = square
    planner = planner()
    assert not planner.is_placed
    before = planner.placed(request(y, x))
    assert planner.is_placed
    first = planner.placement

    z = tf.sqrt(y)
    assert not planner.is_placed
    placed = planner.placed(request(y, x))
    assert planner.is_placed
    assert placed is not before
    assert planner.placement is not first
    assert z.op in planner.placement.devices


def test_graph_that_did_not_grow_keeps_its_placement(planner, square):
    x, y = square
    planner = planner()

    assert planner.place(request(y, x)) is planner.place(request(x, x))


def test_what_is_not_needed_can_be_left_unplaced(planner, square):
    x, y = square
    with tf.device("/gpu:7"):
        other = tf.sqrt(x, name="other")
    with pytest.raises(InvalidArgumentError, match="other"):
        planner().placed(request(y, x))

    pruned = planner(place_pruned_graph=True)
    pruned.placed(request(y, x))
    assert pruned.is_placed
    assert other.op not in pruned.placement.devices


def test_operations_with_a_state_keep_their_devices(planner, session):
    with tf.device("/gpu:1"):
        variable = tf.Variable([1.0], name="v")
    planner = planner()
    planner.placed(request(variable.value()))
    op = variable.op
    device = planner.pinned[op]
    assert device.short_name == "GPU:1"

    op.device = "/device:GPU:0"  # too late
    planner.placed(request(tf.sqrt(variable.value())))
    assert planner.placement.devices[op] is device


def test_pinned_operations_stay_on_their_device(planner, session):
    variable = tf.Variable([1.0], name="v")
    device = session._engine.devices[2]
    planner = planner({variable.op: device})

    assert planner.place(request(variable.value())).devices[variable.op] is device


def test_error_names_the_first_node_on_the_way_from_the_fetch(planner, session):
    with tf.device("/gpu:8"):
        tf.constant(1.0, name="made_first")
        fetched = tf.sqrt(tf.constant(2.0, name="its_input"), name="fetched")
    with pytest.raises(InvalidArgumentError) as error:
        planner().place(request(fetched))
    assert error.value.op.name == "its_input"


def test_soft_placement_is_an_option(planner, session):
    with tf.device("/gpu:8"):
        y = tf.sqrt(tf.constant(2.0))

    assert planner(soft_placement=True).place(request(y)).devices[y.op] is not None


def test_part_of_a_request_is_planned_as_it_is(planner, square):
    x, y = square
    z = tf.sqrt(y, name="root")
    whole = request(z, x, 3)
    part = Request((y,), (), whole.feeds)
    plan, blocked = plan_part(part, planner().placed(whole), NOTHING)

    assert not blocked.ops
    assert [step.op.name for step in plan.steps] == ["square"]


def test_what_decides_a_shape_blocks_a_plan(planner, session):
    size = tf.placeholder(tf.int32, [])
    filled = tf.fill([size * 2], 1.0, name="filled")
    asked = Request((filled,), (), (Feed(size, ()),))
    _, blocked = plan_request(asked, planner().placed(asked))

    assert [op.name for op in blocked.ops] == ["filled"]


def test_error_of_a_plan_says_where_its_node_was_made(planner, session):
    x = tf.placeholder(tf.float32, None)
    y = tf.matmul(x, x, name="product")
    asked = Request((y,), (), (Feed(x, (2, 3)),))
    with pytest.raises(InvalidArgumentError, match=r"\[\[node product \(defined at .*\.py:"):
        plan_request(asked, planner().placed(asked))


def test_few_signatures_are_kept(planner, square):
    x, y = square
    fetches = [tf.sqrt(y) for _ in range(MAX_SIGNATURES + 1)]
    planner = planner()
    first = planner.placed(request(fetches[0], x))
    for fetch in fetches[1:]:
        planner.placed(request(fetch, x))

    assert len(planner._placed) == MAX_SIGNATURES
    assert planner.placed(request(fetches[0], x)) is not first
