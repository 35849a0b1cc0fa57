"""Sections 6.4 (soft placement) and 7.4 (what is logged of it)."""

from __future__ import annotations

import logging

import pytest

from berth.plan.placer import place
from tests.parity.placements import CPU_0, CPUS, K20, K40, failure
from tests.plan.nodes import colocate, machine, program, short_names

# --- 6.4: soft placement --------------------------------------------------------------------


def wish(name, op="negative(p, name='n')"):
    return f"p = placeholder('float32', name='p')\nwith graph.device('{name}'): {op}"


ON_HOST = "apply(HOST_ONLY, (p,), {}, 'n')"

SOFT = {
    "missing GPU": (wish("/gpu:42"), K20, "GPU:0"),
    "no GPU kernel": (wish("/gpu:0", ON_HOST), K20, "CPU:0"),
    "no GPU kernel, other GPU": (wish("/gpu:3", ON_HOST), K20, "CPU:0"),
    "no GPU at all": (wish("/gpu:0"), CPUS, "CPU:0"),
    "missing CPU": (wish("/cpu:7"), K20, "GPU:0"),
    "missing CPU, no GPU kernel": (wish("/cpu:7", ON_HOST), K20, "CPU:0"),
    "unknown type": (wish("/device:XPU:0"), K20, "GPU:0"),
    "missing index [TF]": (wish("/device:*:7"), CPUS, "CPU:0"),
    "granted": (wish("/gpu:2"), K20, "GPU:2"),
}


@pytest.mark.parametrize(("text", "devices", "expected"), SOFT.values(), ids=SOFT)
def test_soft_placement_relaxes(text, devices, expected):
    placement = place(program(text).ops, devices, soft=True)
    assert short_names(placement)["n"] == expected
    moved = [] if expected == "GPU:2" else ["n"]
    assert [op.name for op in placement.moved] == moved
    assert placement.messages == []


def test_soft_placement_keeps_the_job():
    graph = program(
        "scope = graph.device('/job:worker/cpu:0'); scope.__enter__()\nnegative(placeholder('float32'), name='n')"
    )
    assert failure(graph, CPUS, "n", soft=True) == (
        "Cannot assign a device to node 'Placeholder': Could not satisfy explicit device specification '/job:worker/cpu:0'\n"
        '\t [[Node: Placeholder = Placeholder[dtype=DT_FLOAT, shape=<unknown>, _device="/job:worker/cpu:0"]()]]\n'
        "  Placeholder was made at train.py:2, under tf.device('/job:worker/cpu:0') at train.py:1.\n"
        "  The devices are CPU:0 and CPU:1.\n"
        "  Soft placement chooses another type or number, never another job, replica or task."
    )


def test_soft_colocation_drops_both_requests():
    graph = program(
        "with graph.device('/cpu:1'): a = constant(1.0, name='a')\n"
        "with graph.device('/cpu:5'): b = constant(1.0, name='b')\n"
    )
    colocate(graph, "b", "a")
    placement = place(graph.ops, CPUS, soft=True)
    assert short_names(placement) == {"a": "CPU:0", "b": "CPU:0"}
    assert [op.name for op in placement.moved] == ["a", "b"]


def test_soft_placement_moves_variables_last():
    graph = program(
        "with graph.device('/gpu:0'): v = apply(HANDLE, (), SCALAR, 'v')\n"
        "apply(HOST_READ, (v,), {}, 'r')"
    )
    placement = place(graph.ops, K40, soft=True)
    assert short_names(placement) == {"r": "CPU:0", "v": "CPU:0"}
    [message] = placement.messages
    assert message.level == logging.INFO  # in the placement log; TensorFlow warns by it
    assert message.text == (
        "Failed to place the graph without changing the devices of some resources. Some of the operations (that had to be colocated with resource generating operations) are not supported on the resources' devices. Current candidate devices are [\n"
        f"  {CPU_0}].\n"
        "See below for details of this colocation group:\n"
        "Colocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='/device:GPU:0' assigned_device_name_='' resource_device_name_='/device:GPU:0' supported_device_types_=[CPU] possible_devices_=[]\n"
        "HostRead: CPU \n"
        "VarHandleOp: GPU CPU \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  v (VarHandleOp) /device:GPU:0\n"
        "  r (HostRead) \n"
    )


def test_soft_placement_keeps_a_variable_where_it_can():
    text = """
with graph.device('/gpu:1'):
    v = apply(HANDLE, (), SCALAR, 'v')
with graph.device('/cpu:0'):
    apply(READ, (v,), {}, 'r')
"""
    placement = place(program(text).ops, K20, soft=True)
    assert short_names(placement) == {"r": "GPU:1", "v": "GPU:1"}
    assert placement.moved == []  # it was the variable's doing


# --- 7.4: what is logged --------------------------------------------------------------------


def test_overridden_request_is_logged():
    graph = program(
        "with graph.device('/cpu:1'): v = apply(HANDLE, (), SCALAR, 'v')\n"
        "with graph.device('/gpu:0'): apply(READ, (v,), {}, 'x')"
    )
    assert place(graph.ops, machine(2, 1)).messages == [
        (
            logging.INFO,
            "Ignoring device specification /device:GPU:0 for node 'x' because the input edge from 'v' is a reference connection and already has a device field set to /device:CPU:1",
        )
    ]


def test_ignored_colocation_is_logged():
    # [TF]: what variables ask for does not give way to a colocation.
    graph = program("""
with graph.device('/cpu:0'):
    v = apply(VARIABLE, (), SCALAR, 'v')
with graph.device('/cpu:1'):
    apply(VARIABLE, (), SCALAR, 'w')
    p = placeholder('float32', [], name='p')
    apply(ASSIGN, (v, p), {}, 'as')
""")
    colocate(graph, "as", "w")
    placement = place(graph.ops, CPUS, soft=True)
    assert short_names(placement) == {"v": "CPU:0", "w": "CPU:1", "as": "CPU:0", "p": "CPU:1"}
    assert placement.ignored == {(graph.by_name["as"], "w")}
    assert placement.messages[-1] == (
        logging.INFO,
        "Ignoring request to colocate node 'as' with nodes in colocation group 'w' because soft placement is on and an attempt at doing so resulted in the following error: INVALID_ARGUMENT: Cannot colocate nodes {{colocation_node as}} and {{colocation_node w}}: Cannot merge devices with incompatible ids: '/device:CPU:0' and '/device:CPU:1'\n"
        "\t [[{{node as}}]]",
    )
