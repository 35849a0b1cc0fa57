"""Laws of placement, for any graphs and machines."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from berth.devices.full_name import parse_full_name
from berth.errors import InvalidArgumentError
from berth.graph.graph import Graph
from berth.ops.arrays.array import constant, identity
from berth.ops.arrays.placeholders import placeholder
from berth.ops.builder import apply
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.unary import negative
from berth.ops.state import variables as state
from berth.plan.groups import variable_inputs
from berth.plan.placement import Placement
from berth.plan.placer import place
from berth.plan.walk import document_order
from tests.plan.nodes import (
    GPU_ONLY,
    HOST_ONLY,
    HOST_READ,
    PASS_ON,
    SCALAR,
    SHAPE,
    TWO_HANDLES,
    machine,
)

REQUESTS = [
    "/cpu:0",
    "/cpu:1",
    "/gpu:0",
    "/gpu:2",
    "/device:GPU:*",
    "/device:*:1",
    "/job:a",
    "/job:localhost",
]
SOURCES = {
    "constant": lambda: constant(1.0),
    "feed": lambda: placeholder("float32", []),
    "handle": lambda: apply(state.HANDLE, (), SCALAR),
    "reference": lambda: apply(state.VARIABLE, (), SCALAR),
}
OF_VALUES = {
    "negative": lambda x, y: negative(x),
    "product": multiply,
    "identity": lambda x, y: identity(x),
    "shape": lambda x, y: apply(SHAPE, (x,), {}),
    "on the host": lambda x, y: apply(HOST_ONLY, (x,), {}),
    "on GPUs": lambda x, y: apply(GPU_ONLY, (x,), {}),
}
OF_HANDLES = {
    "read": lambda v, w, x: apply(state.READ, (v,), {}),
    "assign": lambda v, w, x: apply(state.ASSIGN_HANDLE, (v, x), {}),
    "read on the host": lambda v, w, x: apply(HOST_READ, (v,), {}),
    "two at once": lambda v, w, x: apply(TWO_HANDLES, (v, w), {}),
    "pass on": lambda v, w, x: apply(PASS_ON, (v,), {}),
}
OF_REFERENCES = {
    "assign": lambda rv, x: apply(state.ASSIGN, (rv, x), {}),
    "add": lambda rv, x: apply(state.ASSIGN_ADD, (rv, x), {}),
}


@st.composite
def graphs(draw) -> Graph:
    """Build a graph of a few nodes: wishes, colocations, waits and variables at random."""
    graph = Graph()
    values, handles, references = [], [], []

    def add(build, *inputs):
        earlier = list(graph.ops)
        waits = draw(st.lists(st.sampled_from(earlier), max_size=1)) if earlier else []
        wish = draw(st.none() | st.sampled_from(REQUESTS))
        with graph.device(wish or ""), graph.control_dependencies(waits):
            result = build(*inputs)
        if earlier and draw(st.integers(0, 4)) == 0:
            graph.ops[-1].colocated_with = (draw(st.sampled_from(earlier)).name,)
        return result

    with graph.as_default():
        values.append(add(SOURCES["feed"]))
        for _ in range(draw(st.integers(1, 12))):
            choice = draw(st.sampled_from(["source", "value", "handle", "reference"]))
            if choice == "handle" and handles:
                build = OF_HANDLES[draw(st.sampled_from(sorted(OF_HANDLES)))]
                v, w = draw(st.sampled_from(handles)), draw(st.sampled_from(handles))
                made = add(build, v, w, draw(st.sampled_from(values)))
            elif choice == "reference" and references:
                build = OF_REFERENCES[draw(st.sampled_from(sorted(OF_REFERENCES)))]
                made = add(
                    build, draw(st.sampled_from(references)), draw(st.sampled_from(values))
                )
            elif choice == "value":
                build = OF_VALUES[draw(st.sampled_from(sorted(OF_VALUES)))]
                made = add(build, draw(st.sampled_from(values)), draw(st.sampled_from(values)))
            else:
                made = add(SOURCES[draw(st.sampled_from(sorted(SOURCES)))])
            if not hasattr(made, "dtype"):
                continue  # it has no output
            by_type = {"resource": handles, "float32_ref": references}
            by_type.get(made.dtype.name, values).append(made)
    return graph


machines = st.builds(machine, st.integers(1, 2), st.integers(0, 3))
cases = st.tuples(graphs(), machines, st.booleans())


def try_to_place(graph, devices, soft, pinned=None) -> Placement | None:
    """Place a graph, or return None if that fails as it may."""
    order = document_order(graph.ops[-1:])
    try:
        return place(graph.ops, devices, soft=soft, pinned=pinned, error_order=order)
    except InvalidArgumentError as error:
        failed = error
    assert failed.op in graph.ops
    assert failed.message
    return None


def places(placement):
    return {op.name: device.name for op, device in placement.devices.items()}


@given(cases)
def test_every_operation_can_run_where_it_is(case):
    graph, devices, soft = case
    placement = try_to_place(graph, devices, soft)
    if placement is None:
        return
    assert placement.devices.keys() == set(graph.ops)
    for op, device in placement.devices.items():
        assert device in devices
        assert device.device_type in op.definition.device_types(op.main_type)
        assert placement.why(op).splitlines()[0].endswith(f" runs on {device.short_name}")


@given(cases)
def test_requests_are_granted_or_refused(case):
    graph, devices, soft = case
    placement = try_to_place(graph, devices, soft)
    if placement is None:
        return
    for op, device in placement.devices.items():
        request = parse_full_name(op.device)
        is_granted = request.matches(device.full_name)
        # Only a variable, or soft placement, may stand in the way.
        assert is_granted or op in placement.moved or variable_inputs(op)
        assert not (is_granted and op in placement.moved)
        assert soft or not placement.moved
        assert request.job in (None, device.full_name.job) or variable_inputs(op)


@given(cases)
def test_those_who_must_share_do(case):
    graph, devices, soft = case
    placement = try_to_place(graph, devices, soft)
    if placement is None:
        return
    device_of = placement.device_of
    for op in graph.ops:
        for source in variable_inputs(op):
            assert device_of(op) is device_of(source)
        for name in op.colocated_with:
            if (op, name) not in placement.ignored:
                assert device_of(op) is device_of(graph.by_name[name])
    assert soft or not placement.ignored


@given(cases)
def test_placement_is_repeatable(case):
    graph, devices, soft = case
    first, second = try_to_place(graph, devices, soft), try_to_place(graph, devices, soft)
    assert (first is None) == (second is None)
    if first is not None:
        assert list(places(first).items()) == list(places(second).items())
        assert first.messages == second.messages


@given(cases)
def test_pinned_state_changes_nothing(case):
    graph, devices, soft = case
    # A handle is placed last at first and, once pinned, first (7.1): what it waits for can
    # follow it then.
    assume(not any(op.control_inputs for op in graph.ops if op.definition is state.HANDLE))
    first = try_to_place(graph, devices, soft)
    if first is None:
        return
    pinned = {op: device for op, device in first.devices.items() if op.definition.is_stateful}
    again = try_to_place(graph, devices, soft, pinned)
    assert again is not None
    assert places(again) == places(first)


@given(graphs(), machines)
def test_soft_placement_changes_no_good_one(graph, devices):
    hard = try_to_place(graph, devices, soft=False)
    if hard is not None:
        soft = try_to_place(graph, devices, soft=True)
        assert places(soft) == places(hard)
        assert soft.moved == []
